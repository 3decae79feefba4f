package cli

import (
	"maps"
	"net"
	"strings"
	"testing"
)

func TestAddress(t *testing.T) {
	for _, test := range []struct{ addr, port, want string }{
		{"", "", "127.0.0.1:8080"}, {"", "9000", ":9000"}, {"[::1]:80", "9000", "[::1]:80"}, {":0", "", ":0"}, {"localhost:80", "", "localhost:80"},
	} {
		if got, err := (Config{Addr: test.addr}).address(map[string]string{"PORT": test.port}, given{}); got.text != test.want || err != nil {
			t.Errorf("EBB_ADDR=%s PORT=%s: %s, %v", test.addr, test.port, got.text, err)
		}
	}
}

// What is wrong with an address is said with the setting that mends it, and in a line.
func TestAddressInUse(t *testing.T) {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	here := ":" + port
	for _, test := range []struct {
		env  map[string]string
		args []string
		want string
	}{
		{map[string]string{"EBB_ADDR": here}, []string{"serve"}, "ebb: the address " + here + " is in use; stop what listens there, or set EBB_ADDR to another one"},
		{map[string]string{"EBB_ADDR": ":1"}, []string{"serve", "--addr", here}, "or set --addr to another one"},
		{map[string]string{"PORT": port}, []string{"serve"}, "or set PORT to another one"},
		{map[string]string{"PORT": port, "K_SERVICE": "jobs", "EBB_ADDR": ":1"}, nil, "or set PORT to another one"},
		{map[string]string{"EBB_ADDR": "192.0.2.1:80"}, []string{"serve"}, "set EBB_ADDR to another one"},
	} {
		env := map[string]string{"DATABASE_URL": nowhere, "EBB_TOKEN": rightToken, "EBB_QUEUE_MAIL_COMMAND": "sh"}
		maps.Copy(env, test.env)
		got := setup{env: env}.ebb(test.args...)
		if got.status != 1 || !strings.Contains(got.stderr, test.want) || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%v %v: exit %d, want %s: %s", test.env, test.args, got.status, test.want, got.stderr)
		}
	}
	got := setup{env: map[string]string{"DATABASE_URL": nowhere, "EBB_TOKEN": rightToken}}.ebb("serve", "--addr", "8080", "--", "sh")
	if got.status != 78 || !strings.Contains(got.stderr, `ebb: --addr: "8080" is not an address and a port; use for example :8080`) {
		t.Errorf("exit %d: %s", got.status, got.stderr)
	}
}
