package reflector_test

// This file has the script: a source of lists and watches in which the test writes each answer.

import (
	"context"
	"errors"
	"sync"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/03-reflector"
	"client-go-workshop/internal/testkit/guard"
)

// script is a source that a test writes: one function for each list and each watch to come. After the last one lists
// fail, and watches stay open without an event.
type script struct {
	lock    sync.Mutex
	lists   []listFunc
	watches []watchFunc
	asked   []string
	options []metav1.ListOptions
	// begun counts the watches that were started, stopped those that were stopped.
	begun, stopped int
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
	s.lock.Lock()
	s.asked, s.options = append(s.asked, "list@"+options.ResourceVersion), append(s.options, options)
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
	s.lock.Lock()
	s.asked, s.options = append(s.asked, "watch@"+options.ResourceVersion), append(s.options, options)
	next := s.sends()
	if len(s.watches) > 0 {
		next = s.watches[0]
		s.watches = s.watches[1:]
	}
	s.lock.Unlock()
	return next(options)
}

// requests returns the requests to the source, in order.
func (s *script) requests() []string {
	synctest.Wait()
	s.lock.Lock()
	defer s.lock.Unlock()
	return append([]string{}, s.asked...)
}

// left counts the watches that were started and not stopped.
func (s *script) left() int {
	synctest.Wait()
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.begun - s.stopped
}

// channel makes a watch that sends these events, and then stays open.
func (s *script) channel(events ...watch.Event) *channel {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.begun++
	c := &channel{script: s, result: make(chan watch.Event, 100)}
	for _, e := range events {
		c.result <- e
	}
	return c
}

// ending makes a watch that sends these events, and then ends.
func (s *script) ending(events ...watch.Event) watch.Interface {
	c := s.channel(events...)
	close(c.result)
	return c
}

type channel struct {
	script *script
	result chan watch.Event
	once   sync.Once
}

func (c *channel) ResultChan() <-chan watch.Event { return c.result }
func (c *channel) Stop() {
	c.once.Do(func() {
		c.script.lock.Lock()
		defer c.script.lock.Unlock()
		c.script.stopped++
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
	return reflector.NewReflector(s, &appsv1.Deployment{}, store, 0)
}

// once calls ListAndWatchWithContext on a script, with a context that ends after an hour.
func once(t *guard.T, s *script, store cache.ReflectorStore) (r *reflector.Reflector, err error) {
	r = newScripted(s, store)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	t.Did("ListAndWatchWithContext")
	return r, r.ListAndWatchWithContext(ctx)
}

// runFor calls RunWithContext with a context that ends after d.
func runFor(t *guard.T, r *reflector.Reflector, d time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	r.RunWithContext(ctx)
}

// listAndWatchFor calls ListAndWatchWithContext with a context that ends after d.
func listAndWatchFor(t *guard.T, r *reflector.Reflector, d time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	_ = r.ListAndWatchWithContext(ctx)
}
