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
	i := &indexer{Indexer: informer.GetIndexer(), rec: r, kind: kind}
	r.look(i.looked)
	return informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		r.Log.Append(pipeline.Step{Seam: pipeline.Reflector, Verb: pipeline.Returned, Kind: kind, Error: text(err)})
	})
}

// Metrics records what client-go's informers measure: the depth of their queues, and the time for each delta. kind
// returns the kind of a resource.
func (r *Recorder) Metrics(kind func(resource string) string) cache.InformerMetricsProvider {
	return metrics{r, kind}
}

type metrics struct {
	rec  *Recorder
	kind func(resource string) string
}

// step returns what is common to the steps of an informer.
func (m metrics) step(id cache.InformerNameAndResource, verb string) pipeline.Step {
	return pipeline.Step{Seam: pipeline.Delta, Verb: verb, Kind: m.kind(id.GroupVersionResource().Resource)}
}

func (m metrics) NewQueuedItemMetric(id cache.InformerNameAndResource) cache.GaugeMetric {
	step := m.step(id, pipeline.Depth)
	return metric(func(depth float64) {
		step := step // calls can come at the same time
		step.Count = int64(depth)
		m.rec.Log.Append(step)
	})
}

func (m metrics) NewProcessingLatencyMetric(id cache.InformerNameAndResource) cache.HistogramMetric {
	step := m.step(id, pipeline.Processed)
	return metric(func(seconds float64) {
		step := step
		step.Wait = time.Duration(seconds * float64(time.Second))
		m.rec.Log.Append(step)
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
