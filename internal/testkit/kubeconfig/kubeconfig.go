// Package kubeconfig writes the kubeconfig of a server that runs as long as a command does: cmd/fakeapi and
// cmd/wiretap.
package kubeconfig

import (
	"errors"
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Write writes a kubeconfig for the server to path, and makes its folder. The cluster and the context are called name.
// Write does not overwrite a kubeconfig with another current context; the error then asks for another value of flag.
func Write(path, name, server, flag string) error {
	if old, err := clientcmd.LoadFromFile(path); err == nil && old.CurrentContext != name {
		return fmt.Errorf("%s is another kubeconfig, which is left as it is; name a new file with %s", path, flag)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	return nil
}

// Remove removes the file at path, unless another server has replaced the kubeconfig by its own.
func Remove(path, name, server string) {
	config, err := clientcmd.LoadFromFile(path)
	if err == nil && config.Clusters[name] != nil && config.Clusters[name].Server == server {
		os.Remove(path)
	}
}
