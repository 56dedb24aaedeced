// Command bitcoin-controller runs a network of Bitcoin nodes for each BitcoinNetwork. It is the finished program of the
// lab custom-resource; internal/testkit/bitcoinapp makes it a program.
//
//	go run ./labs/solutions/custom-resource/cmd/bitcoin-controller --print-crd
//	go run ./labs/solutions/custom-resource/cmd/bitcoin-controller --kubeconfig FILE --registry FOLDER
package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"

	"client-go-workshop/internal/testkit/bitcoinapp"
	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/layers/clientgo"
	"client-go-workshop/internal/testkit/layers/solutions"
	customresource "client-go-workshop/labs/solutions/custom-resource"
	informer "client-go-workshop/solutions/07-controller"
)

var sets = map[string]layers.Layers{"solutions": solutions.Layers, "client-go": clientgo.Layers}

func main() {
	bitcoinapp.Main(bitcoinapp.Parts{
		Resource: customresource.Networks, AddToScheme: customresource.AddToScheme, Manifest: customresource.Manifest,
		Example: &customresource.BitcoinNetwork{}, NewInformer: informer.NewSharedIndexInformerOn, Sets: sets, Run: run,
	})
}

// run puts the controller together, and runs it until ctx ends.
func run(ctx context.Context, setup bitcoinapp.Setup) error {
	c, err := customresource.New(customresource.Config{
		Networks: setup.Networks, Deployments: setup.Deployments, Queue: setup.Queue, Workers: setup.Workers,
		Registry: customresource.FileRegistry{Dir: setup.RegistryDir},
		NetworkWriter: func(namespace string) customresource.NetworkWriter {
			return layers.WriterOf(setup.NetworkResource, namespace,
				func() *customresource.BitcoinNetwork { return &customresource.BitcoinNetwork{} })
		},
		DeploymentWriter: func(namespace string) customresource.DeploymentWriter {
			return layers.WriterOf(setup.DeploymentResource, namespace,
				func() *appsv1.Deployment { return &appsv1.Deployment{} })
		},
	})
	if err != nil {
		return err
	}
	return c.Run(ctx)
}
