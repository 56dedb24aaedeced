//go:build yours

package recorder_test

// This file adds the chapter folders, over which a test in internal/authoring puts wrong versions.

import (
	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/layers/yours"
)

func init() {
	sets["yours"] = yours.Layers
	newInformer = controller.NewSharedIndexInformerOn
}
