package cli

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
)

const localAddr = "127.0.0.1:8080"

// An address is where serve listens, and the setting by which to change that.
type address struct{ text, setting string }

// address is where EBB_ADDR says, else on all addresses at the port that a platform gives, else where only this machine
// gets at it.
func (c Config) address(environ map[string]string, by given) (address, error) {
	a := address{c.Addr, "EBB_ADDR"}
	if !blank(by.flags["EBB_ADDR"]) {
		a.setting = "--addr"
	}
	if c.Addr == "" {
		switch port := strings.TrimSpace(environ["PORT"]); {
		case port == "":
			a.text = localAddr
		case !isPort(port) || port == "0":
			return a, fmt.Errorf("PORT: %q is not a port; use a number from 1 to 65535", port)
		default:
			a = address{":" + port, "PORT"}
		}
		return a, nil
	}
	host, port, err := net.SplitHostPort(c.Addr)
	hint := localAddr
	if isPort(c.Addr) {
		hint = ":" + c.Addr
	}
	if err != nil || !isPort(port) || !isHost(host) {
		return a, fmt.Errorf("%s: %q is not an address and a port; use for example %s", a.setting, c.Addr, hint)
	}
	return a, nil
}

func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

// isHost takes an IP address, a name, or nothing, which means all addresses.
func isHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return !strings.ContainsFunc(host, func(r rune) bool {
		return r != '.' && r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

func (a address) listen() (net.Listener, error) {
	l, err := net.Listen("tcp", a.text)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("the address %s is in use; stop what listens there, or set %s to another one", a.text, a.setting)
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	if err != nil {
		return nil, fmt.Errorf("the address %s cannot be listened on: %w; set %s to another one", a.text, err, a.setting)
	}
	return l, nil
}
