//go:build yours

package main

// This file adds the learner's code. It is built only if the choice of layers names it, so that code which does not
// compile yet does not stop the others.

import (
	"k8s.io/klog/v2"

	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/layers/yours"
	"client-go-workshop/internal/testkit/pdbapp"
)

func init() {
	parts.Sets["yours"] = yours.Layers
	parts.Upper["yours"] = pdbapp.Upper{
		NewInformer: controller.NewSharedIndexInformerOn,
		NewController: func(logger klog.Logger, config pdbapp.Config) (pdbapp.Runner, error) {
			return controller.New(logger, controller.Config(config))
		},
	}
}
