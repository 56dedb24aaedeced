//go:build yours

package ownwrites_test

// With -tags yours the chapters below can be yours. All of them must compile then.

import (
	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/layers/yours"
)

func init() {
	sets["yours"] = yours.Layers
	informers["yours"] = controller.NewSharedIndexInformerOn
}
