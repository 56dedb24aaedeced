// Command fakeapi serves the workshop's API server on the loopback address, for curl and kubectl: the protocol of
// chapters 01 to 03 with nothing to install. The tests run on the same server (internal/testkit/fakeapi), so it gives
// the same answers here and there.
//
//	go run ./cmd/fakeapi
//
// What it leaves out: the same as internal/testkit/fakeapi. Nothing creates the Pods of a Deployment; for that use
// `go tool workshop cluster up`.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"

	"github.com/spf13/cobra"

	"client-go-workshop/internal/testkit/fakeapi"
	_ "client-go-workshop/internal/testkit/fakeapi/strategic"
	"client-go-workshop/internal/testkit/localserver"
)

func main() {
	var address, file string
	c := &cobra.Command{
		Use:   "fakeapi",
		Short: "Serve an API server without a cluster on the loopback address, until Ctrl-C",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), address, file, cmd.OutOrStdout())
		},
	}
	c.Flags().StringVar(&address, "address", "127.0.0.1:0",
		"where on the loopback address to listen; port 0 takes a free one")
	c.Flags().StringVar(&file, "kubeconfig", filepath.Join(".workshop", "fakeapi", "kubeconfig"),
		"the file to write for kubectl")
	localserver.Main(c)
}

// serve returns when the context ends.
func serve(ctx context.Context, address, file string, out io.Writer) error {
	address, err := onLoopback(address)
	if err != nil {
		return err
	}
	api := fakeapi.New()
	api.Bound()
	defer api.Close()
	url, err := api.Listen(address)
	if err != nil {
		return fmt.Errorf("listen at %s: %w; choose another address with --address, or leave it out", address, err)
	}
	path, remove, err := localserver.WriteKubeconfig(file, "fakeapi", url, "--kubeconfig")
	if err != nil {
		return err
	}
	defer remove()
	fmt.Fprintf(out, "An API server without a cluster is at %s, until Ctrl-C. In another terminal:\n\n", url)
	fmt.Fprintf(out, "  curl %s/apis/apps/v1/deployments\n", url)
	fmt.Fprintf(out, "  export KUBECONFIG=%s\n", path)
	fmt.Fprintf(out, "  kubectl create deployment web --image=nginx --replicas=3\n")
	<-ctx.Done()
	return nil
}

// onLoopback returns the address to listen at, and an error if it is not on the loopback address. The server does not
// ask for credentials, so it must not listen on every address of the machine, which an empty host would mean.
func onLoopback(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("--address %s is not an address and a port, such as 127.0.0.1:8099", address)
	}
	if host == "" {
		return net.JoinHostPort("127.0.0.1", port), nil
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", fmt.Errorf("--address %s is not on the loopback address: any client could write there, because "+
			"this server does not ask for credentials; take 127.0.0.1:%s", address, port)
	}
	return address, nil
}
