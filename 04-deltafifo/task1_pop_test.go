package deltafifo_test

// Task 1: a queue of keys, and Pop. The lock of Pop and its waiting are in task1_wait_test.go.

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"

	deltafifo "client-go-workshop/04-deltafifo"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/guardpage"
)

func TestTask1_Pop_is_first_in_first_out(t *testing.T) {
	guard.Test(t, "The first pending delta of a key puts the key at the back of the queue. Keys come out first "+
		"in, first out, whatever their names.",
		func(t *guard.T) {
			q := newQueue(t, options{})
			var want []string
			for i, name := range []string{"c", "a", "f", "b", "e", "d", "h", "g", "j", "i", "l", "k"} {
				require.NoError(t, q.Add(deploy(fmt.Sprintf("default/%s@%d", name, i))),
					"the error of Add")
				want = append(want, fmt.Sprintf("default/%s: Added @%d", name, i))
			}
			popped := q.drain()
			require.Equal(t, names(want), names(popped), "names of the popped objects, in order")
			require.Equal(t, want, popped, "all popped deltas, in order")
		})
}

// names returns only the objects' names of lines like "default/a: Added @1", so that many fit on a line.
func names(popped []string) string {
	var all []string
	for _, line := range popped {
		key, _, _ := strings.Cut(line, ":")
		all = append(all, strings.TrimPrefix(key, "default/"))
	}
	return strings.Join(all, " ")
}

func TestTask1_Pop_returns_the_recorded_objects(t *testing.T) {
	guard.Test(t, "Add records an Added with obj itself, not a copy. Pop passes the key's cache.Deltas to "+
		"process, and returns them.", func(t *guard.T) {
		added, updated := deploy("default/a@1"), deploy("default/b@2")
		q := newQueue(t, options{})
		require.NoError(t, q.Add(added), "the error of Add")
		require.NoError(t, q.Update(updated), "the error of Update")
		for _, want := range []cache.Delta{
			{Type: cache.Added, Object: added},
			{Type: cache.Updated, Object: updated},
		} {
			if want.Type == cache.Updated {
				t.Rule("Update is like Add, but records an Updated. It records obj itself, not a copy.")
			}
			change := showDeltas(cache.Deltas{want})
			var processed any
			t.Did("Pop")
			popped, err := q.Pop(func(obj any, _ bool) error { processed = obj; return nil })
			require.NoError(t, err, "the error of Pop of %s", change)
			require.IsType(t, cache.Deltas{}, processed, "the first argument of process, for %s", change)
			require.Equal(t, change, showDeltas(processed), "the deltas that process receives")
			require.Same(t, want.Object, processed.(cache.Deltas)[0].Object,
				"the object that process receives")
			require.Equal(t, showDeltas(processed), showDeltas(popped), "the deltas that Pop returns")
		}
	})
}

func TestTask1_Popped_key_starts_again(t *testing.T) {
	guard.Test(t, "For each key the queue holds the changes since the key was last popped.",
		func(t *guard.T) {
			q := newQueue(t, options{})
			require.NoError(t, q.Add(deploy("default/web@1")), "the error of Add")
			q.pop()
			require.NoError(t, q.Update(deploy("default/web@2")), "the error of Update")
			require.Equal(t, []string{"default/web: Updated @2"}, q.drain(),
				"all deltas popped after the Update")
		})
}

func TestTask1_Popped_Deltas_belong_to_the_caller(t *testing.T) {
	guard.Test(t, "The Deltas belong to the caller. The queue does not write to them again, and the caller may "+
		"overwrite them.", func(t *guard.T) {
		for _, failed := range []error{nil, errors.New("the consumer failed")} {
			t.Story(8)
			q := newQueue(t, options{})
			require.NoError(t, q.Add(deploy("default/web@1")), "the error of Add")
			t.Did("Pop, and keep the Deltas; the error of process is %v", failed)
			popped, err := q.Pop(func(any, bool) error { return failed })
			require.ErrorIs(t, err, failed, "the error of Pop")
			require.NoError(t, q.Update(deploy("default/web@2")), "the error of Update")
			require.Equal(t, "default/web: Added @1", showDeltas(popped), "the kept Deltas after the Update")
			require.IsType(t, cache.Deltas{}, popped, "the kept Deltas")
			t.Did("overwrite the Deltas")
			clear(popped.(cache.Deltas))
			require.Equal(t, "default/web: Updated @2", q.pop(), "the next popped deltas")
		}
	})
}

func TestTask1_Popped_keys_are_forgotten(t *testing.T) {
	guard.Test(t, "The queue keeps nothing of a popped key. Otherwise it fills the memory of a controller that "+
		"runs for months.", func(t *guard.T) {
		for waiting := range 2 {
			const keys = 200_000
			t.Story(8)
			q := newQueue(t, options{KeyFunction: ownKey})
			before := heapInUse()
			t.Did("Add and Pop %d keys, one after the other, while %d keys wait; process fails for each second one", keys,
				waiting)
			for i := range waiting + keys {
				_ = q.Queue.Add(strconv.Itoa(i))
				if i >= waiting {
					_, _ = q.Pop(func(any, bool) error { return []error{nil, errLookup}[i%2] })
				}
			}
			require.Less(t, (heapInUse()-before)/keys, 10, "bytes in use for each popped key")
			runtime.KeepAlive(q)
		}
	})
}

func TestTask1_Popped_key_itself_can_be_collected(t *testing.T) {
	guard.Test(t, "The queue keeps nothing of a popped key. Here the keys are large, so a slice that keeps them "+
		"shows.", func(t *guard.T) {
		long := newQueue(t, options{KeyFunction: ownKey})
		before := heapInUse()
		t.Did("Add 9 keys of 1 MiB, and Pop 8 of them")
		for i := range 9 {
			require.NoError(t, long.Queue.Add(strings.Repeat("x", 1<<20)+fmt.Sprint(i)), "the error of Add")
		}
		for range 8 {
			_, err := long.Pop(func(any, bool) error { return nil })
			require.NoError(t, err, "the error of Pop")
		}
		require.Less(t, heapInUse()-before, 2<<20, "bytes in use while 1 key waits")
		_, err := long.Pop(func(any, bool) error { return nil })
		require.NoError(t, err, "the error of the last Pop")
		require.Less(t, heapInUse()-before, 1<<19, "bytes in use after the last Pop")
		runtime.KeepAlive(long)
	})
}

func TestTask1_Popped_objects_can_be_collected(t *testing.T) {
	guard.Test(t, "The queue keeps nothing of a popped key. Its objects can be collected while other keys wait.",
		func(t *guard.T) {
			q := newQueue(t, options{})
			popped := func() (all []weak.Pointer[appsv1.Deployment]) { // a frame of its own: no reference
				for _, text := range []string{"default/a@1", "default/a@2", "default/b@3"} {
					d := deploy(text)
					require.NoError(t, q.Update(d), "the error of Update")
					all = append(all, weak.Make(d))
				}
				return all
			}()
			last := func() weak.Pointer[appsv1.Deployment] {
				d := deploy("default/c@4")
				require.NoError(t, q.Add(d), "the error of Add")
				return weak.Make(d)
			}()
			q.pop()
			q.pop()
			requireCollected(t, popped...)
			require.Equal(t, "default/c: Added @4", q.pop(), "deltas of the key that waited")
			requireCollected(t, last)
			runtime.KeepAlive(q)
		})
}

func TestTask1_Add_and_Pop_do_the_same_work_in_a_long_queue(t *testing.T) {
	guard.Test(t, "Add, Update, Delete and Pop do the same amount of work, however many keys are pending or "+
		"known. A queue is longest when its consumer is already late.", func(t *guard.T) {
		for _, pending := range []int{10, 1_000} {
			keys := 0
			q := newQueue(t, options{KeyFunction: func(obj any) (string, error) {
				keys++
				return cache.MetaNamespaceKeyFunc(obj)
			}})
			waiting := make([]any, pending+100)
			for i := range waiting {
				waiting[i] = deploy(fmt.Sprintf("default/web-%d@1", i))
			}
			for _, obj := range waiting[:pending] {
				require.NoError(t, q.Queue.Add(obj), "the error of Add")
			}
			t.Did("with %d keys in the queue: Add and Update a key, and Pop one, 100 times", pending)
			keys = 0
			bytes := bytesPerCall(100, func(i int) {
				_ = q.Queue.Add(waiting[pending+i])
				_ = q.Queue.Update(waiting[pending+i])
				_, _ = q.Pop(func(any, bool) error { return nil })
			})
			require.LessOrEqual(t, keys, 600,
				"calls of the key function, with %d keys in the queue", pending)
			require.Less(t, bytes, 6_000, "bytes allocated each time, with %d keys in the queue", pending)
		}
	})
}

func TestTask1_Add_and_Pop_do_not_look_for_a_key(t *testing.T) {
	guard.Test(t, "Add, Update, Delete and Pop do the same amount of work, however many keys are pending or "+
		"known. They compare their key with only a few others.", func(t *guard.T) {
		add := func(q *deltafifo.DeltaFIFO, key string) { _ = q.Add(key) }
		update := func(q *deltafifo.DeltaFIFO, key string) { _ = q.Update(key) }
		pop := func(q *deltafifo.DeltaFIFO, _ string) { _, _ = q.Pop(func(any, bool) error { return nil }) }
		requireNoSearch(t, "Add of a new key", notPending, add)
		requireNoSearch(t, "Add of a pending key", pendingInTheMiddle, add)
		requireNoSearch(t, "Update of a new key", notPending, update)
		requireNoSearch(t, "Update of a pending key", pendingInTheMiddle, update)
		requireNoSearch(t, "Pop", pendingFirst, pop)
	})
}

// These functions return the keys that are pending before a call, in order: without the call's own key, or with it at
// some place.
func notPending(keys []string, own string) []string {
	return slices.DeleteFunc(keys, func(key string) bool { return key == own })
}
func pendingInTheMiddle(keys []string, _ string) []string { return keys }
func pendingFirst(keys []string, own string) []string {
	return slices.Insert(notPending(keys, own), 0, own)
}

// requireNoSearch requires that call compares its key with only a few pending keys. An object is its own key.
func requireNoSearch(t *guard.T, name string, pending func(keys []string, own string) []string,
	call func(q *deltafifo.DeltaFIFO, key string)) {
	t.Helper()
	t.Did("%s, in %d queues with up to 1000 keys", name, guardpage.Stores)
	reads := guardpage.Reads(t, func(keys []string, own string) func() {
		q := deltafifo.NewDeltaFIFOWithOptions(options{
			KeyFunction: func(obj any) (string, error) { return obj.(string), nil },
		})
		for _, key := range pending(keys, own) {
			_ = q.Add(key)
		}
		return func() { call(q, own) }
	})
	require.LessOrEqual(t, reads, guardpage.Most, "calls that read other keys: "+name)
}

func TestTask1_Process_error_is_returned_and_nothing_is_put_back(t *testing.T) {
	guard.Test(t, "Pop returns the error of process with the deltas, and does not put them back. Retries belong "+
		"to the queue of chapter 06.", func(t *guard.T) {
		failed := errors.New("the consumer failed")
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
		require.NoError(t, q.Add(deploy("default/b@2")), "the error of Add")
		t.Did("Pop, with a process function that fails")
		calls := 0
		popped, err := q.Pop(func(any, bool) error { calls++; return failed })
		require.Equal(t, failed, err, "the error of Pop")
		require.Equal(t, "default/a: Added @1", showDeltas(popped),
			"the deltas that Pop returns with the error")
		require.Equal(t, 1, calls, "calls of process")
		require.Equal(t, []string{"default/b: Added @2"}, q.drain(), "all deltas popped afterwards")
	})
}

// errBug is the value with which process panics in panicOf.
var errBug = errors.New("a handler's bug")

// panicOf returns the value of Pop's panic.
func panicOf(q recordedQueue) (v any) {
	defer func() { v = recover() }()
	_, _ = q.Pop(func(any, bool) error { panic(errBug) })
	return nil
}

func TestTask1_Panic_in_process_leaves_the_lock_free(t *testing.T) {
	// In a process of its own, because to unlock twice is an error that ends the process.
	guard.Race(t, "If process panics, Pop releases the lock, counts the key as processed, and panics too. Otherwise "+
		"every later call waits forever.",
		func(t *guard.T) {
			q := newQueue(t, options{})
			require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
			t.Did("Pop, with a process function that panics")
			require.Equal(t, any(errBug), panicOf(q), "the panic of Pop")
			free := meanwhile(t, func() { _ = q.Queue.Add(deploy("default/b@2")) })
			require.True(t, free, "Add returns after the panic in process")
			t.Rule("If a program recovers from a panic in process, it goes on with the next key.")
			require.Equal(t, "default/b: Added @2", q.popWaiting(), "the deltas popped after the panic")
			t.Rule("The queue keeps nothing of a popped key. If process panicked for it, the key starts again too.")
			require.NoError(t, q.Add(deploy("default/a@3")), "the error of Add, of the key of the panic")
			require.NoError(t, q.Add(deploy("default/c@4")), "the error of Add")
			require.Equal(t, "default/a: Added @3", q.popWaiting(), "the deltas popped next")
		})
}
