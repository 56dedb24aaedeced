// Command wiretap is a proxy between a client and an API server that prints every byte: the request line, headers, the
// sizes of chunks, JSON and protobuf. docs/learn/watching-the-wire.md uses it.
//
//	go run ./cmd/wiretap --kubeconfig .workshop/fakeapi/kubeconfig
//
// It copies bytes. It speaks plain HTTP with the client, so that the bytes are readable and the client stays with
// HTTP/1.1. With the server it speaks what the kubeconfig says, including TLS with its client certificate. A client of
// its port has the rights of that certificate, as with `kubectl proxy`, so it listens on the loopback address unless
// --address says otherwise.
//
//   - main.go, this file: the command, and the copying.
//   - print.go: prints the bytes for people. It cannot change them.
//
// What it leaves out: HTTP/2, and kubeconfigs with a token or a plugin, which would need a header in each request.
package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"client-go-workshop/internal/testkit/localserver"
)

// name is the name of the cluster and the context in the kubeconfig for clients.
const name = "wiretap"

func main() {
	var from, address, written string
	var width int
	c := &cobra.Command{
		Use:   "wiretap",
		Short: "Print what a client and an API server send to each other, until Ctrl-C",
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, err := upstreamOf(from)
			if err != nil {
				return err
			}
			return serve(cmd.Context(), server, address, written, newPrinter(cmd.OutOrStdout(), width))
		},
	}
	c.Flags().StringVar(&from, "kubeconfig", filepath.Join(".workshop", "fakeapi", "kubeconfig"),
		"the API server to talk to")
	c.Flags().StringVar(&address, "address", "127.0.0.1:0", "where to listen; port 0 takes a free one")
	c.Flags().StringVar(&written, "write", filepath.Join(".workshop", "wiretap", "kubeconfig"),
		"the file to write for clients")
	c.Flags().IntVar(&width, "width", 100, "how much of each line of a body is printed; 0 is all of it")
	localserver.Main(c)
}

// upstream is the API server.
type upstream struct {
	address string
	tls     *tls.Config // nil for plain HTTP
}

// upstreamOf reads a kubeconfig.
func upstreamOf(file string) (upstream, error) {
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if errors.Is(err, os.ErrNotExist) {
		return upstream{}, fmt.Errorf("there is no %s: `go run ./cmd/fakeapi` makes one, as long as it runs, "+
			"or name another with --kubeconfig", file)
	}
	if err != nil {
		return upstream{}, fmt.Errorf("read the kubeconfig: %w", err)
	}
	if config.BearerToken != "" || config.BearerTokenFile != "" || config.Username != "" || config.ExecProvider != nil ||
		config.AuthProvider != nil {
		return upstream{}, fmt.Errorf("%s has no client certificate but a credential that each request would "+
			"have to carry; wiretap only copies bytes", file)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return upstream{}, fmt.Errorf("read the kubeconfig: %w", err)
	}
	if base.Scheme == "http" {
		return upstream{address: withPort(base, "80")}, nil
	}
	secure, err := rest.TLSConfigFor(config)
	if err != nil {
		return upstream{}, fmt.Errorf("read the certificates in %s: %w", file, err)
	}
	if secure == nil {
		secure = &tls.Config{}
	}
	secure.NextProtos = []string{"http/1.1"} // HTTP/2 is not readable
	secure.ServerName = cmp.Or(secure.ServerName, base.Hostname())
	return upstream{address: withPort(base, "443"), tls: secure}, nil
}

func withPort(u *url.URL, port string) string {
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port))
}

func (u upstream) dial(ctx context.Context) (net.Conn, error) {
	if u.tls == nil {
		return new(net.Dialer).DialContext(ctx, "tcp", u.address)
	}
	return (&tls.Dialer{Config: u.tls}).DialContext(ctx, "tcp", u.address)
}

// serve returns when the context ends, and all connections with it.
func serve(ctx context.Context, server upstream, address, file string, p *printer) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listen at %s: %w; choose another address with --address, or leave it out", address, err)
	}
	defer listener.Close()
	here := "http://" + listener.Addr().String()
	path, remove, err := localserver.WriteKubeconfig(file, name, here, "--write")
	if err != nil {
		return err
	}
	defer remove()
	fmt.Fprintf(p.out, "%s is %s. In another terminal:\n\n  curl %s/apis/apps/v1/deployments\n  export KUBECONFIG=%s\n\n",
		here, server.address, here, path)

	ctx, cancel := context.WithCancel(ctx)
	var connections sync.WaitGroup
	defer connections.Wait()
	defer cancel()
	context.AfterFunc(ctx, func() { listener.Close() })
	for n := 1; ; n++ {
		client, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept a connection: %w", err)
		}
		connections.Go(func() { connect(ctx, client, server, p.tap(n)) })
	}
}

// connect copies in both directions until one side hangs up.
func connect(ctx context.Context, client net.Conn, server upstream, t *tap) {
	defer client.Close()
	up, err := server.dial(ctx)
	if err != nil {
		t.note("cannot reach %s: %v", server.address, err)
		return
	}
	defer up.Close()
	t.note("connected")
	defer t.note("closed")
	defer context.AfterFunc(ctx, func() { client.Close(); up.Close() })()

	var both sync.WaitGroup
	both.Go(func() { pass(up, client, t.requests) })
	both.Go(func() { pass(client, up, t.responses) })
	both.Wait()
}

// pass copies from one side to the other, and read gets a copy. Copying goes on after read has returned. At the end the
// other side gets the end of the stream.
func pass(to, from net.Conn, read func(io.Reader) error) {
	shown, passed := io.Pipe()
	var reading sync.WaitGroup
	reading.Go(func() {
		_ = read(shown) // the connection does not depend on how it ends
		io.Copy(io.Discard, shown)
	})
	io.Copy(to, io.TeeReader(from, passed))
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	} else {
		to.Close()
	}
	passed.Close()
	reading.Wait()
}
