// Command etcd is the etcd server, exactly as its project ships it: the store
// that kube-apiserver keeps every object in. It is here so that `go build` can
// make it; nothing is added and nothing is left out. The flags that the
// workshop gives it are in internal/controlplane/components.go.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
