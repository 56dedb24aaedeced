// Package solutions has the set of layers from the folder solutions.
package solutions

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/layers"
	todaysinformer "client-go-workshop/labs/solutions/todays-informer"
	restclient "client-go-workshop/solutions/01-restclient"
	watchstream "client-go-workshop/solutions/02-watch-stream"
	reflector "client-go-workshop/solutions/03-reflector"
	deltafifo "client-go-workshop/solutions/04-deltafifo"
	indexer "client-go-workshop/solutions/05-indexer"
	workqueue "client-go-workshop/solutions/06-workqueue"
)

// Layers is the set.
var Layers = layers.Layers{
	NewClient:      newClient,
	NewFrameReader: watchstream.NewFrameReader,
	NewReflector: func(lw cache.ListerWatcher, expectedType any, store cache.ReflectorStore,
		options layers.ReflectorOptions) layers.Reflector {
		r := reflector.NewReflectorWithOptions(lw, expectedType, store, options.ReflectorOptions)
		r.ShouldResync = options.ShouldResync
		return r
	},
	NewDeltaFIFO: func(options cache.DeltaFIFOOptions) cache.Queue { return deltafifo.NewDeltaFIFOWithOptions(options) },
	NewRealFIFO:  func(options cache.RealFIFOOptions) layers.RealFIFO { return deltafifo.NewRealFIFOWithOptions(options) },
	NewIndexer:   indexer.NewIndexer,
	NewWorkQueue: workqueue.NewTypedRateLimitingQueueWithConfig[cache.ObjectName],
	Today:        todaysinformer.On,
}

func newClient(config *rest.Config) (layers.Client, error) {
	listWatch := func(c *restclient.RESTClient, resource, namespace string) cache.ListerWatcher {
		return watchstream.NewListWatchFromClient(c, resource, namespace, fields.Everything())
	}
	newREST := func(config *rest.Config) (*restclient.RESTClient, error) {
		c, err := restclient.RESTClientFor(config)
		if err == nil {
			c.NewWatcher = watchstream.NewWatcherFor(config.NegotiatedSerializer, *config.GroupVersion)
		}
		return c, err
	}
	return layers.NewClient(config, newREST, listWatch)
}
