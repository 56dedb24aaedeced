package main

// This file chooses the address to serve on: of this machine's addresses, the one that attendees most likely reach.

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
)

// address is one of this machine's addresses, and the name of its interface.
type address struct {
	iface  string
	ip     netip.Addr
	tunnel bool
}

// addresses returns the private addresses of this machine's interfaces that are up, the likeliest first.
func addresses() ([]address, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list this machine's network interfaces: %w", err)
	}
	var all []address
	for _, i := range interfaces {
		addrs, err := i.Addrs()
		if err != nil || i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		for _, a := range addrs {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil {
				all = append(all, address{i.Name, prefix.Addr().Unmap(), i.Flags&net.FlagPointToPoint != 0})
			}
		}
	}
	return rank(all, outbound()), nil
}

// outbound returns the address that this machine uses for connections to the outside, or the zero address if it has no
// route there. It sends nothing.
func outbound() netip.Addr {
	conn, err := net.Dial("udp", "192.0.2.1:9") // 192.0.2.0/24 is reserved for documentation
	if err != nil {
		return netip.Addr{}
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap()
}

// rank returns the private addresses, the likeliest first: real interfaces before those of containers and tunnels, the
// outbound address before others, IPv4 before IPv6.
func rank(all []address, outbound netip.Addr) []address {
	private := slices.DeleteFunc(slices.Clone(all), func(a address) bool { return !a.ip.IsPrivate() })
	doubts := func(a address) (n int) {
		if a.tunnel || virtual.MatchString(a.iface) {
			n += 4
		}
		if a.ip != outbound {
			n += 2
		}
		if !a.ip.Is4() {
			n++
		}
		return n
	}
	slices.SortStableFunc(private, func(a, b address) int { return cmp.Compare(doubts(a), doubts(b)) })
	return private
}

// virtual matches the names of interfaces that belong to containers or virtual machines.
var virtual = regexp.MustCompile("^(docker|br-|veth|virbr|vmnet|vboxnet|cni|podman|bridge|vEthernet)")

// choose returns the address to listen on: the one of --listen, or the first candidate with the given port.
func choose(listen string, candidates []address, port string) (string, error) {
	if listen != "" {
		if _, _, err := net.SplitHostPort(listen); err != nil {
			return "", fmt.Errorf("--listen %s: %w; name an address and a port, such as 192.168.1.7:%s", listen, err, port)
		}
		return listen, nil
	}
	if len(candidates) == 0 {
		return "", errors.New("no network interface of this machine that is up has a private address: " +
			"join the room's network, or name the address to serve on with --listen")
	}
	return net.JoinHostPort(candidates[0].ip.String(), port), nil
}
