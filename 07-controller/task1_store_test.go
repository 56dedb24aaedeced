package controller_test

// Task 1: from the wire to the store.

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"

	"client-go-workshop/internal/testkit/gate"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/layers"
)

func TestTask1_Store_has_what_the_server_has(t *testing.T) {
	guard.Test(t, "The first list fills the store.", func(t *guard.T) {
		w := newWorld(t, "a", "b").run()
		require.Equal(t, []string{"a@2", "b@3"}, w.stored(), "objects in the store")
	})
}

func TestTask1_Store_follows_the_server(t *testing.T) {
	guard.Test(t, "The store follows the server: it has the newest state of every object, and no deleted "+
		"object.", func(t *guard.T) {
		w := newWorld(t, "a", "b").run()
		w.create("c")
		require.Equal(t, []string{"a@2", "b@3", "c@4"}, w.stored(), "the store after c was created")
		w.change("a")
		require.Equal(t, []string{"a@5", "b@3", "c@4"}, w.stored(), "the store after a was changed")
		w.remove("b")
		require.Equal(t, []string{"a@5", "c@4"}, w.stored(), "the store after b was deleted")
	})
}

func TestTask1_Store_catches_up_after_an_outage(t *testing.T) {
	guard.Test(t, "The store follows the server: after an outage it has the objects of the new list, and no "+
		"others.", func(t *guard.T) {
		w := newWorld(t, "a", "b").run()
		w.away(func() {
			w.change("a")
			w.remove("b")
			w.create("c")
		})
		require.Equal(t, []string{"a@4", "c@6"}, w.stored(), "the store after the outage")
	})
}

func TestTask1_Indexes_are_kept(t *testing.T) {
	guard.Test(t, "The store is an indexer with the indexes of the options.", func(t *guard.T) {
		byApp := cache.Indexers{"app": func(obj any) ([]string, error) {
			return []string{obj.(*appsv1.Deployment).Spec.Selector.MatchLabels["app"]}, nil
		}}
		w := newWorldWith(t, cache.SharedIndexInformerOptions{Indexers: byApp}, "a", "b").run()
		found, err := w.informer.GetIndexer().ByIndex("app", "b")
		require.NoError(t, err, "the error of ByIndex")
		require.Len(t, found, 1, "objects under app=b")
		require.Equal(t, "b@3", name(found[0]), "the object under app=b")
		w.remove("b")
		keys, err := w.informer.GetIndexer().IndexKeys("app", "b")
		require.NoError(t, err, "the error of IndexKeys")
		t.Rule("A deletion reaches the indexer, and so its indexes.")
		require.Empty(t, keys, "keys under app=b after b was deleted")
	})
}

func TestTask1_HasSynced_when_the_store_is_full(t *testing.T) {
	guard.Test(t, "HasSynced of the informer is about the store: it is true when the store has every object of "+
		"the first list.", func(t *guard.T) {
		w := newWorld(t, "a")
		source := &slowList{ListerWatcher: w.source(), answer: gate.New(t)}
		w.informer = newInformer(below, source)
		w.run()
		t.Did("the list is not answered yet; HasSynced")
		require.False(t, w.informer.HasSynced(), "the informer has synced before the list is answered")
		t.Did("the list is answered; HasSynced")
		source.answer.Open()
		settle()
		require.True(t, w.informer.HasSynced(), "the informer has synced after the list was answered")
		require.True(t, cache.IsDone(w.informer.HasSyncedChecker()), "HasSyncedChecker is done after the list was answered")
	})
}

// slowList answers a list when the test opens the gate. It cannot list by a watch.
type slowList struct {
	cache.ListerWatcher
	answer gate.Gate
}

func (*slowList) IsWatchListSemanticsUnSupported() bool { return true }

func (s *slowList) List(options metav1.ListOptions) (runtime.Object, error) {
	s.answer.Wait()
	return s.ListerWatcher.List(options)
}

func (s *slowList) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return s.List(options)
}

func (s *slowList) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return cache.ToListerWatcherWithContext(s.ListerWatcher).WatchWithContext(ctx, options)
}

func TestTask1_Empty_list_syncs(t *testing.T) {
	guard.Test(t, "An empty first list is complete, so the informer has synced.", func(t *guard.T) {
		w := newWorld(t).run()
		require.True(t, w.informer.HasSynced(), "the informer has synced with an empty list")
	})
}

func TestTask1_HasSynced_waits_for_the_last_object(t *testing.T) {
	guard.Test(t, "HasSynced of the informer is about the store: it is true when the store has every object of "+
		"the first list.", func(t *guard.T) {
		w, door := held(t, "a")
		w.run()
		t.Did("the queue has handed its last object out, which is not in the store yet; HasSynced")
		require.False(t, w.informer.HasSynced(), "the informer has synced before its last object is in the store")
		require.False(t, cache.IsDone(w.informer.HasSyncedChecker()),
			"HasSyncedChecker is done before the last object is in the store")
		t.Did("the object comes into the store; HasSynced")
		door.Open()
		settle()
		require.True(t, w.informer.HasSynced(), "the informer has synced with every object in the store")
	})
}

func TestTask1_Never_synced_without_a_list(t *testing.T) {
	guard.Test(t, "Without a first list the informer has not synced.", func(t *guard.T) {
		w := newWorld(t, "a")
		w.Down()
		w.run()
		w.pass(time.Hour)
		require.False(t, w.informer.HasSynced(), "the informer has synced without a list")
		t.Did("the server comes up")
		w.Up()
		w.pass(2 * time.Minute)
		t.Rule("A failed list is tried again until it succeeds.")
		require.True(t, w.informer.HasSynced(), "the informer has synced after the server came up")
		require.Equal(t, []string{"a@2"}, w.stored(), "the store after the server came up")
	})
}

func TestTask1_Ends_with_the_context(t *testing.T) {
	guard.Test(t, "RunWithContext returns when its context ends, and not before. Then nothing is left "+
		"running.", func(t *guard.T) {
		w := newWorld(t, "a").run()
		require.False(t, isClosed(w.ended), "RunWithContext has returned before its context ended")
		before := time.Now()
		w.end()
		synctest.Wait()
		require.Zero(t, time.Since(before), "time that RunWithContext takes to return")
		require.Zero(t, w.Watches(), "open watches after RunWithContext returned")
		t.Rule("IsStopped reports whether the informer has run and has stopped.")
		require.True(t, w.informer.IsStopped(), "the informer is stopped after RunWithContext returned")
		t.Rule("The store can be read after the end.")
		require.Equal(t, []string{"a@2"}, w.stored(), "the store after the end")
	})
}

func TestTask1_End_waits_for_an_object_on_its_way(t *testing.T) {
	for title, over := range guard.InOrder(map[string]func(t *guard.T) func(layers.Layers) layers.Layers{
		"which completes the first list": func(*guard.T) func(layers.Layers) layers.Layers {
			return func(below layers.Layers) layers.Layers { return below }
		},
		"of a list that is not complete": func(t *guard.T) func(layers.Layers) layers.Layers {
			return lateSynced{door: gate.New(t)}.under
		},
	}) {
		t.Run(title, func(t *testing.T) {
			guard.Test(t, "When RunWithContext returns, nothing is left running: it waits for the delta in "+
				"progress.", func(t *guard.T) {
				w, door := heldOver(t, over(t), "a")
				w.run()
				t.Did("an object is on its way into the store, and the context ends")
				w.stop()
				synctest.Wait()
				require.False(t, isClosed(w.ended), "RunWithContext has returned with an object on its way into the store")
				require.False(t, w.informer.IsStopped(), "the informer is stopped with an object on its way into the store")
				t.Did("the object comes into the store")
				door.Open()
				settle()
				require.True(t, isClosed(w.ended), "RunWithContext has returned after the object came into the store")
			})
		})
	}
}

func TestTask1_End_waits_for_the_queues_answer(t *testing.T) {
	guard.Test(t, "When RunWithContext returns, nothing is left running: no goroutine is still in a call of the "+
		"queue.", func(t *guard.T) {
		w, queue := newWorld(t, "a"), &slowAnswer{door: gate.New(t)}
		w.informer = newInformer(queue.under(below), w.source())
		w.run()
		t.Did("the queue is asked whether it has synced, and does not answer; the context ends")
		w.stop()
		synctest.Wait()
		require.False(t, queue.asked && isClosed(w.ended), "RunWithContext has returned during a call of HasSynced")
		t.Did("the queue answers")
		queue.door.Open()
		settle()
		require.True(t, isClosed(w.ended), "RunWithContext has returned after the queue has answered")
	})
}

func TestTask1_Ends_before_it_began(t *testing.T) {
	guard.Test(t, "RunWithContext returns when its context ends: here it has ended before the "+
		"call.", func(t *guard.T) {
		w := newWorld(t, "a")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		t.Rule("IsStopped reports whether the informer has run and has stopped.")
		t.Did("a new informer, before RunWithContext")
		require.False(t, w.informer.IsStopped(), "the informer is stopped before it has run")
		t.Rule("RunWithContext returns when its context ends: here it has ended before the call.")
		t.Did("RunWithContext, with a context that has ended")
		w.informer.RunWithContext(ctx)
		require.True(t, w.informer.IsStopped(), "the informer is stopped")
		t.Rule("HasSynced of the informer is about the store: it is true when the store has every object of the first list.")
		require.False(t, w.informer.HasSynced(), "the informer has synced without a list")
	})
}

func TestTask1_Runs_once(t *testing.T) {
	guard.Apart(t, "A second RunWithContext returns and changes nothing: otherwise two watches would fill one "+
		"store (#104853).", func(t *guard.T) {
		w, slow, mixed := newWorld(t, "a"), &pausingIndexer{t: t}, below
		returned := make(chan struct{}, 2)
		again := func() {
			t.Did("another RunWithContext")
			w.informer.RunWithContext(t.Context())
			returned <- struct{}{}
		}
		slow.change = again
		mixed.NewDeltaFIFO = func(options cache.DeltaFIFOOptions) cache.Queue {
			slow.pause(&slow.change) // another call of RunWithContext, while the first one makes its parts
			return below.NewDeltaFIFO(options)
		}
		w.informer = newInformer(mixed, w.source())
		w.run()
		t.Go(again)
		if synctest.Wait(); slow.change != nil { // the informer does not take the layers that it is given, as client-go's
			again()
		}
		require.Len(t, returned, 2, "other calls of RunWithContext that have returned")
		require.Equal(t, 1, w.Watches(), "open watches")
		w.create("b")
		t.Rule("A second RunWithContext returns and changes nothing: the first continues.")
		require.Equal(t, []string{"a@2", "b@3"}, w.stored(), "the store after b was created")
	})
}

func TestTask1_Runs_not_again_after_the_end(t *testing.T) {
	guard.Test(t, "A second RunWithContext returns and changes nothing: a stopped informer does not run "+
		"again.", func(t *guard.T) {
		w := newWorld(t, "a").run()
		w.end()
		t.Did("RunWithContext again")
		w.informer.RunWithContext(t.Context())
		require.True(t, w.informer.IsStopped(), "the informer is stopped after the 2nd RunWithContext")
	})
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func TestTask1_Version_it_has_reached(t *testing.T) {
	guard.Test(t, "LastSyncResourceVersion returns the version that the Reflector has reached. It is empty "+
		"before the first list.", func(t *guard.T) {
		w := newWorld(t, "a", "b")
		require.Equal(t, "", w.informer.LastSyncResourceVersion(), "LastSyncResourceVersion before the first list")
		w.run()
		require.Equal(t, "3", w.informer.LastSyncResourceVersion(), "LastSyncResourceVersion after the list")
		w.create("c")
		require.Equal(t, "4", w.informer.LastSyncResourceVersion(), "LastSyncResourceVersion after an event")
		w.end()
		require.Equal(t, "4", w.informer.LastSyncResourceVersion(), "LastSyncResourceVersion after the end")
	})
}

func TestTask1_Other_types_stay_outside(t *testing.T) {
	guard.Test(t, "Only objects of the informer's type reach the store, because handlers assert that "+
		"type.", func(t *guard.T) {
		source := fcache.NewFakeControllerSource()
		t.Cleanup(source.Shutdown)
		informer := newInformer(below, noStreams{source})
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		t.Go(func() { informer.RunWithContext(ctx) })
		synctest.Wait()
		t.Did("a watch of Deployments brings a ReplicaSet, and then a Deployment")
		source.Add(&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "r"}})
		source.Add(deployment("a"))
		synctest.Wait()
		require.Equal(t, []string{"default/a"}, informer.GetStore().ListKeys(), "keys in the store")
	})
}
