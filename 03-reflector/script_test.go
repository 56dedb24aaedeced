package reflector_test

// This file has the script: a source of lists and watches for which the test writes each answer.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/03-reflector"
	"client-go-workshop/internal/testkit/guard"
)

// script is a source for which a test writes one function for each list and each watch. After the last function, lists
// fail and watches stay open without an event.
type script struct {
	lock    sync.Mutex
	lists   []listFunc
	watches []watchFunc
	asked   []string
	options []metav1.ListOptions
	// contexts are those of the requests, in order.
	contexts []context.Context
	// onRequest is called with each request, before the answer.
	onRequest func(request string)
	pace      pace
	// started and stopped count watches.
	started, stopped int
}

type (
	listFunc  func(metav1.ListOptions) (runtime.Object, error)
	watchFunc func(metav1.ListOptions) (watch.Interface, error)
)

func (s *script) IsWatchListSemanticsUnSupported() bool { return true }

func (s *script) List(options metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), options)
}

func (s *script) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), options)
}

func (s *script) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if err := s.ask(ctx, "list@", options); err != nil {
		return nil, err
	}
	s.lock.Lock()
	if len(s.lists) == 0 {
		s.lock.Unlock()
		return nil, errors.New("no more lists in this test")
	}
	next := s.lists[0]
	s.lists = s.lists[1:]
	s.lock.Unlock()
	return next(options)
}

func (s *script) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if err := s.ask(ctx, "watch@", options); err != nil {
		return nil, err
	}
	s.lock.Lock()
	next := s.sends()
	if len(s.watches) > 0 {
		next = s.watches[0]
		s.watches = s.watches[1:]
	}
	s.lock.Unlock()
	return next(options)
}

// ask records a request. In a storm, and after 10,000 requests, a request ends with the context, and the error is that
// of the context. So a loop without a wait ends too, and the test can report its requests.
func (s *script) ask(ctx context.Context, verb string, options metav1.ListOptions) error {
	s.lock.Lock()
	onRequest := s.onRequest
	s.asked, s.options = append(s.asked, verb+options.ResourceVersion), append(s.options, options)
	s.contexts = append(s.contexts, ctx)
	number := len(s.asked)
	s.lock.Unlock()
	if s.pace.storm() || number > 10_000 {
		<-ctx.Done()
		return ctx.Err()
	}
	if onRequest != nil {
		onRequest(verb + options.ResourceVersion)
	}
	return nil
}

// requests returns the requests to the source, in order. Of more than 100 it returns the first 100 and the number of
// the others, so that the failure of a loop is short.
func (s *script) requests() []string {
	synctest.Wait()
	s.lock.Lock()
	defer s.lock.Unlock()
	requests := append([]string{}, s.asked...)
	if len(requests) > 100 {
		requests = append(requests[:100], fmt.Sprintf("%d more requests", len(s.asked)-100))
	}
	return requests
}

// left counts the watches that were started and not stopped.
func (s *script) left() int {
	synctest.Wait()
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.started - s.stopped
}

// channel makes a watch that sends these events, and then stays open.
func (s *script) channel(events ...watch.Event) *channel {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.started++
	c := &channel{script: s, result: make(chan watch.Event, 100), ended: make(chan struct{})}
	for _, e := range events {
		c.result <- e
	}
	return c
}

// ending makes a watch that sends these events, and then ends.
func (s *script) ending(events ...watch.Event) watch.Interface {
	c := s.channel(events...)
	c.end()
	return c
}

// channel is a watch. Its end and Stop close its channel, as watch.Interface demands.
type channel struct {
	script     *script
	result     chan watch.Event
	sending    sync.Mutex // held while an event is sent, and while result is closed
	ended      chan struct{}
	once, stop sync.Once
	// asked counts the calls of ResultChan, unless it is nil.
	asked *atomic.Int64
}

func (c *channel) ResultChan() <-chan watch.Event {
	if c.asked != nil {
		c.asked.Add(1)
	}
	return c.result
}

func (c *channel) Stop() {
	c.stop.Do(func() {
		c.script.lock.Lock()
		defer c.script.lock.Unlock()
		c.script.stopped++
	})
	c.end()
}

// send sends an event, unless the watch has ended.
func (c *channel) send(e watch.Event) {
	c.sending.Lock()
	defer c.sending.Unlock()
	select {
	case <-c.ended:
		return
	default:
	}
	select {
	case c.result <- e:
	case <-c.ended:
	}
}

// end closes the channel, as a server does that ends the watch.
func (c *channel) end() {
	c.once.Do(func() {
		close(c.ended)
		c.sending.Lock()
		defer c.sending.Unlock()
		close(c.result)
	})
}

// lists answers with a list of Deployments at a version.
func lists(version string, names ...string) listFunc {
	return func(metav1.ListOptions) (runtime.Object, error) {
		list := &appsv1.DeploymentList{ListMeta: metav1.ListMeta{ResourceVersion: version}}
		for _, name := range names {
			d := deployment(name)
			d.ResourceVersion = "1"
			list.Items = append(list.Items, *d)
		}
		return list, nil
	}
}

func listFails(err error) listFunc {
	return func(metav1.ListOptions) (runtime.Object, error) { return nil, err }
}

func watchFails(err error) watchFunc {
	return func(metav1.ListOptions) (watch.Interface, error) { return nil, err }
}

// sends answers with a watch that sends these events, and then stays open.
func (s *script) sends(events ...watch.Event) watchFunc {
	return func(metav1.ListOptions) (watch.Interface, error) { return s.channel(events...), nil }
}

// ends answers with a watch that sends these events, and then ends.
func (s *script) ends(events ...watch.Event) watchFunc {
	return func(metav1.ListOptions) (watch.Interface, error) { return s.ending(events...), nil }
}

func event(eventType watch.EventType, name, version string) watch.Event {
	d := deployment(name)
	d.ResourceVersion = version
	return watch.Event{Type: eventType, Object: d}
}

// newScripted makes a Reflector of Deployments on a script.
func newScripted(s *script, store cache.ReflectorStore) *reflector.Reflector {
	return newReflector(s, store)
}

// newReflector makes a Reflector of Deployments.
func newReflector(lw cache.ListerWatcher, store cache.ReflectorStore) *reflector.Reflector {
	return reflector.NewReflector(lw, &appsv1.Deployment{}, store, 0)
}

// once calls ListAndWatchWithContext on a script, with a context that ends after an hour.
func once(t *guard.T, s *script, store cache.ReflectorStore) (r *reflector.Reflector, err error) {
	r = newScripted(s, store)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	defer outlives(t, time.Hour)()
	t.Did("ListAndWatchWithContext")
	return r, r.ListAndWatchWithContext(ctx)
}

// errStops is the cause of the contexts' end. It is not an error of package context.
var errStops = errors.New("the program stops")

// runFor calls RunWithContext with a context that ends after d.
func runFor(t *guard.T, r *reflector.Reflector, d time.Duration) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), d, errStops)
	defer cancel()
	defer outlives(t, d)()
	r.RunWithContext(ctx)
}

// listAndWatchFor calls ListAndWatchWithContext with a context that ends after d.
func listAndWatchFor(t *guard.T, r *reflector.Reflector, d time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(context.WithValue(t.Context(), ofCaller{}, true), d, errStops)
	defer cancel()
	defer outlives(t, d)()
	return r.ListAndWatchWithContext(ctx)
}

// outlives sets the rule for a call that goes on although its context has ended long ago, after d. The call's end calls
// ended.
func outlives(t *guard.T, d time.Duration) (ended func() bool) {
	return time.AfterFunc(d+24*time.Hour, func() {
		t.Rule("When the context ends, every request, watch and wait ends at once.")
	}).Stop
}

// in moves an event's object to another namespace.
func in(namespace string, e watch.Event) watch.Event {
	e.Object.(*appsv1.Deployment).Namespace = namespace
	return e
}

// page answers with one page of a list at version 7, and the token of the next page.
func page(next string, names ...string) listFunc {
	return func(o metav1.ListOptions) (runtime.Object, error) {
		list, err := lists("7", names...)(o)
		list.(*appsv1.DeploymentList).Continue = next
		return list, err
	}
}

// bare is a context whose type package context does not know. So each context made from it costs a goroutine, and so
// does each context.AfterFunc, until it is cancelled. The number of goroutines counts these registrations too.
type bare struct {
	context.Context
	done <-chan struct{}
}

func (b bare) Done() <-chan struct{} { return b.done }

// newBare makes a bare context that ends with ctx.
func newBare(ctx context.Context) bare {
	done := make(chan struct{})
	context.AfterFunc(ctx, func() { close(done) })
	return bare{ctx, done}
}

// counted is a context that counts the calls of Done and Err.
type counted struct {
	context.Context
	asked *atomic.Int64
}

func (c counted) Done() <-chan struct{} { c.asked.Add(1); return c.Context.Done() }
func (c counted) Err() error            { c.asked.Add(1); return c.Context.Err() }

// requireNoLeak runs a Reflector until its source has received 110 requests of a verb. It requires that the program
// then has about as many goroutines as after 10 requests. The context has not ended at that time. It ends after a day.
func requireNoLeak(t *guard.T, s *script, r *reflector.Reflector, verb string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
	defer cancel()
	var after []int
	requests := 0
	s.onRequest = func(request string) {
		if strings.HasPrefix(request, verb) {
			requests++
		}
		if strings.HasPrefix(request, verb) && (requests == 10 || requests == 110) {
			time.Sleep(time.Nanosecond) // until all goroutines of the bubble wait
			after = append(after, guard.Goroutines())
		}
		if len(after) == 2 {
			cancel()
		}
	}
	r.RunWithContext(newBare(ctx))
	require.Len(t, after, 2, "numbers of goroutines, after 10 and after 110 requests")
	require.Less(t, after[1]-after[0], 20, "goroutines that 100 requests have added, while the context lives")
}
