package main

// This file is the controller of chapter 07 with a recorder between its layers, on an API server in the process or on a
// cluster.

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/fakeapi"
	_ "client-go-workshop/internal/testkit/fakeapi/strategic"
	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/layers/clientgo"
	"client-go-workshop/internal/testkit/layers/solutions"
	"client-go-workshop/internal/testkit/pdbapp"
	"client-go-workshop/internal/testkit/pipeline"
	"client-go-workshop/internal/testkit/recorder"
	controller "client-go-workshop/solutions/07-controller"
)

// parts are what this program can be made of. yours.go adds the learner's.
var parts = pdbapp.Parts{
	Sets: map[string]layers.Layers{"solutions": solutions.Layers, "client-go": clientgo.Layers},
	Own:  "solutions",
	Upper: map[string]pdbapp.Upper{"solutions": {
		NewInformer: controller.NewSharedIndexInformerOn,
		NewController: func(logger klog.Logger, config pdbapp.Config) (pdbapp.Runner, error) {
			return controller.New(logger, controller.Config(config))
		},
	}},
	Yours: "use go tool workshop show",
}

// machine is one controller, and one log. After it is stopped, another one takes its place.
type machine struct {
	rec *recorder.Recorder
	api *fakeapi.Server // nil on a cluster

	deployments cache.SharedIndexInformer
	stopping    context.CancelFunc
	running     sync.WaitGroup

	asked atomic.Bool // a page has asked for something

	late    atomic.Int64 // how long each call of the second handler takes, in nanoseconds
	second  cache.ResourceEventHandlerRegistration
	stopped <-chan struct{} // closed when the machine stops
}

// newMachine starts a controller. If config is nil, it makes an API server.
func newMachine(ctx context.Context, c pdbapp.Chosen, config *rest.Config) (*machine, error) {
	m := &machine{rec: newRecorder()}
	if config == nil {
		m.api = fakeapi.New()
		m.rec.Serve(m.api)
		config = m.api.Config()
		config.QPS = -1
	}
	client, err := m.rec.Client(c.Layers, config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	informer := func(lw cache.ListerWatcher, example runtime.Object, kind string) cache.SharedIndexInformer {
		made := m.rec.Informer(c.NewInformer(m.rec.Wrap(c.Layers, kind), lw, example, cache.SharedIndexInformerOptions{
			ResyncPeriod: 10 * time.Minute,
			Indexers:     cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
		}), kind)
		if c.From["informer"] == "client-go" { // it does not take layers
			if err := m.rec.Observe(made, kind); err != nil {
				utilruntime.HandleErrorWithContext(ctx, err, "Observing the informer", "kind", kind)
			}
		}
		return made
	}
	m.deployments = informer(client.Deployments(""), &appsv1.Deployment{}, recorder.Deployment)
	budgets := informer(client.Budgets(""), &policyv1.PodDisruptionBudget{}, recorder.Budget)
	// The first wait is long enough to be read.
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](time.Second, time.Minute)
	recordEvent := pdbapp.EventFunc(func(message string) {
		m.rec.Log.Append(pipeline.Step{Seam: pipeline.Worker, Verb: pipeline.Says, Text: message})
	})
	worker, err := c.NewController(klog.Background(), pdbapp.Config{
		Deployments: m.deployments, Budgets: budgets, Client: client.BudgetWriter, Recorder: recordEvent,
		Queue:   m.rec.WorkQueue(c.Layers, limiter, layers.WorkQueueConfig{}),
		Workers: 2, DrainTimeout: time.Second,
	})
	if err != nil {
		return nil, err
	}
	ctx, m.stopping = context.WithCancel(klog.NewContext(ctx, klog.New(nil)))
	m.stopped = ctx.Done()
	for _, run := range []func(context.Context){worker.Run, m.deployments.RunWithContext, budgets.RunWithContext} {
		m.running.Go(func() { run(ctx) })
	}
	return m, nil
}

// firstChange is how long after the start the first Deployment changes, if no page has asked for something.
const firstChange = 4 * time.Second

// populate makes two Deployments, so that the first view has something to look at.
func (m *machine) populate() {
	m.api.Create(fakeapi.Deployment("shop", 3))
	m.api.Create(fakeapi.Deployment("mail", 2))
	m.running.Go(func() {
		select {
		case <-time.After(firstChange):
			if !m.asked.Load() {
				// An error means that a page has deleted it meanwhile.
				_ = m.do(order{Action: "scale", Name: "shop"})
			}
		case <-m.stopped:
		}
	})
}

// stop ends the controller and its server. It waits for two seconds at most: wrong code may never end.
func (m *machine) stop() {
	m.stopping()
	m.free()
	if m.api != nil {
		m.api.Up()
		m.api.Close()
	}
	ended := make(chan struct{})
	go func() {
		m.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(2 * time.Second):
	}
}

// free lets all goroutines go.
func (m *machine) free() {
	m.rec.Gate.Open(true)
	m.rec.Workers.Set(false)
	m.rec.Consumer.Set(false)
}

// addHandler adds a second handler, whose calls take so long.
func (m *machine) addHandler(late time.Duration) (err error) {
	m.late.Store(int64(late))
	if m.second != nil {
		return nil
	}
	wait := func() {
		select {
		case <-time.After(time.Duration(m.late.Load())):
		case <-m.stopped:
		}
	}
	m.second, err = m.deployments.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { wait() }, UpdateFunc: func(any, any) { wait() }, DeleteFunc: func(any) { wait() },
	})
	return err
}

// removeHandler removes it.
func (m *machine) removeHandler() error {
	if m.second == nil {
		return nil
	}
	err := m.deployments.RemoveEventHandler(m.second)
	m.second = nil
	return err
}
