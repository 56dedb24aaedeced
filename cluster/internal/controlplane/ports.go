// Free ports. Each program gets one that the system says is free; between our
// asking and its listening another program can take it, which is rare, and
// then its start fails with a sentence that says so.

package controlplane

import (
	"fmt"
	"net"
)

func (p *plan) choosePorts() error {
	var held []net.Listener
	defer func() {
		for _, listener := range held {
			listener.Close()
		}
	}()
	// All are held until the last is chosen, so that no two are the same.
	hold := func(port int) (int, error) {
		listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return 0, err
		}
		held = append(held, listener)
		return listener.Addr().(*net.TCPAddr).Port, nil
	}
	port, err := hold(p.Port)
	if err != nil && p.Port != 0 {
		return fmt.Errorf("port %d cannot be used: %w; choose another one with --port, or leave it out to get a free one",
			p.Port, err)
	}
	if err != nil {
		return fmt.Errorf("looking for a free port: %w", err)
	}
	p.ports.apiServer = port
	for _, want := range []*int{&p.ports.etcd, &p.ports.etcdPeer, &p.ports.controllerManager, &p.ports.scheduler} {
		if *want, err = hold(0); err != nil {
			return fmt.Errorf("looking for a free port: %w", err)
		}
	}
	return nil
}
