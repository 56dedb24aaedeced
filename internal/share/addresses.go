package share

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Address is one of this machine's addresses, and the name of the interface that has it.
type Address struct {
	Interface string
	IP        netip.Addr
	tunnel    bool
}

// Addresses are the addresses of this machine that a room's network may have given it: private ones of interfaces that
// are up. The likeliest comes first.
func Addresses() ([]Address, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("ask for this machine's network interfaces: %w", err)
	}
	var all []Address
	for _, i := range interfaces {
		addrs, err := i.Addrs()
		if err != nil || i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		for _, a := range addrs {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil {
				all = append(all, Address{i.Name, prefix.Addr().Unmap(), i.Flags&net.FlagPointToPoint != 0})
			}
		}
	}
	return rank(all, outward()), nil
}

// outward is the address that this machine would use towards the outside, if it knows a way there. Nothing is sent.
func outward() netip.Addr {
	// 192.0.2.0/24 is for examples, and belongs to nobody.
	conn, err := net.Dial("udp", "192.0.2.1:9")
	if err != nil {
		return netip.Addr{}
	}
	defer conn.Close()
	if addr, ok := conn.LocalAddr().(*net.UDPAddr); ok {
		return addr.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// rank keeps the private addresses, the likeliest first: real interfaces before those of containers and tunnels, the
// way outward before others, and the short addresses of IPv4 before those of IPv6.
func rank(all []Address, outward netip.Addr) []Address {
	private := slices.DeleteFunc(slices.Clone(all), func(a Address) bool { return !a.IP.IsPrivate() })
	doubts := func(a Address) int {
		n := 0
		if a.tunnel || virtual(a.Interface) {
			n += 4
		}
		if a.IP != outward {
			n += 2
		}
		if !a.IP.Is4() {
			n++
		}
		return n
	}
	slices.SortStableFunc(private, func(a, b Address) int { return cmp.Compare(doubts(a), doubts(b)) })
	return private
}

// virtual tells by its name whether an interface is one that containers and virtual machines have put there.
func virtual(name string) bool {
	return slices.ContainsFunc([]string{"docker", "br-", "veth", "virbr", "vmnet", "vboxnet", "cni", "podman", "bridge",
		"vEthernet"},
		func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// Choose returns the address to listen on: what the instructor asked for, or else the first candidate with the given
// port.
func Choose(asked string, candidates []Address, port string) (string, error) {
	if asked != "" {
		if _, _, err := net.SplitHostPort(asked); err != nil {
			return "", fmt.Errorf("--listen %s: %w; give an address and a port, like 192.168.1.7:%s", asked, err, port)
		}
		return asked, nil
	}
	if len(candidates) == 0 {
		return "", errors.New("look for the room's network: no interface of this machine that is up has a private address; " +
			"join the network, or name the address to serve on with --listen")
	}
	return net.JoinHostPort(candidates[0].IP.String(), port), nil
}
