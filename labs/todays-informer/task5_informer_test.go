package todaysinformer_test

// Task 5: the informer of chapter 07, on the new queue.

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask5_Order_between_objects(t *testing.T) {
	guard.Test(t, "Changes are processed in the order of arrival, between objects, too. A DeltaFIFO collects the changes "+
		"of an object, so a@8 would come before b@7.", func(t *guard.T) {
		w := newWorld(t, "a", "b", "z")
		h, _ := w.handle()
		w.run()
		h.take()
		door := w.hold("z")
		w.change("z", "a", "b", "a", "b")
		t.Did("z is in the store")
		door.Open()
		require.Equal(t, []string{
			"update z@4 to z@5", "update a@2 to a@6", "update b@3 to b@7", "update a@6 to a@8", "update b@7 to b@9",
		}, h.take(), "the handler's calls")
	})
}

func TestTask5_List_reaches_handlers_as_a_whole(t *testing.T) {
	guard.Test(t, "For readers of the store a list is one step: they see the old content or the new one, and never half a "+
		"list. So no handler is called in the middle of a list.", func(t *guard.T) {
		w := newWorld(t, "a", "b", "c")
		h, _ := w.handle()
		w.run()
		h.take()
		door := w.holdAllButOne() // a streamed list may come in any order
		w.away(func() { w.change("a", "b", "c") })
		require.Empty(t, h.take(), "the handler's calls while the list comes into the store")
		t.Did("all objects are in the store")
		door.Open()
		notes := h.take()
		slices.Sort(notes)
		require.Equal(t, []string{"update a@2 to a@5", "update b@3 to b@6", "update c@4 to c@7"}, notes,
			"the handler's calls")
	})
}

func TestTask5_Not_synced_behind_the_list(t *testing.T) {
	guard.Test(t, "HasSynced does not become true before the first list has been processed: a store that is behind the "+
		"list has not synced.", func(t *guard.T) {
		w := newWorld(t, "a", "b")
		_, registration := w.handle()
		door := w.hold("b")
		w.run()
		w.pass(time.Minute)
		require.False(t, w.informer.HasSynced(), "the informer has synced before b is in the store")
		require.False(t, registration.HasSynced(), "the registration has synced before b is in the store")
		t.Did("b is in the store")
		door.Open()
		w.pass(time.Second)
		require.True(t, w.informer.HasSynced(), "the informer has synced after the list")
		require.True(t, registration.HasSynced(), "the registration has synced after the list")
	})
}

func TestTask5_Streamed_objects_are_transformed_twice(t *testing.T) {
	guard.Test(t, "A Reflector finds the transformer in the queue, so an object of a streamed list goes through it "+
		"twice: when it arrives, and with the list. So a transformer must accept its own result.", func(t *guard.T) {
		w := newWorld(t, "a", "b")
		var lock sync.Mutex
		times := map[string]int{}
		require.NoError(t, w.informer.SetTransform(func(obj any) (any, error) {
			lock.Lock()
			defer lock.Unlock()
			times[name(obj)]++
			return obj, nil
		}), "the error of SetTransform")
		w.run()
		w.change("a")
		synctest.Wait()
		lock.Lock()
		defer lock.Unlock()
		require.Equal(t, map[string]int{"a@2": 2, "b@3": 2, "a@4": 1}, times,
			"calls of the transformer: two objects of the first list, and one event")
	})
}

func TestTask5_Deletions_are_found_after_an_outage(t *testing.T) {
	guard.Test(t, "The consumer finds the deletions that no watch has reported, because the queue does not know the "+
		"store.", func(t *guard.T) {
		w := newWorld(t, "a", "b")
		h, _ := w.handle()
		w.run()
		h.take()
		w.away(func() {
			t.Did("a is deleted, c is created")
			w.Delete(deployment("a"))
			w.Create(deployment("c"))
		})
		notes := h.take()
		require.NotEmpty(t, notes, "the handler's calls after the outage")
		slices.Sort(notes[1:]) // a streamed list may come in any order
		require.Equal(t, []string{"tombstone of default/a, last a@2", "add c@5", "again b@3"}, notes,
			"the handler's calls after the outage")
	})
}

func TestTask5_Resync_comes_from_the_store(t *testing.T) {
	guard.Test(t, "A SyncAll is an update of each stored object to itself, and does not write to the store. No request "+
		"goes to the server.", func(t *guard.T) {
		w := newWorldWith(t, cache.SharedIndexInformerOptions{ResyncPeriod: time.Minute}, "a", "z")
		h, _ := w.handle()
		w.run()
		w.change("a")
		h.take()
		requests := len(w.Requests(""))
		t.Did("a minute passes")
		w.pass(time.Minute)
		notes := h.take()
		slices.Sort(notes)
		require.Equal(t, []string{"again a@4", "again z@3"}, notes, "the handler's calls for the resync")
		require.Len(t, w.Requests(""), requests, "requests to the server")
	})
}

func TestTask5_Bookmark_moves_the_version_of_the_store(t *testing.T) {
	guard.Test(t, "The queue passes bookmarks on to the consumer: a controller can see that its cache has reached a "+
		"version, though no Deployment changed.", func(t *guard.T) {
		w := newWorld(t, "a")
		w.run()
		require.Equal(t, "2", w.informer.GetStore().LastStoreSyncResourceVersion(), "the store's version after the list")
		t.Did("a budget is created; the server sends a bookmark")
		w.Create(&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
		w.SendBookmarks()
		synctest.Wait()
		require.Equal(t, "3", w.informer.GetStore().LastStoreSyncResourceVersion(), "the store's version after the bookmark")
	})
}
