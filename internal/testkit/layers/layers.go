// Package layers puts the lower six chapters together for the seventh, which uses them through interfaces:
//
//	client (01, 02) → reflector (03) → deltafifo (04) → indexer (05) → informer and controller (07)
//	                                            workqueue (06) ─────────────┘
//
// There are three sets, each in a package of its own, so that a program compiles only those that it uses: yours (the
// chapter folders), solutions, and clientgo. Choose mixes them. What it leaves out: the informer, which is chapter 07
// itself.
package layers

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Layers has the constructors of the layers below an informer and a controller. Each may come from another set.
type Layers struct {
	// NewClient makes a client of chapters 01 and 02: requests, and the streams of watches.
	NewClient func(config *rest.Config) (Client, error)
	// NewFrameReader is the part of chapter 02 that splits the body of a watch into frames. It comes with the client.
	NewFrameReader func(body io.ReadCloser) io.ReadCloser
	// NewReflector is chapter 03.
	NewReflector func(lw cache.ListerWatcher, expectedType any, store cache.ReflectorStore,
		options ReflectorOptions) Reflector
	// NewDeltaFIFO is chapter 04.
	NewDeltaFIFO func(options cache.DeltaFIFOOptions) cache.Queue
	// NewRealFIFO is the bonus task of chapter 04.
	NewRealFIFO func(options cache.RealFIFOOptions) RealFIFO
	// NewIndexer is chapter 05.
	NewIndexer func(keyFunc cache.KeyFunc, indexers cache.Indexers) cache.Indexer
	// NewWorkQueue is chapter 06.
	NewWorkQueue func(limiter RateLimiter, config WorkQueueConfig) WorkQueue
	// Today is the lab todays-informer: it returns layers with a RealFIFO as their queue, and with Pop. Choose calls it
	// for "deltafifo=real".
	Today func(below Layers) Layers
	// Pop takes items from the queue and applies them to the store while it holds the lock. If Pop is nil, an informer
	// pops DeltaFIFOs with its own handleDeltas.
	Pop func(queue cache.Queue, store cache.Store, handler cache.ResourceEventHandler, lock sync.Locker) error
	// From has the name of each layer's set, for the log.
	From map[string]string
}

// RealFIFO has the methods of a RealFIFO that a Reflector and an informer call.
type RealFIFO interface {
	cache.Queue
	Bookmark(version string) error
	Transformer() cache.TransformFunc
}

// NewInformer is the type of chapter 07's NewSharedIndexInformerOn.
type NewInformer = func(below Layers, lw cache.ListerWatcher, example runtime.Object,
	options cache.SharedIndexInformerOptions) cache.SharedIndexInformer

// WorkQueue is a queue of keys.
type WorkQueue = workqueue.TypedRateLimitingInterface[cache.ObjectName]

// WorkQueueConfig is what a WorkQueue is made from.
type WorkQueueConfig = workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]

// RateLimiter decides how long a key in a WorkQueue waits after a failure.
type RateLimiter = workqueue.TypedRateLimiter[cache.ObjectName]

// Client is a connection to an API server.
type Client interface {
	// Deployments and Budgets return what a Reflector reads from. An empty namespace stands for all.
	Deployments(namespace string) cache.ListerWatcher
	Budgets(namespace string) cache.ListerWatcher
	// BudgetWriter returns the client that writes the budgets of one namespace.
	BudgetWriter(namespace string) BudgetClient
	// Resource returns access to the objects of any resource. The scheme has their Go types, those of the lists, and
	// the options of the resource's group and version. Of returns it with the objects' Go type.
	Resource(resource schema.GroupVersionResource, scheme *runtime.Scheme) (Resource, error)
}

// BudgetClient writes the PodDisruptionBudgets of one namespace. Reading is missing on purpose: what a controller reads
// comes from its cache. It is three methods of client-go's PodDisruptionBudgetInterface.
type BudgetClient interface {
	Create(ctx context.Context, budget *policyv1.PodDisruptionBudget,
		options metav1.CreateOptions) (*policyv1.PodDisruptionBudget, error)
	Update(ctx context.Context, budget *policyv1.PodDisruptionBudget,
		options metav1.UpdateOptions) (*policyv1.PodDisruptionBudget, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// ReflectorOptions are client-go's, and the one field of a Reflector that an informer sets.
type ReflectorOptions struct {
	cache.ReflectorOptions
	// ShouldResync reports, once each ResyncPeriod, whether to resync. Nil means always.
	ShouldResync func() bool
}

// Reflector has the methods of a Reflector that an informer calls.
type Reflector interface {
	ListAndWatchWithContext(ctx context.Context) error
	LastSyncResourceVersion() string
}

// Names are the layers that can be chosen, from the wire upwards.
var Names = []string{"client", "reflector", "deltafifo", "indexer", "workqueue"}

// Choose mixes sets. choice is the name of a set, or more of them, the first for all layers, as in
// "solutions,reflector=yours,workqueue=client-go". "deltafifo=real" puts a RealFIFO in the place of the DeltaFIFO, with
// the consumer of the lab todays-informer: Today of the first set.
func Choose(choice string, sets map[string]Layers) (Layers, error) {
	var chosen Layers
	withRealFIFO := false
	for i, part := range strings.Split(choice, ",") {
		layer, name, one := strings.Cut(part, "=")
		if !one {
			name = part
		}
		set, known := sets[name]
		var problem string
		switch {
		case part == realFIFO && i > 0:
			withRealFIFO = true
		case !known:
			problem = fmt.Sprintf("there is no set %q; it is one of %s", name, strings.Join(setNames(sets), ", "))
			if _, ok := sets["yours"]; !ok {
				problem += ", or with -tags yours also yours"
			}
		case one && i == 0:
			problem = fmt.Sprintf("it must begin with the set for all that is not said: %q, say", setNames(sets)[0]+","+part)
		case !one && i > 0:
			problem = fmt.Sprintf("which of %s is to be from %s?", strings.Join(Names, ", "), name)
		case !one:
			chosen, chosen.From = set, map[string]string{}
			for _, layer := range Names {
				chosen.From[layer] = name
			}
		case !slices.Contains(Names, layer):
			problem = fmt.Sprintf("there is no layer %q; they are %s", layer, strings.Join(Names, ", "))
		default:
			chosen.take(layer, set)
			chosen.From[layer] = name
		}
		if problem != "" {
			return Layers{}, fmt.Errorf("choose layers by %q: %s", choice, problem)
		}
	}
	if withRealFIFO {
		chosen = chosen.Today(chosen)
		chosen.From["deltafifo"] += " (RealFIFO)"
	}
	return chosen, nil
}

// realFIFO is the choice of a RealFIFO as the queue, whatever set it comes from.
const realFIFO = "deltafifo=real"

// take takes one layer of a set.
func (l *Layers) take(layer string, set Layers) {
	switch layer {
	case "client":
		l.NewClient, l.NewFrameReader = set.NewClient, set.NewFrameReader
	case "reflector":
		l.NewReflector = set.NewReflector
	case "deltafifo":
		l.NewDeltaFIFO, l.NewRealFIFO = set.NewDeltaFIFO, set.NewRealFIFO
	case "indexer":
		l.NewIndexer = set.NewIndexer
	case "workqueue":
		l.NewWorkQueue = set.NewWorkQueue
	}
}

// setNames are the sets' names, in the order in which they are to be shown.
func setNames(sets map[string]Layers) []string {
	return slices.DeleteFunc([]string{"solutions", "yours", "client-go"}, func(name string) bool {
		_, ok := sets[name]
		return !ok
	})
}
