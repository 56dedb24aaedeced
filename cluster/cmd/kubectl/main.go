// Command kubectl is the command-line client of the Kubernetes API as its
// project ships it, for machines that have none. `cluster kubectl` runs it with the
// workshop's kubeconfig. Left out: the login plugins for cloud providers, and
// verbosity (-v) while kubectl itself still reads its own configuration.
package main

import (
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
}
