// Package proxyapp is the program around the proxy of the lab rewriting-proxy: flags, the connection to the API server,
// and a server with TLS. Two programs use it, the learner's in labs/rewriting-proxy/cmd/proxy and the finished one in
// solutions. They differ in the proxy that they pass to Main.
//
//   - program.go, this one: flags, and the parts put together.
//   - serve.go: a server with TLS, and who may use it.
//   - demo.go: what it does without a cluster.
//
// Left out: more than one user. As with kubectl proxy, each client acts as the user of the proxy's kubeconfig.
package proxyapp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/localserver"
	"client-go-workshop/internal/testkit/todo"
)

// name is the name of the program, and of its cluster in the kubeconfig of its clients.
const name = "proxy"

// Config is what a proxy is made from.
type Config struct {
	// Upstream is the URL of the API server. Transport sends requests to it with the program's credentials.
	Upstream  *url.URL
	Transport http.RoundTripper
	// Factor and HiddenLabel are the view.
	Factor      int64
	HiddenLabel string
}

// NewProxy makes a proxy.
type NewProxy func(config Config) (http.Handler, error)

// options are the flags.
type options struct {
	kubeconfig, address, clients, hide string
	factor                             int64
	pass                               bool
}

// Main is the program. It does not return.
func Main(newProxy NewProxy) {
	todo.OnReach(func(todo todo.NotWritten) bool {
		fmt.Fprintf(os.Stderr, "%s: %s\n  to run the finished code  go run ./labs/solutions/rewriting-proxy/cmd/proxy\n",
			name, todo.Error())
		os.Exit(1)
		return true
	})
	var o options
	c := &cobra.Command{
		Use:   name,
		Short: "Stand between Kubernetes clients and an API server, and multiply the replicas of Deployments",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.kubeconfig == "" {
				klog.LogToStderr(false)
				klog.SetOutput(io.Discard)
				return demo(cmd.Context(), newProxy, cmd.OutOrStdout())
			}
			if o.pass {
				newProxy = passing
			}
			return run(cmd.Context(), newProxy, o, cmd.OutOrStdout())
		},
	}
	f := c.Flags()
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "the file that says how to reach the API server; without it, a "+
		"demonstration")
	f.StringVar(&o.address, "address", "127.0.0.1:0", "where to listen; port 0 takes a free one")
	f.StringVar(&o.clients, "clients", filepath.Join(".workshop", name, "kubeconfig"), "the file to write for the clients")
	f.Int64Var(&o.factor, "factor", 3, "what to multiply spec.replicas by")
	f.StringVar(&o.hide, "hide", "example.com/hidden", "the label that hides an object")
	f.BoolVar(&o.pass, "pass", false, "change nothing, to compare the two")
	localserver.Main(c)
}

// passing makes a proxy that changes nothing.
func passing(c Config) (http.Handler, error) {
	return &httputil.ReverseProxy{
		Transport: c.Transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(c.Upstream)
			r.Out.Header.Del("Authorization")
		},
	}, nil
}

// run serves a proxy in front of a cluster until the context ends.
func run(ctx context.Context, newProxy NewProxy, o options, out io.Writer) error {
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return fmt.Errorf("read how to reach the API server: %w", err)
	}
	handler, err := inFrontOf(config, newProxy, o.factor, o.hide)
	if err != nil {
		return err
	}
	s, err := listen(o.address, handler)
	if err != nil {
		return err
	}
	defer s.http.Close()
	path, remove, err := localserver.WriteKubeconfig(o.clients, name, s.url, "--clients", func(c *clientcmdapi.Config) {
		c.Clusters[name].CertificateAuthorityData = s.authority
		c.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: s.token}
		c.Contexts[name].AuthInfo = name
	})
	if err != nil {
		return err
	}
	defer remove()
	fmt.Fprintf(out, "A proxy for %s is at %s, until Ctrl-C. It shows %d times the replicas of each Deployment, and "+
		"hides those with the label %s.\nIn another terminal:\n\n  export KUBECONFIG=%s\n  kubectl get deployments --watch\n",
		config.Host, s.url, o.factor, o.hide, path)
	<-ctx.Done()
	return nil
}

// inFrontOf returns a proxy for an API server, with the credentials of config.
func inFrontOf(config *rest.Config, newProxy NewProxy, factor int64, hide string) (http.Handler, error) {
	upstream, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("find the URL of the API server: %w", err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a transport to the API server: %w", err)
	}
	return newProxy(Config{Upstream: upstream, Transport: transport, Factor: factor, HiddenLabel: hide})
}
