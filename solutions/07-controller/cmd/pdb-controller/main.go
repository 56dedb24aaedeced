// Command pdb-controller keeps one PodDisruptionBudget for each Deployment that has two or more replicas. It is the
// finished program of chapter 07; what makes it a program is in internal/testkit/pdbapp.
//
//	go run ./solutions/07-controller/cmd/pdb-controller                          a demonstration, without a cluster
//	go run ./solutions/07-controller/cmd/pdb-controller --kubeconfig FILE        a cluster
//	go run ./solutions/07-controller/cmd/pdb-controller --layers client-go       on client-go's layers
package main

import (
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/layers/clientgo"
	"client-go-workshop/internal/testkit/layers/solutions"
	"client-go-workshop/internal/testkit/pdbapp"
	controller "client-go-workshop/solutions/07-controller"
)

// elect is set in a build with the tag elect.
var elect pdbapp.Elect

func main() {
	pdbapp.Main(pdbapp.Parts{
		Sets: map[string]layers.Layers{"solutions": solutions.Layers, "client-go": clientgo.Layers},
		Own:  "solutions",
		Upper: map[string]pdbapp.Upper{"solutions": {
			NewInformer: controller.NewSharedIndexInformerOn,
			NewController: func(logger klog.Logger, config pdbapp.Config) (pdbapp.Runner, error) {
				return controller.New(logger, controller.Config(config))
			},
		}},
		Yours: "run ./07-controller/cmd/pdb-controller",
		Elect: elect,
	})
}
