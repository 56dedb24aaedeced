//go:build yours

package todaysinformer_test

// With -tags yours the layers below can be yours, and so is the informer of chapter 07 then. All of them must compile.

import (
	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/layers/yours"
)

func init() {
	sets["yours"] = yours.Layers
	newChapter07 = controller.NewSharedIndexInformerOn
}
