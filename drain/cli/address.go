package cli

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

const localAddr = "127.0.0.1:8080"

// address is where serve listens: where EBB_ADDR says, else on all addresses at the port that a platform gives, else
// where only this machine gets at it.
func (c Config) address(environ map[string]string) (string, []error) {
	if c.Addr == "" {
		switch port := strings.TrimSpace(environ["PORT"]); {
		case port == "":
			return localAddr, nil
		case !isPort(port) || port == "0":
			return "", []error{fmt.Errorf("PORT: %q is not a number from 1 to 65535; set it, or EBB_ADDR, for example to %s", port, localAddr)}
		default:
			return ":" + port, nil
		}
	}
	host, port, err := net.SplitHostPort(c.Addr)
	hint := localAddr
	if isPort(c.Addr) {
		hint = ":" + c.Addr
	}
	if err != nil || !isPort(port) || !isHost(host) {
		return "", []error{fmt.Errorf("EBB_ADDR: %q is not an address and a port; use for example %s", c.Addr, hint)}
	}
	return c.Addr, nil
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
