package pdbapp

// This file chooses the layers that a program runs on, the informer and the controller among them.

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/layers"
)

// defaultLayers is the choice without the flag --layers.
const defaultLayers = "solutions"

// Parts are the differences between the programs that run the controller.
type Parts struct {
	// Sets are the sets of layers to choose from.
	Sets map[string]layers.Layers
	// Upper has the informer and the controller of some sets. A choice that begins with another set has those of Own.
	Upper map[string]Upper
	Own   string
	// Yours says how to start a program with the learner's layers, for one that does not have them.
	Yours string
	// Elect runs work while it holds a Lease, as election.Run does. It is nil in a build without the tag elect.
	Elect Elect
}

// Upper is the informer and the controller of a set.
type Upper struct {
	NewInformer   layers.NewInformer
	NewController func(logger klog.Logger, config Config) (Runner, error)
}

// Chosen are the layers of a choice. From has the sets of the informer and the controller, too.
type Chosen struct {
	layers.Layers
	Upper
}

// Choose reads a choice such as "yours", or "solutions,reflector=yours,informer=client-go". It handles the informer and
// the controller itself and passes the rest to layers.Choose. client-go's informer runs on client-go's Reflector, queue
// and indexer, whatever else is chosen, so From names those.
func Choose(choice string, parts Parts) (c Chosen, err error) {
	first, _, _ := strings.Cut(choice, ",")
	if _, has := parts.Upper[first]; !has {
		first = parts.Own
	}
	upper := map[string]string{"informer": first, "controller": first}
	lower := slices.DeleteFunc(strings.Split(choice, ","), func(word string) bool {
		layer, set, _ := strings.Cut(word, "=")
		_, isUpper := upper[layer]
		if isUpper {
			upper[layer] = set
		}
		return isUpper
	})
	if len(lower) == 0 {
		lower = []string{defaultLayers}
	}
	if _, here := parts.Sets["yours"]; !here && strings.Contains(choice, "yours") {
		return c, fmt.Errorf("%q: this program was built without your layers; %s", choice, parts.Yours)
	}
	if c.Layers, err = layers.Choose(strings.Join(lower, ","), parts.Sets); err != nil {
		return c, err
	}
	here := strings.Join(slices.Sorted(maps.Keys(parts.Upper)), " or ")
	if c.NewInformer = parts.Upper[upper["informer"]].NewInformer; upper["informer"] == "client-go" {
		c.NewInformer = clientGoInformer
		for _, layer := range []string{"reflector", "deltafifo", "indexer"} {
			c.From[layer] = "client-go"
		}
	}
	if c.NewInformer == nil {
		return c, fmt.Errorf("there is no informer %q here; it is client-go or %s", upper["informer"], here)
	}
	if c.NewController = parts.Upper[upper["controller"]].NewController; c.NewController == nil {
		return c, fmt.Errorf("there is no controller %q here; it is %s", upper["controller"], here)
	}
	maps.Copy(c.From, upper)
	return c, nil
}

func clientGoInformer(_ layers.Layers, lw cache.ListerWatcher, example runtime.Object,
	options cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformerWithOptions(lw, example, options)
}

// inWords returns each layer up to the informer with the set it belongs to, as key and value for a log.
func (c Chosen) inWords() (words []any) {
	for _, layer := range append(slices.Clone(layers.Names), "informer") {
		words = append(words, layer, c.From[layer])
	}
	return words
}

func layersUsage(parts Parts) string {
	return fmt.Sprintf("the set of `layers` to run on: one of %s; LAYER=SET after a comma for one of %s, informer; "+
		"deltafifo=real for a RealFIFO",
		strings.Join(slices.Sorted(maps.Keys(parts.Sets)), ", "), strings.Join(layers.Names, ", "))
}
