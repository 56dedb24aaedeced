package main

// This file chooses the layers: those below the informer, the informer, and the controller.

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/layers/clientgo"
	"client-go-workshop/internal/testkit/layers/solutions"
	controller "client-go-workshop/solutions/07-controller"
)

// runner is a controller of any set.
type runner interface{ Run(ctx context.Context) }

// part is one set's informer and controller. A part that the set does not have is nil.
type part struct {
	newInformer func(below layers.Layers, lw cache.ListerWatcher, example runtime.Object,
		options cache.SharedIndexInformerOptions) cache.SharedIndexInformer
	newController func(logger klog.Logger, config controller.Config) (runner, error)
}

// The sets that this program has. yours.go adds the learner's.
var (
	sets  = map[string]layers.Layers{"solutions": solutions.Layers, "client-go": clientgo.Layers}
	parts = map[string]part{
		"solutions": {controller.NewSharedIndexInformerOn,
			func(logger klog.Logger, config controller.Config) (runner, error) {
				return controller.New(logger, config)
			}},
		"client-go": {newInformer: func(_ layers.Layers, lw cache.ListerWatcher, example runtime.Object,
			options cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
			return cache.NewSharedIndexInformerWithOptions(lw, example, options)
		}},
	}
)

// choice is a complete choice.
type choice struct {
	layers.Layers
	part
	text string
	// closed is true if the informer is client-go's own, which does not take layers.
	closed bool
}

// choose reads a choice such as "yours", or "solutions,reflector=yours,informer=client-go". The informer and the
// controller are those of the first set. client-go has no controller, and its own informer takes no layers; so both are
// the solution's unless the choice names another one.
func choose(text string) (choice, error) {
	c := choice{text: text}
	first, _, _ := strings.Cut(text, ",")
	informer, worker := first, first
	if first == "client-go" {
		informer, worker = "solutions", "solutions"
	}
	lower := slices.DeleteFunc(strings.Split(text, ","), func(word string) bool {
		layer, set, _ := strings.Cut(word, "=")
		switch layer {
		case "informer":
			informer = set
		case "controller":
			worker = set
		default:
			return false
		}
		return true
	})
	if _, here := sets["yours"]; !here && strings.Contains(text, "yours") {
		return c, fmt.Errorf("--layers %s: this program was built without your layers; use go tool workshop show", text)
	}
	var err error
	if c.Layers, err = layers.Choose(strings.Join(lower, ","), sets); err != nil {
		return c, fmt.Errorf("--layers: %w", err)
	}
	if c.newInformer = parts[informer].newInformer; c.newInformer == nil {
		return c, fmt.Errorf("--layers %s: there is no informer %q; it is solutions, yours or client-go", text, informer)
	}
	if c.newController = parts[worker].newController; c.newController == nil {
		return c, fmt.Errorf("--layers %s: there is no controller %q; it is solutions or yours", text, worker)
	}
	c.closed = informer == "client-go"
	c.From["informer"], c.From["controller"] = informer, worker
	return c, nil
}
