package deltafifo_test

// Task 1: keys, a queue of them, and Pop.

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	deltafifo "client-go-workshop/04-deltafifo"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask1_Key_comes_from_the_key_function(t *testing.T) {
	guard.Test(t, "KeyOf returns the key that the key function returns. Without a KeyFunction in the options that is "+
		"cache.MetaNamespaceKeyFunc.", func(t *guard.T) {
		q := deltafifo.NewDeltaFIFOWithOptions(options{})
		t.Did("KeyOf default/web")
		key, err := q.KeyOf(deploy("default/web"))
		require.NoError(t, err, "the error of KeyOf without a KeyFunction")
		require.Equal(t, "default/web", key, "the key without a KeyFunction")

		q = deltafifo.NewDeltaFIFOWithOptions(options{KeyFunction: func(any) (string, error) { return "mine", nil }})
		t.Did("KeyOf default/web, with a KeyFunction that returns \"mine\"")
		key, err = q.KeyOf(deploy("default/web"))
		require.NoError(t, err, "the error of KeyOf with a KeyFunction")
		require.Equal(t, "mine", key, "the key with a KeyFunction")
	})
}

func TestTask1_Key_of_a_tombstone_is_the_one_it_carries(t *testing.T) {
	guard.Test(t, "KeyOf returns, of a tombstone, the key it carries. The object in it may be old, or nil.",
		func(t *guard.T) {
			q := deltafifo.NewDeltaFIFOWithOptions(options{})
			for _, last := range []string{"", "default/other@1"} {
				stone := tombstone("default/web", last)
				t.Did("KeyOf %s", describe(stone))
				key, err := q.KeyOf(stone)
				require.NoError(t, err, "the error of KeyOf of a %s", describe(stone))
				require.Equal(t, "default/web", key, "the key of a %s", describe(stone))
			}
		})
}

func TestTask1_Key_of_Deltas_is_that_of_the_newest(t *testing.T) {
	guard.Test(t, "KeyOf returns, of cache.Deltas, the key of the newest object in it, which may be a tombstone.",
		func(t *guard.T) {
			q := deltafifo.NewDeltaFIFOWithOptions(options{})
			for _, newest := range []any{deploy("default/web@2"), tombstone("default/web", "")} {
				t.Did("KeyOf Deltas: Added default/old@1, Deleted %s", describe(newest))
				key, err := q.KeyOf(cache.Deltas{
					{Type: cache.Added, Object: deploy("default/old@1")},
					{Type: cache.Deleted, Object: newest},
				})
				require.NoError(t, err, "the error of KeyOf of Deltas that end with %s", describe(newest))
				require.Equal(t, "default/web", key, "the key of Deltas that end with %s", describe(newest))
			}
			t.Did("KeyOf Deltas{}")
			_, err := q.KeyOf(cache.Deltas{})
			t.Rule("KeyOf returns, for empty Deltas, a cache.KeyError with cache.ErrZeroLengthDeltasObject in it.")
			require.ErrorIs(t, err, cache.ErrZeroLengthDeltasObject, "the error of KeyOf of empty Deltas")
			require.ErrorAs(t, err, &cache.KeyError{}, "the error of KeyOf of empty Deltas")
		})
}

func TestTask1_Object_without_a_key_is_a_KeyError(t *testing.T) {
	guard.Test(t, "An object without a key is a cache.KeyError. It carries the object, which a log can show, and wraps "+
		"the key function's error.", func(t *guard.T) {
		cause := errors.New("no name")
		q := newQueue(t, options{KeyFunction: func(obj any) (string, error) {
			if obj == "nameless" {
				return "", cause
			}
			return cache.MetaNamespaceKeyFunc(obj)
		}})
		for name, call := range map[string]func(any) error{"Add": q.Add, "Update": q.Update} {
			err := call("nameless")
			require.ErrorAs(t, err, &cache.KeyError{}, "the error of %s", name)
			require.Equal(t, any("nameless"), keyErrorOf(err).Obj, "the object in the error of %s", name)
			require.ErrorIs(t, err, cause, "the error of %s", name)
		}
		t.Rule("An object without a key does not go into the queue.")
		require.Empty(t, q.drain(), "all popped deltas")
	})
}

func keyErrorOf(err error) (k cache.KeyError) {
	errors.As(err, &k)
	return k
}

func TestTask1_Pop_is_first_in_first_out(t *testing.T) {
	guard.Test(t, "A key is in the queue where its first pending delta put it: first in, first out, whatever its name.",
		func(t *guard.T) {
			q := newQueue(t, options{})
			var want []string
			for i, name := range []string{"c", "a", "f", "b", "e", "d", "h", "g", "j", "i", "l", "k"} {
				require.NoError(t, q.Add(deploy(fmt.Sprintf("default/%s@%d", name, i))), "the error of Add")
				want = append(want, fmt.Sprintf("default/%s: Added @%d", name, i))
			}
			popped := q.drain()
			require.Equal(t, names(want), names(popped), "names of the popped objects, in order")
			require.Equal(t, want, popped, "all popped deltas, in order")
		})
}

// names takes only the objects' names from lines like "default/a: Added @1": a long list of them fits on a line.
func names(popped []string) string {
	var all []string
	for _, line := range popped {
		key, _, _ := strings.Cut(line, ":")
		all = append(all, strings.TrimPrefix(key, "default/"))
	}
	return strings.Join(all, " ")
}

func TestTask1_Pop_hands_out_what_Add_and_Update_brought(t *testing.T) {
	guard.Test(t, "Pop calls process with the key's cache.Deltas, and returns them. A delta has the type of the change, "+
		"and the object itself, not a copy.", func(t *guard.T) {
		added, updated := deploy("default/a@1"), deploy("default/b@2")
		q := newQueue(t, options{})
		require.NoError(t, q.Add(added), "the error of Add")
		require.NoError(t, q.Update(updated), "the error of Update")
		for _, want := range []cache.Delta{
			{Type: cache.Added, Object: added},
			{Type: cache.Updated, Object: updated},
		} {
			change := showDeltas(cache.Deltas{want})
			var processed any
			t.Did("Pop")
			popped, err := q.Pop(func(obj any, _ bool) error { processed = obj; return nil })
			require.NoError(t, err, "the error of Pop of %s", change)
			require.IsType(t, cache.Deltas{}, processed, "the first argument of process, for %s", change)
			require.Equal(t, change, showDeltas(processed), "the deltas that process receives")
			require.Same(t, want.Object, processed.(cache.Deltas)[0].Object, "the object that process receives")
			require.Equal(t, showDeltas(processed), showDeltas(popped), "the deltas that Pop returns")
		}
	})
}

func TestTask1_Popped_key_starts_anew(t *testing.T) {
	guard.Test(t, "The queue holds, for each key, the changes that have happened since the key was last popped.",
		func(t *guard.T) {
			q := newQueue(t, options{})
			require.NoError(t, q.Add(deploy("default/web@1")), "the error of Add")
			q.pop()
			require.NoError(t, q.Update(deploy("default/web@2")), "the error of Update")
			require.Equal(t, []string{"default/web: Updated @2"}, q.drain(), "all deltas popped after the Update")
		})
}

func TestTask1_Popped_Deltas_belong_to_the_caller(t *testing.T) {
	guard.Test(t, "The Deltas that Pop hands out belong to the caller. The queue never writes to them again, and the "+
		"caller may overwrite them.", func(t *guard.T) {
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/web@1")), "the error of Add")
		t.Did("Pop, and keep the Deltas")
		popped, err := q.Pop(func(any, bool) error { return nil })
		require.NoError(t, err, "the error of Pop")
		require.NoError(t, q.Update(deploy("default/web@2")), "the error of Update")
		require.Equal(t, "default/web: Added @1", showDeltas(popped), "the kept Deltas after the Update")
		require.IsType(t, cache.Deltas{}, popped, "the kept Deltas")
		t.Did("overwrite the Deltas")
		clear(popped.(cache.Deltas))
		require.Equal(t, "default/web: Updated @2", q.pop(), "the next popped deltas")
	})
}

func TestTask1_Popped_keys_are_forgotten(t *testing.T) {
	guard.Test(t, "The queue keeps nothing of a popped key. Otherwise it fills the memory of a controller that runs for "+
		"months.", func(t *guard.T) {
		heap := func() int {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int(m.HeapAlloc)
		}
		q := newQueue(t, options{})
		before := heap()
		t.Did("Add and Pop 50000 keys, one after the other")
		for i := range 50_000 {
			require.NoError(t, q.Queue.Add(deploy(fmt.Sprintf("default/web-%d@1", i))), "the error of Add")
			_, err := q.Pop(func(any, bool) error { return nil })
			require.NoError(t, err, "the error of Pop")
		}
		require.Less(t, (heap()-before)/50_000, 20, "bytes in use for each popped key")
		runtime.KeepAlive(q)
	})
}

func TestTask1_Process_error_is_returned_and_nothing_is_put_back(t *testing.T) {
	guard.Test(t, "The error of process is returned, with the deltas; they are not put back. Chapter 06 has a queue for "+
		"retries.", func(t *guard.T) {
		failed := errors.New("the consumer failed")
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
		require.NoError(t, q.Add(deploy("default/b@2")), "the error of Add")
		t.Did("Pop, with a process function that fails")
		popped, err := q.Pop(func(any, bool) error { return failed })
		require.ErrorIs(t, err, failed, "the error of Pop")
		require.Equal(t, "default/a: Added @1", showDeltas(popped), "the deltas that Pop returns with the error")
		require.Equal(t, []string{"default/b: Added @2"}, q.drain(), "all deltas popped afterwards")
	})
}

func TestTask1_Panic_in_process_leaves_the_lock_free(t *testing.T) {
	guard.Test(t, "Pop releases the lock even if process panics. Unlock with defer, which runs on every way out.",
		func(t *guard.T) {
			q := newQueue(t, options{})
			require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
			t.Did("Pop, with a process function that panics")
			func() {
				defer func() { _ = recover() }()
				_, _ = q.Pop(func(any, bool) error { panic("a handler's bug") })
			}()
			free := meanwhile(t, func() { _ = q.Add(deploy("default/b@2")) })
			require.True(t, free, "Add returns after the panic in process")
			t.Rule("A program that recovers from a panic in process goes on with the next key.")
			require.Equal(t, []string{"default/b: Added @2"}, q.drain(), "all deltas popped after the panic")
		})
}

func TestTask1_Process_runs_under_the_lock(t *testing.T) {
	guard.Test(t, "process runs under the queue's lock. Otherwise Replace can look while the key is neither in the "+
		"queue nor in the known objects, and miss it (#27004).", func(t *guard.T) {
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
		t.Did("Pop; while process runs, Add default/b on another goroutine")
		early := false
		_, err := q.Pop(func(any, bool) error {
			early = meanwhile(t, func() { _ = q.Queue.Add(deploy("default/b@2")) })
			return nil
		})
		require.NoError(t, err, "the error of Pop")
		synctest.Wait()
		require.False(t, early, "Add returned while process was running")
		t.Rule("A call that waits for the lock takes effect when process has returned.")
		require.Equal(t, []string{"default/b: Added @2"}, q.drain(), "all deltas popped after the Add that waited")
	})
}

func TestTask1_Pop_waits_until_there_is_something(t *testing.T) {
	guard.Test(t, "Pop blocks until there is a key. Add wakes a Pop that waits.", func(t *guard.T) {
		q := newQueue(t, options{})
		popped := ""
		t.Go(func() { popped = q.pop() })
		synctest.Wait()
		require.Empty(t, popped, "deltas popped from the empty queue")
		require.NoError(t, q.Add(deploy("default/web@1")), "the error of Add")
		synctest.Wait()
		require.Equal(t, "default/web: Added @1", popped, "deltas of the Pop that waited")
	})
}

func TestTask1_One_key_is_for_one_Pop(t *testing.T) {
	guard.Test(t, "Several Pops may wait at the same time; each key goes to one of them. The others look again and wait "+
		"again: use for, not if.", func(t *guard.T) {
		q := newQueue(t, options{})
		var popped []string // written under the queue's lock
		for range 3 {
			t.Go(func() {
				_, _ = q.Pop(func(obj any, _ bool) error { popped = append(popped, showDeltas(obj)); return nil })
			})
		}
		t.Did("three Pops wait")
		for i, key := range []string{"default/a@1", "default/b@2", "default/c@3"} {
			synctest.Wait()
			require.Len(t, popped, i, "keys popped after %d of 3 Adds", i)
			require.NoError(t, q.Add(deploy(key)), "the error of Add")
		}
		synctest.Wait()
		require.ElementsMatch(t, []string{"default/a: Added @1", "default/b: Added @2", "default/c: Added @3"}, popped,
			"deltas of the three Pops")
	})
}

func TestTask1_Woken_Pop_looks_again(t *testing.T) {
	guard.Test(t, "A Pop that was woken looks again: another Pop may have been faster. Then it waits for the next key: "+
		"use for, not if.", func(t *guard.T) {
		// With one processor, the goroutine that unlocks nearly always locks again before the one that was woken runs.
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		for range 20 {
			t.Story(8)
			q := newQueue(t, options{})
			var popped []string // written under the queue's lock
			note := func(obj any, _ bool) error { popped = append(popped, showDeltas(obj)); return nil }
			t.Did("a Pop waits")
			t.Go(func() { _, _ = q.Pop(note) })
			synctest.Wait()
			t.Go(func() {
				time.Sleep(time.Second)
				_ = q.Add(deploy("default/b@2"))
			})
			require.NoError(t, q.Add(deploy("default/a@1")), "the error of Add")
			t.Did("Pop, before the waiting Pop is awake")
			_, _ = q.Pop(note)
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(t, []string{"default/a: Added @1", "default/b: Added @2"}, popped, "deltas of the two Pops")
		}
	})
}

func TestTask1_Keys_in_a_row_wake_as_many_Pops(t *testing.T) {
	guard.Test(t, "A new key is work for one Pop, two new keys are work for two. A Pop that sleeps beside a full queue "+
		"wakes with the next event, which may come tomorrow.", func(t *guard.T) {
		for range 500 { // the test needs two keys before the first Pop is awake, so it tries often
			q := newQueue(t, options{})
			left := 3
			for range 3 {
				t.Go(func() {
					_, _ = q.Pop(func(any, bool) error { left--; return nil })
				})
			}
			synctest.Wait()
			for _, key := range []string{"default/a@1", "default/b@2", "default/c@3"} {
				require.NoError(t, q.Queue.Add(deploy(key)), "the error of Add")
			}
			synctest.Wait()
			t.Did("three Pops wait; Add three keys in a row")
			require.Equal(t, 0, left, "Pops that still wait")
		}
	})
}

func TestTask1_Every_call_takes_the_lock(t *testing.T) {
	guard.Race(t, "Every method may be called from any goroutine: Add, Update and Pop take the lock before they touch a "+
		"field.", func(t *guard.T) {
		q := newQueue(t, options{})
		t.Did("Add, Update and Pop, from three goroutines")
		guard.Storm(
			func(i int) { _ = q.Queue.Add(deploy("default/a@1")) },
			func(i int) { _ = q.Queue.Update(deploy("default/b@2")) },
			func(i int) {
				_ = q.Queue.Add(deploy("default/c@3")) // so that no Pop waits forever
				_, _ = q.Pop(func(any, bool) error { return nil })
			},
		)
	})
}
