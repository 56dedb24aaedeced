//go:build yours

package main

// This file adds the learner's code. It is built only if the choice of layers names it, so that code which does not
// compile yet does not stop the others.

import (
	"k8s.io/klog/v2"

	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/layers/yours"
	solution "client-go-workshop/solutions/07-controller"
)

func init() {
	sets["yours"] = yours.Layers
	parts["yours"] = part{controller.NewSharedIndexInformerOn,
		func(logger klog.Logger, config solution.Config) (runner, error) {
			return controller.New(logger, controller.Config(config))
		}}
}
