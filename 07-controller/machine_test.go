package controller_test

// This file builds a whole controller, on two informers and a queue, for the tests that run it.

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/pipeline"
	"client-go-workshop/internal/testkit/recorder"
)

// source is a FakeControllerSource for an informer. It cannot stream the initial list, and
// must say so: otherwise the Reflector waits for a bookmark that never comes.
type source struct {
	*fcache.FakeControllerSource
	closed *atomic.Bool // refuses to list
}

func (source) IsWatchListSemanticsUnSupported() bool { return true }

func (s source) List(options metav1.ListOptions) (runtime.Object, error) {
	if s.closed.Load() {
		return nil, errors.New("not now")
	}
	return s.FakeControllerSource.List(options)
}

// recordedSource is a FakeControllerSource whose changes are recorded.
type recordedSource struct {
	*fcache.FakeControllerSource
	rec *recorder.Recorder
}

func (s *recordedSource) Add(obj runtime.Object) {
	s.FakeControllerSource.Add(obj) // sets the resourceVersion, as the others do
	s.changed(obj, false)
}

func (s *recordedSource) Modify(obj runtime.Object) {
	s.FakeControllerSource.Modify(obj)
	s.changed(obj, false)
}

func (s *recordedSource) Delete(obj runtime.Object) {
	s.FakeControllerSource.Delete(obj)
	s.changed(obj, true)
}

func (s *recordedSource) changed(obj runtime.Object, removed bool) {
	if object, err := meta.Accessor(obj); err == nil {
		s.rec.Changed(obj, object.GetResourceVersion(), removed)
	}
}

// machine is a whole controller on two informers, and the server that they watch. Beside default/web, which the tests
// are about, there is a Deployment other/web, whose budget is right. No test has a reason to touch that.
type machine struct {
	t           *guard.T
	deployments *recordedSource
	server      *budgetServer
	events      eventLog
	rec         *recorder.Recorder
	queue       keyQueue
	controller  *controller.Controller
	closed      atomic.Bool // while true, budgets cannot be listed
	// configure, if set, changes the controller's Config.
	configure func(*controller.Config)
	drain     time.Duration // of that
	// elsewhere are the budgets beside default/web at the start.
	elsewhere map[string]runtime.Object

	running       chan struct{} // closed when Run has returned
	stopRun       context.CancelFunc
	stopInformers context.CancelFunc
}

const (
	// drainTimeout is the machine's; its queue waits 1 s before the first retry, then 2, 4, …, at most a minute.
	drainTimeout = 10 * time.Second
	// settleTime is enough for a Run that polls, as cache.WaitForCacheSync does each 100 ms.
	settleTime = time.Second
)

// start makes a machine and runs it inside the caller's bubble. prepare, if not nil, may put
// things on the servers first. Resync 0 is none. The caller must call stop.
func start(t *guard.T, resync time.Duration, prepare func(*machine)) *machine {
	t.Helper()
	m := &machine{
		t:       t,
		server:  newBudgetServer(),
		running: make(chan struct{}),
		rec:     recorder.New(),
	}
	m.deployments = &recordedSource{fcache.NewFakeControllerSource(), m.rec}
	m.server.source = &recordedSource{fcache.NewFakeControllerSource(), m.rec}
	neighbour := web(inNamespace("other"), replicas(7))
	m.deployments.Add(neighbour)
	m.server.put(budgetOf(neighbour))
	m.elsewhere = m.server.others()
	if prepare != nil {
		prepare(m)
	}
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](time.Second, time.Minute)
	m.queue = m.rec.WorkQueue(below, limiter, workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{})

	byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	informer := func(
		from *recordedSource, closed *atomic.Bool, example runtime.Object, kind string,
	) cache.SharedIndexInformer {
		lw := m.rec.ListerWatcher(source{from.FakeControllerSource, closed}, kind)
		return m.rec.Informer(controller.NewSharedIndexInformerOn(m.rec.Wrap(below, kind), lw, example,
			cache.SharedIndexInformerOptions{ResyncPeriod: resync, Indexers: byNamespace}), kind)
	}
	ctx := t.Context()
	config := controller.Config{
		Deployments: informer(m.deployments, new(atomic.Bool), &appsv1.Deployment{}, recorder.Deployment),
		Budgets:     informer(m.server.source, &m.closed, &policyv1.PodDisruptionBudget{}, recorder.Budget),
		Queue:       m.queue,
		Client: func(namespace string) controller.BudgetClient {
			return m.rec.Writer(m.server.client(namespace), namespace)
		},
		Recorder:     &m.events,
		Workers:      2,
		DrainTimeout: drainTimeout,
	}
	if m.configure != nil {
		m.configure(&config)
	}
	m.drain = config.DrainTimeout
	var err error
	m.controller, err = controller.New(klog.Background(), config)
	require.NoError(t, err, "the error of New")

	informersCtx, stopInformers := context.WithCancel(ctx)
	runCtx, stopRun := context.WithCancel(ctx)
	m.stopInformers, m.stopRun = stopInformers, stopRun
	t.Did("New, the informers are started, Run")
	t.Go(func() { config.Deployments.RunWithContext(informersCtx) })
	t.Go(func() { config.Budgets.RunWithContext(informersCtx) })
	t.Go(func() {
		defer close(m.running)
		m.controller.Run(runCtx)
	})
	m.pass(settleTime)
	return m
}

// stop ends the machine. The bubble fails the test if a goroutine stays.
func (m *machine) stop() {
	m.t.Helper()
	m.stopRun()
	m.t.Did("Run's context ends, with a DrainTimeout of %v", m.drain)
	began := time.Now()
	select {
	case <-m.running:
	case <-time.After(time.Hour):
		m.t.Rule("After DrainTimeout, Run cancels the running requests and starts no other: then Run returns.")
		require.Less(m.t, time.Since(began), time.Hour, "time that Run takes to return")
	}
	m.stopInformers()
	m.deployments.Shutdown()
	m.server.source.Shutdown()
	m.t.Rule("Reconcile corrects the budget of one Deployment with at most one write: it leaves the budget of an " +
		"equal name in another namespace alone.")
	require.Equal(m.t, m.elsewhere["other/web"], m.server.others()["other/web"], "the budget other/web on the server")
}

// pass lets time pass, and waits until the machine is at rest.
func (m *machine) pass(d time.Duration) {
	m.t.Did("%v pass", d)
	time.Sleep(d)
	synctest.Wait()
}

// apply creates or changes the Deployment and waits until the machine is at rest. Time stands still.
func (m *machine) apply(deployment *appsv1.Deployment) {
	m.t.Did("the Deployment %s/%s is created or changed", deployment.Namespace, deployment.Name)
	m.deployments.Modify(deployment) // for a watcher, Modified of something new is an Add
	synctest.Wait()
}

// minAvailable returns that of the budget on the server, -1 if there is none.
func (m *machine) minAvailable() int {
	if budget := m.server.get(); budget != nil {
		return budget.Spec.MinAvailable.IntValue()
	}
	return -1
}

// then makes a change on the server, waits for rest, and requires the budget's minAvailable
// to be want, where -1 is no budget. The name of the value says when: "after a scale-up".
func (m *machine) then(change func(), want int, when string) {
	m.t.Helper()
	if change != nil {
		change()
	}
	synctest.Wait()
	got := m.minAvailable()
	if got != want {
		m.t.Story(40)
		for _, row := range m.rec.Log.Timeline("default/web", 30) {
			m.t.Did("%s", row)
		}
		m.t.See(m.save(want, got, when))
	}
	require.Equal(m.t, want, got, "minAvailable of the budget (-1 for none) %s", when)
}

// save saves what the machine has done so far, and returns the command that shows it.
func (m *machine) save(want, got int, when string) (command string) {
	if !recorder.Saves() {
		return ""
	}
	wrong := pipeline.Recording{Log: m.rec.Log, Title: m.t.Name(), Wrong: pipeline.Wrong{
		Key: "default/web", Step: m.rec.Step(), Text: fmt.Sprintf("minAvailable %s: wanted %d, got %d", when, want, got),
	}}
	command, err := recorder.Save(recorder.FileName(m.t.Name()), wrong)
	if err != nil {
		return "no recording: " + err.Error()
	}
	return command
}

// edit returns a change that a user makes to the budget default/web.
func (m *machine) edit(change func(*policyv1.PodDisruptionBudget)) func() {
	return func() {
		budget := m.server.get()
		change(budget)
		m.server.put(budget)
	}
}
