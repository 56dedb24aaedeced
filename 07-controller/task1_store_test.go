package controller_test

// Task 1: from the wire to the store.

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

	controller "client-go-workshop/07-controller"
	"client-go-workshop/internal/testkit/gate"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask1_Store_has_what_the_server_has(t *testing.T) {
	guard.Test(t, "the first list fills the store", func(t *guard.T) {
		w := newWorld(t, "a", "b").run()
		require.Equal(t, []string{"a@2", "b@3"}, w.stored())
	})
}

func TestTask1_Store_follows_the_server(t *testing.T) {
	guard.Test(t, "what is created comes in by the watch", func(t *guard.T) {
		w := newWorld(t, "a", "b").run()
		w.create("c")
		require.Equal(t, []string{"a@2", "b@3", "c@4"}, w.stored())
		w.change("a")
		t.Rule("the store has the newest state of each object")
		require.Equal(t, []string{"a@5", "b@3", "c@4"}, w.stored())
		w.remove("b")
		t.Rule("what is deleted goes")
		require.Equal(t, []string{"a@5", "c@4"}, w.stored())
	})
}

func TestTask1_Store_catches_up_after_an_outage(t *testing.T) {
	guard.Test(t, "nobody will ever send these events again: a list says what there is, and what it has not got "+
		"is to be deleted", func(t *guard.T) {
		w := newWorld(t, "a", "b").run()
		w.away(func() {
			w.change("a")
			w.remove("b")
			w.create("c")
		})
		require.Equal(t, []string{"a@4", "c@6"}, w.stored())
	})
}

func TestTask1_Indexes_are_kept(t *testing.T) {
	guard.Test(t, "the store is an indexer, with the indexes of the options", func(t *guard.T) {
		w := newWorldWith(t, cache.SharedIndexInformerOptions{Indexers: cache.Indexers{"app": func(obj any) ([]string, error) {
			return []string{obj.(*appsv1.Deployment).Spec.Selector.MatchLabels["app"]}, nil
		}}}, "a", "b").run()
		found, err := w.informer.GetIndexer().ByIndex("app", "b")
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.Equal(t, "b@3", name(found[0]))
		w.remove("b")
		keys, err := w.informer.GetIndexer().IndexKeys("app", "b")
		require.NoError(t, err)
		t.Rule("a deletion goes to the indexer, and so to the indexes")
		require.Empty(t, keys)
	})
}

func TestTask1_HasSynced_when_the_store_is_full(t *testing.T) {
	guard.Test(t, "a program that believes this cache would find it empty, and make everything once more", func(t *guard.T) {
		w := newWorld(t, "a")
		source := &slowList{ListerWatcher: w.source(), answer: gate.New(t)}
		w.informer = controller.NewSharedIndexInformerOn(below, source, &appsv1.Deployment{}, cache.SharedIndexInformerOptions{})
		w.run()
		t.Did("the list is not answered yet; HasSynced")
		require.Equal(t, false, w.informer.HasSynced())
		t.Did("the list is answered; HasSynced")
		source.answer.Open()
		synctest.Wait()
		t.Rule("the first list is in the store")
		require.Equal(t, true, w.informer.HasSynced())
		t.Rule("the same question in the form that can be waited for")
		require.Equal(t, true, cache.IsDone(w.informer.HasSyncedChecker()))
	})
}

// slowList answers a list when the test says so. It cannot list by a watch.
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
	guard.Test(t, "a program in an empty namespace waits for its caches, too", func(t *guard.T) {
		w := newWorld(t).run()
		require.Equal(t, true, w.informer.HasSynced())
	})
}

func TestTask1_Deleted_and_made_anew_in_one_go(t *testing.T) {
	guard.Test(t, "the deltas of an object come together, oldest first, and no kind of them need be the last", func(t *guard.T) {
		w, door := newWorld(t, "a", "b"), gate.New(t)
		w.informer = controller.NewSharedIndexInformerOn(gate.HoldQueue(below, 2, door), w.source(), &appsv1.Deployment{}, cache.SharedIndexInformerOptions{})
		h := w.handle()
		t.Did("the queue waits with the second object of the first list")
		w.run()
		name, _, _ := strings.Cut(w.stored()[0], "@") // the first list may come in any order
		h.told()
		w.remove(name)
		w.create(name)
		w.change(name)
		t.Did("the queue goes on, with a deletion, an addition and a change of %s in one", name)
		door.Open()
		require.Subset(t, h.told(), []string{"add " + name + "@5", fmt.Sprintf("update %[1]s@5 to %[1]s@6", name)})
		require.Contains(t, w.stored(), name+"@6")
	})
}

func TestTask1_HasSynced_waits_for_the_last_object(t *testing.T) {
	guard.Test(t, "the list has come, but the store has not got all of it", func(t *guard.T) {
		w, door := held(t, "a")
		w.run()
		t.Did("the queue has handed its last object out, which is not in the store yet; HasSynced")
		require.Equal(t, false, w.informer.HasSynced())
		t.Did("the object comes into the store; HasSynced")
		door.Open()
		synctest.Wait()
		t.Rule("now it has")
		require.Equal(t, true, w.informer.HasSynced())
	})
}

func TestTask1_Never_synced_without_a_list(t *testing.T) {
	guard.Test(t, "there was no server, so there was no list", func(t *guard.T) {
		w := newWorld(t, "a")
		w.Down()
		w.run()
		w.pass(time.Hour)
		require.Equal(t, false, w.informer.HasSynced())
		t.Did("the server comes up")
		w.Up()
		w.pass(2 * time.Minute)
		t.Rule("it is tried until it works")
		require.Equal(t, true, w.informer.HasSynced())
		require.Equal(t, []string{"a@2"}, w.stored())
	})
}

func TestTask1_Ends_with_the_context(t *testing.T) {
	guard.Test(t, "RunWithContext is there for as long as its context: programs wait for it", func(t *guard.T) {
		w := newWorld(t, "a").run()
		require.Equal(t, false, isClosed(w.ended))
		before := time.Now()
		w.end()
		synctest.Wait()
		t.Rule("it ends at once, not with the next event")
		require.Zero(t, time.Since(before))
		t.Rule("its watch is stopped")
		require.Zero(t, w.Watches())
		t.Rule("it can say so")
		require.Equal(t, true, w.informer.IsStopped())
		t.Rule("the store can be read afterwards: somebody may still be at work")
		require.Equal(t, []string{"a@2"}, w.stored())
	})
}

func TestTask1_End_waits_for_an_object_on_its_way(t *testing.T) {
	guard.Test(t, "who has been told that it is over reads the store, and nothing may change it any more: wait "+
		"for the loop that pops, and do not only tell it to stop", func(t *guard.T) {
		w, door := held(t, "a")
		w.run()
		t.Did("an object is on its way into the store, and the context ends")
		w.stop()
		synctest.Wait()
		require.Equal(t, false, isClosed(w.ended))
		t.Did("the object comes into the store")
		door.Open()
		synctest.Wait()
		t.Rule("now nothing is left running, so RunWithContext returns")
		require.Equal(t, true, isClosed(w.ended))
	})
}

func TestTask1_Ends_in_the_middle_of_an_outage(t *testing.T) {
	guard.Test(t, "whatever it waits for, it does not go on without end", func(t *guard.T) {
		w := newWorld(t, "a").run()
		t.Did("the server is away for an hour")
		w.Down()
		w.pass(time.Hour)
		before := time.Now()
		w.end()
		require.LessOrEqual(t, time.Since(before), time.Minute)
	})
}

func TestTask1_Ends_before_it_began(t *testing.T) {
	guard.Test(t, "it has run, and has ended", func(t *guard.T) {
		w := newWorld(t, "a")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		t.Did("RunWithContext, with a context that has ended")
		w.informer.RunWithContext(ctx)
		require.Equal(t, true, w.informer.IsStopped())
	})
}

func TestTask1_Runs_once(t *testing.T) {
	guard.Test(t, "two at once would fill one store from two watches: the second returns (#104853)", func(t *guard.T) {
		w := newWorld(t, "a").run()
		returned := make(chan struct{})
		t.Did("RunWithContext a second time")
		t.Go(func() {
			defer close(returned)
			w.informer.RunWithContext(t.Context())
		})
		synctest.Wait()
		require.Equal(t, true, isClosed(returned))
		t.Rule("two at once would fill one store from two watches")
		require.Equal(t, 1, w.Watches())
		w.create("b")
		t.Rule("and the first goes on")
		require.Equal(t, []string{"a@2", "b@3"}, w.stored())
	})
}

func TestTask1_Runs_not_again_after_the_end(t *testing.T) {
	guard.Test(t, "its handlers are gone: an informer has one life", func(t *guard.T) {
		w := newWorld(t, "a").run()
		w.end()
		t.Did("RunWithContext again")
		w.informer.RunWithContext(t.Context())
		require.Equal(t, true, w.informer.IsStopped())
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

func TestTask1_Version_it_has_come_to(t *testing.T) {
	guard.Test(t, "there was no list", func(t *guard.T) {
		w := newWorld(t, "a", "b")
		require.Equal(t, "", w.informer.LastSyncResourceVersion())
		w.run()
		t.Rule("that of the list")
		require.Equal(t, "3", w.informer.LastSyncResourceVersion())
		w.create("c")
		t.Rule("that of the last event")
		require.Equal(t, "4", w.informer.LastSyncResourceVersion())
	})
}

func TestTask1_Object_that_an_index_function_fails_on_costs_no_other(t *testing.T) {
	guard.Test(t, "the key of what has no name", func(t *guard.T) {
		w := newWorld(t, "a").run()
		t.Did("something that is no object comes to the store")
		err := w.informer.GetStore().Add(errors.New("no object"))
		require.Error(t, err)
		w.create("b")
		t.Rule("the informer goes on")
		require.Equal(t, []string{"a@2", "b@3"}, w.stored())
	})
}

func TestTask1_Other_types_stay_outside(t *testing.T) {
	guard.Test(t, "the Reflector is told the type, and leaves out what is of another: handlers assert it", func(t *guard.T) {
		source := fcache.NewFakeControllerSource()
		t.Cleanup(source.Shutdown)
		informer := controller.NewSharedIndexInformerOn(below, noStreams{source}, &appsv1.Deployment{}, cache.SharedIndexInformerOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		t.Go(func() { informer.RunWithContext(ctx) })
		synctest.Wait()
		t.Did("a watch of Deployments brings a ReplicaSet, and then a Deployment")
		source.Add(&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "r"}})
		source.Add(deployment("a"))
		synctest.Wait()
		require.Equal(t, []string{"default/a"}, informer.GetStore().ListKeys())
	})
}

func TestTask1_Many_objects(t *testing.T) {
	guard.Test(t, "every object of the list", func(t *guard.T) {
		names := numbered(1000)
		w := newWorld(t, names...).run()
		require.Len(t, w.stored(), 1000)
		for _, name := range names[:500] {
			w.Delete(deployment(name))
		}
		t.Did("500 of 1000 are deleted")
		t.Rule("every deletion of the watch")
		require.Len(t, w.stored(), 500)
		for i := range 500 {
			_, exists, err := w.informer.GetStore().GetByKey(fmt.Sprint("default/d", i+500))
			require.NoError(t, err)
			t.Rule("d%d is still there", i+500)
			require.Equal(t, true, exists)
		}
	})
}
