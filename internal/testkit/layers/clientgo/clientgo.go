// Package clientgo has the set of layers of client-go itself.
package clientgo

import (
	"k8s.io/apimachinery/pkg/fields"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"client-go-workshop/internal/testkit/layers"
	todaysinformer "client-go-workshop/labs/solutions/todays-informer"
)

// Layers is the set.
var Layers = layers.Layers{
	NewClient:      newClient,
	NewFrameReader: serializer.Framer.NewFrameReader,
	NewReflector: func(lw cache.ListerWatcher, expectedType any, store cache.ReflectorStore,
		options layers.ReflectorOptions) layers.Reflector {
		r := cache.NewReflectorWithOptions(lw, expectedType, store, options.ReflectorOptions)
		r.ShouldResync = options.ShouldResync
		return r
	},
	NewDeltaFIFO: func(options cache.DeltaFIFOOptions) cache.Queue { return cache.NewDeltaFIFOWithOptions(options) },
	NewRealFIFO:  func(options cache.RealFIFOOptions) layers.RealFIFO { return cache.NewRealFIFOWithOptions(options) },
	NewIndexer: func(keyFunc cache.KeyFunc, indexers cache.Indexers) cache.Indexer {
		return cache.NewIndexer(keyFunc, indexers)
	},
	NewWorkQueue: workqueue.NewTypedRateLimitingQueueWithConfig[cache.ObjectName],
	// client-go exports its RealFIFO, but not what consumes it.
	Today: todaysinformer.On,
}

func newClient(config *rest.Config) (layers.Client, error) {
	listWatch := func(c *rest.RESTClient, resource, namespace string) cache.ListerWatcher {
		return cache.NewListWatchFromClient(c, resource, namespace, fields.Everything())
	}
	return layers.NewClient(config, rest.RESTClientFor, listWatch)
}
