package controller_test

// Task 1: errors, outages, and equal names in two namespaces.

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/layers/clientgo"
)

func TestTask1_Stands_on_client_gos_queue(t *testing.T) {
	guard.Test(t, "The store follows the server, whatever queue is below: client-go's DeltaFIFO holds its lock while it "+
		"processes an item, so HasSynced waits there until that is over.", func(t *guard.T) {
		w, mixed := newWorld(t, "a"), below
		mixed.NewDeltaFIFO = clientgo.Layers.NewDeltaFIFO
		w.informer = newInformer(mixed, w.source())
		w.run()
		require.True(t, w.informer.HasSynced(), "the informer has synced")
		w.create("b")
		require.Equal(t, []string{"a@2", "b@3"}, w.stored(), "the store after b was created")
	})
}

// reports collects the errors that are reported to utilruntime while the test runs.
func reports(t *guard.T) *[]error {
	var lock sync.Mutex
	reported, handlers := &[]error{}, utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(_ context.Context, err error, _ string, _ ...any) {
		lock.Lock()
		defer lock.Unlock()
		*reported = append(*reported, err)
	}}
	t.Cleanup(func() { utilruntime.ErrorHandlers = handlers })
	return reported
}

func TestTask1_Error_concerns_one_object(t *testing.T) {
	for _, method := range []string{"Get", "Add", "Update", "Delete"} {
		t.Run(method, func(t *testing.T) {
			guard.Test(t, "An error concerns one object only: it is reported to utilruntime, and the "+
				"informer continues with the others.", func(t *guard.T) {
				reported := reports(t)
				w := newWorld(t, "a")
				store := &failingIndexer{method: method}
				w.informer = newInformer(store.under(below), w.source())
				w.run()
				t.Did("%s of the indexer fails for one object", method)
				w.create("bad")
				w.change("bad")
				w.remove("bad")
				w.create("b")
				w.change("a")
				require.Subset(t, w.stored(), []string{"a@7", "b@6"}, "the store, of the other objects")
				if store.failed > 0 { // not if the informer does not take the layers that it is given, as client-go's
					require.NotEmpty(t, *reported, "errors that were reported")
					require.ErrorContains(t, (*reported)[0], "on fire", "the 1st error that was reported")
				}
			})
		})
	}
}

func TestTask1_Equal_names_in_two_namespaces(t *testing.T) {
	guard.Test(t, "The store follows the server: objects of one name in two namespaces are two objects.", func(t *guard.T) {
		w := newWorld(t, "a")
		w.Create(in("prod", deployment("a")), in("prod", deployment("b")))
		w.run()
		require.Equal(t, []string{"a@2", "prod/a@3", "prod/b@4"}, w.stored(), "the store after the list")
		w.create("b")
		w.remove("a")
		require.Equal(t, []string{"b@5", "prod/a@3", "prod/b@4"}, w.stored(), "the store after default/a was deleted")
		w.away(func() {
			w.remove("b")
			w.create("a")
		})
		require.Equal(t, []string{"a@8", "prod/a@3", "prod/b@4"}, w.stored(), "the store after the outage")
	})
}

// registrations is a context that counts what waits for its end by context.AfterFunc, as contexts made from it do. It
// has a channel of its own: package context would look through it otherwise.
type registrations struct {
	context.Context
	done  chan struct{}
	lock  sync.Mutex
	count int
}

func newRegistrations(ctx context.Context) *registrations {
	r := &registrations{Context: ctx, done: make(chan struct{})}
	context.AfterFunc(ctx, func() { close(r.done) })
	return r
}

func (r *registrations) Done() <-chan struct{} { return r.done }

func (r *registrations) AfterFunc(f func()) (stop func() bool) {
	r.add(1)
	over := sync.OnceFunc(func() { r.add(-1) })
	unregister := context.AfterFunc(r.Context, func() {
		over()
		f()
	})
	return func() bool {
		over()
		return unregister()
	}
}

func (r *registrations) add(n int) int {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.count += n
	return r.count
}

func TestTask1_Outages_leave_nothing_behind(t *testing.T) {
	guard.Test(t, "The store follows the server for weeks: an outage leaves no goroutine behind, and no function "+
		"that waits for the end of the context.", func(t *guard.T) {
		w := newWorld(t, "a")
		inner, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		ctx := newRegistrations(inner)
		t.Go(func() { w.informer.RunWithContext(ctx) })
		settle()
		outage := func() { w.away(func() { w.change("a") }) }
		outage()
		goroutines, waiting := runtime.NumGoroutine(), ctx.add(0)
		t.Did("one outage, and then twenty more")
		for range 20 {
			outage()
		}
		w.create("b")
		require.Equal(t, []string{"a@23", "b@24"}, w.stored(), "the store after the outages")
		require.LessOrEqual(t, runtime.NumGoroutine()-goroutines, 5, "goroutines that twenty outages have added")
		require.LessOrEqual(t, ctx.add(0)-waiting, 5, "functions that wait for the end of the context, added by twenty outages")
	})
}
