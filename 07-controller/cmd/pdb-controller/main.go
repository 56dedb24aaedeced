// Command pdb-controller runs the informer and the controller of this folder, on the layers of your choice. Its flags,
// its log and its demonstration are in internal/testkit/pdbapp.
//
//	go run ./07-controller/cmd/pdb-controller                                    a demonstration, without a cluster
//	go run ./07-controller/cmd/pdb-controller --layers yours                     on your own layers below, too
//	go run ./07-controller/cmd/pdb-controller --layers solutions,indexer=yours   on one of them
//	go run ./07-controller/cmd/pdb-controller --kubeconfig FILE                  a cluster
package main

import (
	"k8s.io/klog/v2"

	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/layers/clientgo"
	"client-go-workshop/internal/testkit/layers/solutions"
	"client-go-workshop/internal/testkit/layers/yours"
	"client-go-workshop/internal/testkit/pdbapp"
)

// elect is set in a build with the tag elect.
var elect pdbapp.Elect

func main() {
	pdbapp.Main(pdbapp.Parts{
		Sets: map[string]layers.Layers{"solutions": solutions.Layers, "yours": yours.Layers,
			"client-go": clientgo.Layers},
		Own: "yours",
		Upper: map[string]pdbapp.Upper{"yours": {
			NewInformer: controller.NewSharedIndexInformerOn,
			NewController: func(logger klog.Logger, config pdbapp.Config) (pdbapp.Runner, error) {
				return controller.New(logger, controller.Config(config))
			},
		}},
		Elect: elect,
	})
}
