package recorder

// This file records client-go's own informer, whose queue and Indexer cannot be wrapped: what its public options offer.

import (
	"context"
	"time"

	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/pipeline"
)

// Observe records an informer that takes no layers, before it starts. Its state follows the handlers, and is compared
// with the Indexer when Look is called. Errors of its Reflector are recorded, and not logged.
func (r *Recorder) Observe(informer cache.SharedIndexInformer, kind string) error {
	r.Log.Append(pipeline.Step{Seam: pipeline.Store, Verb: pipeline.Closed, Kind: kind})
	i := &indexer{Indexer: informer.GetIndexer(), rec: r, kind: kind, indexes: cache.Indexers{}}
	r.look(i.looked)
	return informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		r.Log.Append(pipeline.Step{Seam: pipeline.Reflector, Verb: pipeline.Returned, Kind: kind, Error: text(err)})
	})
}

// Metrics records what client-go's informer of a kind measures: the depth of its queue, and the time for each delta.
func (r *Recorder) Metrics(kind string) cache.InformerMetricsProvider { return metrics{r, kind} }

type metrics struct {
	rec  *Recorder
	kind string
}

func (m metrics) NewQueuedItemMetric(cache.InformerNameAndResource) cache.GaugeMetric {
	return metric(func(depth float64) {
		m.rec.Log.Append(pipeline.Step{Seam: pipeline.Delta, Verb: pipeline.Depth, Kind: m.kind, Count: int64(depth)})
	})
}

func (m metrics) NewProcessingLatencyMetric(cache.InformerNameAndResource) cache.HistogramMetric {
	return metric(func(seconds float64) {
		m.rec.Log.Append(pipeline.Step{Seam: pipeline.Delta, Verb: pipeline.Processed, Kind: m.kind,
			Wait: time.Duration(seconds * float64(time.Second))})
	})
}

// NewStoreResourceVersionMetric returns a metric that records nothing: the events have the versions.
func (m metrics) NewStoreResourceVersionMetric(cache.InformerNameAndResource) cache.GaugeMetric {
	return metric(func(float64) {})
}

// metric is a gauge or a histogram.
type metric func(float64)

func (m metric) Set(value float64)     { m(value) }
func (m metric) Observe(value float64) { m(value) }
