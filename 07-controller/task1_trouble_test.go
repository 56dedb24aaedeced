package controller_test

// Task 1: errors, panics, outages, equal names in two namespaces, and versions without an order.

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

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
				for range 20 {
					w.create("bad")
					w.change("bad")
					w.remove("bad")
				}
				t.Did("all of this 20 times: each time, %s of the indexer fails for bad", method)
				w.create("b")
				w.change("a")
				require.Subset(t, w.stored(), []string{"a@64", "b@63"}, "the store, of the other objects")
				if store.failed > 0 { // not if the informer does not take the layers that it is given, as client-go's
					require.Len(t, *reported, store.failed, "errors that were reported")
					require.ErrorContains(t, (*reported)[0], "on fire", "the 1st error that was reported")
				}
			})
		})
	}
}

func TestTask1_Equal_names_in_two_namespaces(t *testing.T) {
	guard.Test(t, "The store follows the server: equal names in two namespaces are two objects.", func(t *guard.T) {
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
		goroutines, waiting := guard.Goroutines(), ctx.add(0)
		t.Did("one outage, and then twenty more")
		for range 20 {
			outage()
		}
		w.create("b")
		require.Equal(t, []string{"a@23", "b@24"}, w.stored(), "the store after the outages")
		require.LessOrEqual(t, guard.Goroutines()-goroutines, 5, "goroutines that twenty outages have added")
		require.LessOrEqual(t, ctx.add(0)-waiting, 5, "functions that wait for the end of the context")
	})
}

func TestTask1_Panic_concerns_one_object(t *testing.T) {
	guard.Apart(t, "If utilruntime.ReallyCrash is off, the informer continues a second after a panic, here of an index "+
		"function.", func(t *guard.T) {
		reported := 0
		defer replace(&utilruntime.ReallyCrash, false)()
		defer replace(&utilruntime.PanicHandlers, []func(context.Context, any){
			func(context.Context, any) { reported++ },
		})()
		indexers := cache.Indexers{"bad": func(obj any) ([]string, error) {
			if obj.(*appsv1.Deployment).Name == "bad" {
				panic("a bug in an index function")
			}
			return nil, nil
		}}
		w := newWorldWith(t, cache.SharedIndexInformerOptions{Indexers: indexers}, "a").run()
		t.Did("an index function panics at bad")
		for range 3 {
			before := w.stored()
			w.create("bad")
			w.change("a")
			w.pass(900 * time.Millisecond)
			require.Contains(t, w.stored(), before[0], "the store less than a second after the panic")
			w.pass(200 * time.Millisecond)
			require.NotContains(t, w.stored(), before[0], "the store more than a second after the panic")
			w.pass(2 * time.Second)
			w.remove("bad")
			w.pass(2 * time.Second)
		}
		w.create("b")
		require.Subset(t, w.stored(), []string{"a@10", "b@12"}, "the store, of the other objects")
		t.Rule("A panic is reported to utilruntime.")
		require.GreaterOrEqual(t, reported, 3, "panics that were reported")
	})
}

func TestTask1_Panic_ends_the_program(t *testing.T) {
	guard.Crash(t, "A panic is reported to utilruntime, which ends the program unless ReallyCrash is off: a program that "+
		"goes on has a store that no longer follows the server.", "a bug in an index function", func(t *guard.T) {
		indexers := cache.Indexers{"bad": func(obj any) ([]string, error) {
			if obj.(*appsv1.Deployment).Name == "bad" {
				panic("a bug in an index function")
			}
			return nil, nil
		}}
		w := newWorldWith(t, cache.SharedIndexInformerOptions{Indexers: indexers}, "a")
		t.Did("RunWithContext")
		go w.informer.RunWithContext(t.Context())
		settle()
		t.Did("an index function panics at bad")
		w.create("bad")
		w.pass(time.Minute)
	})
}

// scripted is a server whose list and events the test chooses, with their versions. It cannot list by a watch.
type scripted struct {
	list   *appsv1.DeploymentList
	events *watch.RaceFreeFakeWatcher
}

func (*scripted) IsWatchListSemanticsUnSupported() bool { return true }

func (s *scripted) List(metav1.ListOptions) (runtime.Object, error) { return s.list, nil }

func (s *scripted) Watch(metav1.ListOptions) (watch.Interface, error) {
	s.events = watch.NewRaceFreeFake()
	return s.events, nil
}

// answer sets the list: one Deployment a of this version and generation.
func (s *scripted) answer(version string, generation int64) {
	s.list = &appsv1.DeploymentList{ListMeta: metav1.ListMeta{ResourceVersion: version},
		Items: []appsv1.Deployment{*generationOf(version, generation)}}
}

// relist ends the watch, so that a list follows.
func (s *scripted) relist(w *world) {
	s.events.Error(&apierrors.NewResourceExpired("too old").ErrStatus)
	w.pass(2 * time.Minute)
}

// generationOf returns a Deployment a of this version and generation.
func generationOf(version string, generation int64) *appsv1.Deployment {
	d := deployment("a")
	d.ResourceVersion, d.Generation = version, generation
	return d
}

func TestTask1_Versions_have_no_order(t *testing.T) {
	guard.Test(t, "The store follows the server, and assumes nothing about versions: they are smaller after a backup is "+
		"restored, and some servers of additional APIs send none.", func(t *guard.T) {
		w, source := newWorld(t), &scripted{}
		source.answer("10", 1)
		w.informer = newInformer(below, source)
		w.run()
		require.Equal(t, []string{"a@10"}, w.stored(), "the store after the list at version 10")
		generation := int64(1)
		requireStored := func(version, when string) {
			t.Helper()
			require.Equal(t, []string{"a@" + version}, w.stored(), "the store after %s", when)
			require.Equal(t, generation, w.informer.GetStore().List()[0].(*appsv1.Deployment).Generation,
				"the generation of a in the store after %s", when)
		}
		for _, version := range []string{"9", "8", "", "", "9"} {
			generation++
			t.Did("an event: a has version %q and generation %d", version, generation)
			source.events.Modify(generationOf(version, generation))
			requireStored(version, "an event")
		}
		for _, version := range []string{"8", "7", "", "", "8"} {
			generation++
			t.Did("a list: a has version %q and generation %d", version, generation)
			source.answer(version, generation)
			source.relist(w)
			requireStored(version, "a list")
		}
	})
}
