// Command fakeapi serves the workshop's API server on the loopback address, for curl and kubectl: the protocol of
// chapters 01 to 03 with nothing to install. It is the server that the tests run against (internal/testkit/fakeapi), so
// it answers as it does in a test.
//
//	go run ./cmd/fakeapi
//
// Left out: all that internal/testkit/fakeapi leaves out. Nothing makes Pods of a Deployment; `go tool workshop cluster
// up` has controllers that do.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"client-go-workshop/internal/testkit/fakeapi"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "fakeapi:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var address, kubeconfig string
	c := &cobra.Command{
		Use:           "fakeapi",
		Short:         "Serve an API server without a cluster on the loopback address, until Ctrl-C",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), address, kubeconfig, cmd.OutOrStdout())
		},
	}
	c.CompletionOptions.DisableDefaultCmd = true
	c.Flags().StringVar(&address, "address", "127.0.0.1:0",
		"where on the loopback address to listen; port 0 takes a free one")
	c.Flags().StringVar(&kubeconfig, "kubeconfig", filepath.Join(".workshop", "fakeapi", "kubeconfig"),
		"the file to write for kubectl")
	return c
}

// serve serves until ctx ends.
func serve(ctx context.Context, address, kubeconfig string, out io.Writer) error {
	address, err := onLoopback(address)
	if err != nil {
		return err
	}
	api := fakeapi.New()
	defer api.Close()
	url, err := api.Listen(address)
	if err != nil {
		return fmt.Errorf("listen at %s: %w; choose another address with --address, or leave it out", address, err)
	}
	path, err := filepath.Abs(kubeconfig)
	if err != nil {
		return fmt.Errorf("find out where %s is: %w", kubeconfig, err)
	}
	if err := writeKubeconfig(path, url); err != nil {
		return err
	}
	defer removeKubeconfig(path, url)
	fmt.Fprintf(out, "An API server without a cluster is at %s, until Ctrl-C. In another terminal:\n\n", url)
	fmt.Fprintf(out, "  curl %s/apis/apps/v1/deployments\n", url)
	fmt.Fprintf(out, "  export KUBECONFIG=%s\n", path)
	fmt.Fprintf(out, "  kubectl create deployment web --image=nginx --replicas=3\n")
	<-ctx.Done()
	return nil
}

// onLoopback returns the address to listen on. An address without a host gets 127.0.0.1: net.Listen would take every
// address of this machine, and the server asks for no credentials.
func onLoopback(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("--address %s is not an address and a port, such as 127.0.0.1:8099", address)
	}
	if host == "" {
		return net.JoinHostPort("127.0.0.1", port), nil
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", fmt.Errorf("--address %s is not on the loopback address: everyone on the network could write there, "+
			"since this server asks for no credentials; take 127.0.0.1:%s", address, port)
	}
	return address, nil
}

const template = `apiVersion: v1
kind: Config
current-context: fakeapi
clusters: [{name: fakeapi, cluster: {server: %q}}]
users: [{name: nobody, user: {}}]
contexts: [{name: fakeapi, context: {cluster: fakeapi, user: nobody}}]
`

// writeKubeconfig never overwrites a file that is not its own.
func writeKubeconfig(path, url string) error {
	if old, err := os.ReadFile(path); err == nil && !isOurs(old) {
		return fmt.Errorf("%s is another kubeconfig, which is left as it is; name a new file with --kubeconfig", path)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the folder of the kubeconfig: %w", err)
	}
	if err := os.WriteFile(path, fmt.Appendf(nil, template, url), 0o600); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	return nil
}

// removeKubeconfig removes the file, because its address no longer answers. If another server has written its own
// address there meanwhile, the file stays.
func removeKubeconfig(path, url string) {
	if file, err := os.ReadFile(path); err == nil && string(file) == fmt.Sprintf(template, url) {
		os.Remove(path)
	}
}

// isOurs reports whether this command wrote a kubeconfig.
func isOurs(file []byte) bool {
	var server string
	head, _, _ := strings.Cut(template, "}")
	n, err := fmt.Sscanf(string(file), head, &server)
	return err == nil && n == 1
}
