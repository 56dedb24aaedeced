package deltafifo_test

// Task 5: Resync, and the lock. Close is in task5_shutdown_test.go.

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	deltafifo "client-go-workshop/04-deltafifo"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask5_Resync_records_every_known_object(t *testing.T) {
	guard.Test(t, "Resync records a Sync for every known object without pending deltas, in any order. Objects of "+
		"the same name in two namespaces are two objects.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("blue/a@1", "blue/b@2", "green/a@3")})
		require.NoError(t, q.Update(deploy("blue/b@4")), "the error of Update")
		require.NoError(t, q.Resync(), "the error of Resync")
		require.ElementsMatch(t,
			[]string{"blue/b: Updated @4", "blue/a: Sync @1", "green/a: Sync @3"}, q.drain(),
			"all popped deltas")

		known := storeOf()
		q = newQueue(t, options{KnownObjects: known})
		for i := range 1_001 {
			known.objs[fmt.Sprintf("default/%d", i)] = deploy(fmt.Sprintf("default/%d@1", i))
			require.NoError(t, q.Queue.Add(deploy(fmt.Sprintf("default/new-%d@2", i))), "the error of Add")
		}
		t.Did("1001 objects are known, and 1001 others pending")
		require.NoError(t, q.Resync(), "the error of Resync")
		require.Equal(t, 2*1_001, len(q.drain()), "keys popped after Resync")
	})
}

func TestTask5_Resync_wakes_as_many_Pops_as_there_are_keys(t *testing.T) {
	guard.Test(t, "Each new key wakes one Pop, and Close wakes all. Resync wakes one for each Sync that it "+
		"records.",
		func(t *guard.T) {
			q := newQueue(t, options{KnownObjects: storeOf("default/a@1", "default/b@2", "default/c@3")})
			left := 3
			for range 3 {
				t.Go(func() {
					_, _ = q.Pop(func(any, bool) error { left--; return nil })
				})
			}
			t.Did("three Pops wait")
			synctest.Wait()
			require.NoError(t, q.Resync(), "the error of Resync")
			synctest.Wait()
			require.Equal(t, 0, left, "Pops that still wait")
		})
}

func TestTask5_Resync_leaves_out_pending_objects(t *testing.T) {
	guard.Test(t, "No delta is popped after a newer one of its object. Resync leaves out an object with pending "+
		"deltas, because a Sync behind them could bring a deleted object back (#32125).", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/a@1", "default/b@2", "default/c@3")})
		require.NoError(t, q.Update(deploy("default/a@5")), "the error of Update")
		require.NoError(t, q.Delete(deploy("default/b@6")), "the error of Delete")
		require.NoError(t, q.Resync(), "the error of Resync")
		require.Equal(t,
			[]string{"default/a: Updated @5", "default/b: Deleted @6", "default/c: Sync @3"}, q.drain(),
			"all popped deltas, in order")
		checkResyncInFirstList(t, func(known *store) recordedQueue {
			return newQueue(t, options{KnownObjects: known})
		})
	})
}

// checkResyncInFirstList requires a Sync for an object that has been popped, while the first list has another one.
func checkResyncInFirstList(t *guard.T, queue func(known *store) recordedQueue) {
	t.Helper()
	t.Story(8)
	known := storeOf()
	q := queue(known)
	require.NoError(t, q.Replace(deploys("default/a@1", "default/b@2"), "2"), "the error of the first Replace")
	q.pop()
	t.Did("the store takes default/a")
	known.objs["default/a"] = deploy("default/a@1")
	require.NoError(t, q.Resync(), "the error of Resync")
	t.Rule("Resync records a Sync for every known object without pending deltas, in any order. Others of the first " +
		"list may be pending.")
	require.Equal(t, []string{"default/b: Replaced @2", "default/a: Sync @1"}, q.drain(), "all popped deltas, in order")
}

func TestTask5_Resync_before_the_first_list_means_nothing(t *testing.T) {
	guard.Test(t, "A Resync is not an event: HasSynced does not become true. A Resync does not come from the "+
		"server, and the Replace after it is the first list.", func(t *guard.T) {
		for before := range 3 { // keys that are popped before the list
			t.Story(8)
			known := storeOf("ns/a@1", "ns/b@1", "ns/c@1", "ns/d@1", "ns/e@1")
			q := newQueue(t, options{KnownObjects: known})
			require.NoError(t, q.Resync(), "the error of Resync")
			var popped []string // Resync records its Syncs in any order
			for range before {
				key, _, _ := strings.Cut(q.pop(), ":")
				popped = append(popped, key)
			}
			pending := slices.DeleteFunc(known.ListKeys(), func(key string) bool { return slices.Contains(popped, key) })
			lost := pending[len(pending)-1] // its Sync is pending, so it is in the queue after Replace
			t.Did("the store loses %s", lost)
			delete(known.objs, lost)
			t.Rule("A Resync is not an event: HasSynced does not become true.")
			require.False(t, q.HasSynced(), "the queue has synced after a Resync alone")
			require.NoError(t, q.Replace(deploys("ns/new@2"), "7"), "the error of Replace")
			for i := range 6 {
				t.Rule("HasSynced reports whether every key that was in the queue after the first Replace, deletions " +
					"included, has been popped and processed. A key that was pending before Replace counts too.")
				require.False(t, q.HasSynced(), "the queue has synced after %d of 6 keys were popped", i)
				q.pop()
			}
			require.True(t, q.HasSynced(), "the queue has synced after all 6 keys were popped")
		}
		for _, call := range []func(q recordedQueue, obj any) error{
			recordedQueue.Add, recordedQueue.Update, recordedQueue.Delete,
		} {
			t.Story(8)
			q := newQueue(t, options{KnownObjects: storeOf("ns/a@1")})
			require.NoError(t, q.Resync(), "the error of Resync")
			require.NoError(t, call(q, deploy("ns/a@2")), "the error of the first event")
			t.Rule("If Add, Update or Delete is called before any Replace, HasSynced is true from then on. It does not " +
				"matter whether a Sync is pending.")
			require.True(t, q.HasSynced(), "the queue has synced after the first event")
		}
	})
}

func TestTask5_Resync_twice_is_once(t *testing.T) {
	guard.Test(t, "Resync records a Sync for every known object without pending deltas, in any order. A pending "+
		"Sync is a delta too. Otherwise a consumer that is slower than the resync period falls behind "+
		"forever.", func(t *guard.T) {
		q := newQueue(t, options{KnownObjects: storeOf("default/a@1")})
		require.NoError(t, q.Resync(), "the error of the 1st Resync")
		require.NoError(t, q.Resync(), "the error of the 2nd Resync")
		require.Equal(t, []string{"default/a: Sync @1"}, q.drain(), "all popped deltas")
	})
}

func TestTask5_Resync_does_not_look_through_all_keys(t *testing.T) {
	// A process of its own has no other test beside it, whose work would count.
	guard.Race(t, "Resync does a fixed amount of work for each key that is pending or known. A search through a slice gets "+
		"slower with each key in it.", func(t *guard.T) {
		requireQuickCall(t, "Resync", func(known *store) cache.Queue {
			return deltafifo.NewDeltaFIFOWithOptions(options{KnownObjects: known, KeyFunction: ownKey})
		}, func(q cache.Queue, _ []any) { _ = q.Resync() })
	})
}

func TestTask5_Resync_does_not_transform(t *testing.T) {
	guard.Test(t, "The Sync carries the known object itself, which does not go through the transformer again. "+
		"Other goroutines read it, so a transformer that writes to it is a data race "+
		"(#124337).", func(t *guard.T) {
		known := storeOf("default/a@1")
		q := newQueue(t, options{KnownObjects: known, Transformer: transformed})
		require.NoError(t, q.Resync(), "the error of Resync")
		require.Equal(t, "default/a: Sync @1", q.pop(), "the popped deltas")
		require.NoError(t, q.Resync(), "the error of the 2nd Resync")
		objects := q.pendingObjects()
		require.Len(t, objects, 1, "objects of all popped deltas")
		require.Same(t, known.objs["default/a"], objects[0], "the object of the Sync")
	})
}

func TestTask5_Popped_resync_can_be_collected(t *testing.T) {
	guard.Test(t, "The queue keeps nothing of a popped key. After a Resync, too, its object can be collected while other "+
		"keys wait.", func(t *guard.T) {
		known := storeOf("default/a@1", "default/b@2", "default/c@3")
		q := newQueue(t, options{KnownObjects: known})
		require.NoError(t, q.Resync(), "the error of Resync")
		var popped []weak.Pointer[appsv1.Deployment]
		for range 2 {
			t.Did("Pop, and delete the object from the store")
			_, err := q.Pop(func(obj any, _ bool) error {
				d := obj.(cache.Deltas)[0].Object.(*appsv1.Deployment)
				popped = append(popped, weak.Make(d))
				delete(known.objs, d.Namespace+"/"+d.Name)
				return nil
			})
			require.NoError(t, err, "the error of Pop")
		}
		requireCollected(t, popped...)
		runtime.KeepAlive(q)
	})
}

func TestTask5_Resync_without_known_objects_does_nothing(t *testing.T) {
	guard.Test(t, "Without known objects (nil) Resync does nothing.", func(t *guard.T) {
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
		q.pop()
		require.NoError(t, q.Resync(), "the error of Resync")
		require.Empty(t, q.drain(), "all deltas popped after Resync")
		t.Rule("A Resync is not an event: HasSynced does not become true.")
		q = newQueue(t, options{})
		require.NoError(t, q.Resync(), "the error of Resync")
		require.False(t, q.HasSynced(), "the queue has synced after a Resync alone")
	})
}

func TestTask5_Resync_leaves_out_objects_that_cannot_be_found(t *testing.T) {
	guard.Test(t, "A known object that cannot be found is left out, and Resync returns nil. If Resync fails, the "+
		"Reflector ends its watch.", func(t *guard.T) {
		known := storeOf("default/a@1", "default/broken@2", "default/c@3")
		known.broken["default/broken"] = errLookup
		known.ghosts = []string{"default/ghost"}
		q := newQueue(t, options{KnownObjects: known})
		require.NoError(t, q.Resync(), "the error of Resync")
		require.ElementsMatch(t, []string{"default/a: Sync @1", "default/c: Sync @3"}, q.drain(),
			"all popped deltas")
	})
}

func TestTask5_Process_always_runs_under_the_lock(t *testing.T) {
	guard.Test(t, "process runs under the queue's lock. That is true for every change, before and after the first "+
		"list, and in a closed queue.", func(t *guard.T) {
		for _, change := range []string{"Update", "Delete", "Replace", "Replace without it", "Resync"} {
			for _, phase := range []string{"before the first list", "after the first list", "after Close"} {
				t.Story(8)
				known := storeOf()
				q := newQueue(t, options{KnownObjects: known})
				if phase == "after the first list" {
					require.NoError(t, q.Replace(nil, "1"), "the error of the first Replace")
				}
				known.objs["default/a"] = deploy("default/a@1")
				t.Did("the known objects are now [%s]", known)
				var err error
				switch change {
				case "Update":
					err = q.Update(deploy("default/a@2"))
				case "Delete":
					err = q.Delete(deploy("default/a@2"))
				case "Replace":
					err = q.Replace(deploys("default/a@2"), "2")
				case "Replace without it":
					err = q.Replace(nil, "2")
				case "Resync":
					err = q.Resync()
				}
				require.NoError(t, err, "the error of %s", change)
				if phase == "after Close" {
					q.Close()
				}
				t.Did("Pop; while process runs, Add default/b on another goroutine")
				early := false
				_, err = q.Pop(func(any, bool) error {
					early = meanwhile(t, func() { _ = q.Queue.Add(deploy("default/b@3")) })
					return nil
				})
				require.NoError(t, err, "the error of Pop")
				synctest.Wait()
				require.False(t, early, "Add returned while process was running, for %s %s", change, phase)
			}
		}
	})
}

func TestTask5_Calls_that_compare_wait_for_process(t *testing.T) {
	guard.Test(t, "The consumer works under the queue's lock, so no call sees the moment in which an object is "+
		"neither in the queue nor in the store. Delete, Replace and Resync wait for it.", func(t *guard.T) {
		checkComparingCalls(t, func(known *store) recordedQueue {
			return newQueue(t, options{KnownObjects: known})
		})
	})
}

// checkComparingCalls requires that the calls that compare with the known objects see them as process leaves them.
func checkComparingCalls(t *guard.T, new func(known *store) recordedQueue) {
	t.Helper()
	for _, c := range []struct {
		name string
		call func(q recordedQueue) error
		want string
	}{
		{
			"Delete", func(q recordedQueue) error { return q.Delete(deploy("default/a@2")) },
			"default/a: Deleted @2",
		},
		{
			"Replace", func(q recordedQueue) error { return q.Replace(nil, "7") },
			"default/a: Deleted tombstone(@1)",
		},
		{
			"Resync", func(q recordedQueue) error { return q.Resync() },
			"default/a: Sync @1",
		},
	} {
		t.Story(8)
		known := storeOf()
		q := new(known)
		require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
		t.Did("Pop; before process has put a into the store, call %s from another goroutine", c.name)
		_, err := q.Pop(func(popped any, _ bool) error {
			meanwhile(t, func() { _ = c.call(q) })
			known.take(popped)
			return nil
		})
		require.NoError(t, err, "the error of Pop")
		synctest.Wait()
		require.Equal(t, []string{c.want}, q.drain(),
			"all deltas popped after the %s that waited", c.name)
	}
}

func TestTask5_Every_method_takes_the_lock(t *testing.T) {
	guard.Race(t, "Every method may be called from any goroutine. Each takes the lock before it touches a "+
		"field.", func(t *guard.T) {
		known := storeOf("default/d@1", "default/e@1")
		q := deltafifo.NewDeltaFIFOWithOptions(options{KnownObjects: known, EmitDeltaTypeReplaced: true})
		t.Did("every method, from eight goroutines")
		guard.Storm(
			func(i int) { _ = q.Add(deploy("default/a@1")) },
			func(i int) { _ = q.Update(deploy("default/b@2")) },
			func(i int) { _ = q.Delete(deploy("default/d@2")) },
			func(i int) { _ = q.Replace(deploys("default/a@3", "default/d@3"), "3") },
			func(i int) { _ = q.Resync() },
			func(i int) { q.HasSynced() },
			func(i int) { q.IsClosed() },
			func(i int) {
				_ = q.Add(deploy("default/c@3")) // so that no Pop waits forever
				_, _ = q.Pop(func(obj any, _ bool) error { known.take(obj); return nil })
			},
		)
		q.Close()
	})
}

func TestTask5_IsClosed_takes_the_lock(t *testing.T) {
	guard.Race(t, "Every method may be called from any goroutine. Close writes the field that IsClosed reads, so "+
		"both take the lock.", func(t *guard.T) {
		t.Did("Close and IsClosed, from two goroutines")
		q := deltafifo.NewDeltaFIFOWithOptions(options{})
		guard.Storm(func(int) { q.Close() }, func(int) { q.IsClosed() })
		t.Rule("Every method may be called from any goroutine. The first list is noted once, so the race detector " +
			"needs a new queue each time.")
		for range 20 {
			t.Did("Replace with an empty list, and HasSynced from another goroutine")
			q := deltafifo.NewDeltaFIFOWithOptions(options{KnownObjects: storeOf()})
			var both sync.WaitGroup
			both.Go(func() { _ = q.Replace(nil, "7") })
			q.HasSynced()
			both.Wait()
		}
	})
}

// whole makes a Deployment with fields that a queue could remove or change.
func whole(text string) *appsv1.Deployment {
	d := deploy(text)
	d.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	d.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}"}
	d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable}}
	d.Finalizers = []string{"example.com/wait"}
	return d
}

func TestTask5_No_call_changes_an_object(t *testing.T) {
	guard.Test(t, "The queue never changes an object. The consumer that pops it and the consumer's store share it with "+
		"the queue.", func(t *guard.T) {
		known, objs := storeOf(), map[string]*appsv1.Deployment{}
		for _, text := range []string{
			"default/gone@1", "default/synced@1", "default/a@2", "default/a@3", "default/a@4", "default/listed@5",
		} {
			objs[text] = whole(text)
		}
		known.objs["default/gone"], known.objs["default/synced"] = objs["default/gone@1"], objs["default/synced@1"]
		q := newQueue(t, options{KnownObjects: known})
		require.NoError(t, q.Add(objs["default/a@2"]), "the error of Add")
		require.NoError(t, q.Update(objs["default/a@3"]), "the error of Update")
		require.NoError(t, q.Delete(objs["default/a@4"]), "the error of Delete")
		require.NoError(t, q.Replace([]any{objs["default/synced@1"], objs["default/listed@5"]}, "5"), "the error of Replace")
		q.drain()
		require.NoError(t, q.Resync(), "the error of Resync")
		q.drain()
		for text, obj := range objs {
			require.Equal(t, fmt.Sprint(whole(text)), fmt.Sprint(obj), "the object %s after the calls", text)
		}
	})
}
