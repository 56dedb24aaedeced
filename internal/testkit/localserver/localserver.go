// Package localserver has the common parts of cmd/fakeapi and cmd/wiretap: commands that run until Ctrl-C, and write a
// kubeconfig for that time.
package localserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Main runs a command without arguments, whose context ends at Ctrl-C. It exits with code 1 after an error.
func Main(c *cobra.Command) {
	c.Args = cobra.NoArgs
	c.SilenceErrors, c.SilenceUsage, c.CompletionOptions.DisableDefaultCmd = true, true, true
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := c.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", c.Name(), err)
		os.Exit(1)
	}
}

// WriteKubeconfig writes a kubeconfig for the server at a URL to file, and makes its folder. The cluster and the
// context are called name. It does not overwrite a kubeconfig with another current context; the error then asks for
// another value of flag. It returns the absolute path of the file, and a function that removes the file, unless another
// server has replaced the kubeconfig by its own. Each change may add to the kubeconfig before it is written.
func WriteKubeconfig(file, name, url, flag string, changes ...func(*clientcmdapi.Config),
) (path string, remove func(), err error) {
	if path, err = filepath.Abs(file); err != nil {
		return "", nil, fmt.Errorf("find out where %s is: %w", file, err)
	}
	if old, err := clientcmd.LoadFromFile(path); err == nil && old.CurrentContext != name {
		return "", nil, fmt.Errorf("%s is another kubeconfig, which is left as it is; name a new file with %s", path, flag)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", nil, fmt.Errorf("look at %s: %w", path, err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: url}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name}
	config.CurrentContext = name
	for _, change := range changes {
		change(config)
	}
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return "", nil, fmt.Errorf("write the kubeconfig: %w", err)
	}
	return path, func() {
		config, err := clientcmd.LoadFromFile(path)
		if err == nil && config.Clusters[name] != nil && config.Clusters[name].Server == url {
			os.Remove(path)
		}
	}, nil
}
