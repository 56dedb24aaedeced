package pdbapp

// This file chooses the layers that the program runs on.

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/layers"
)

// chosen are the parts of one run: the program's parts, on the layers of a choice.
type chosen struct {
	Parts
	layers.Layers
}

// choose returns the parts of a choice. It handles "informer=client-go" itself and passes the rest to layers.Choose.
// client-go's informer runs on client-go's Reflector, queue and indexer, whatever else is chosen, so From names those.
func choose(choice string, parts Parts) (chosen, error) {
	c := chosen{Parts: parts}
	lower := slices.DeleteFunc(strings.Split(choice, ","), func(part string) bool {
		whose, found := strings.CutPrefix(part, "informer=")
		if found {
			c.Informer = whose
		}
		return found
	})
	if c.Informer != parts.Informer && c.Informer != "client-go" {
		return chosen{}, fmt.Errorf("there is no informer %q here; it is %s or client-go", c.Informer, parts.Informer)
	}
	if len(lower) == 0 {
		lower = []string{parts.Default}
	}
	if _, here := parts.Sets["yours"]; !here && strings.Contains(choice, "yours") {
		return chosen{}, fmt.Errorf("%q: this is the finished program, which does not have your layers; "+
			"run ./07-controller/cmd/pdb-controller", choice)
	}
	var err error
	if c.Layers, err = layers.Choose(strings.Join(lower, ","), parts.Sets); err != nil {
		return chosen{}, err
	}
	if c.Informer == "client-go" {
		c.NewInformer = func(_ layers.Layers, lw cache.ListerWatcher, example runtime.Object,
			options cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
			return cache.NewSharedIndexInformerWithOptions(lw, example, options)
		}
		for _, layer := range []string{"reflector", "deltafifo", "indexer"} {
			c.From[layer] = "client-go"
		}
	}
	return c, nil
}

// inWords returns each layer with the set it belongs to, as key and value for a log.
func (c chosen) inWords() (words []any) {
	for _, layer := range layers.Names {
		words = append(words, layer, c.From[layer])
	}
	return append(words, "informer", c.Informer)
}

func layersUsage(parts Parts) string {
	return fmt.Sprintf("the set of `layers` to run on: one of %s; LAYER=SET after a comma for one of %s, informer; "+
		"deltafifo=real for a RealFIFO",
		strings.Join(slices.Sorted(maps.Keys(parts.Sets)), ", "), strings.Join(layers.Names, ", "))
}
