package deltafifo_test

// Task 1: keys, a queue of them, and Pop.

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	deltafifo "client-go-workshop/04-deltafifo"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask1_Key_comes_from_the_key_function(t *testing.T) {
	guard.Test(t, "a Deployment has a name", func(t *guard.T) {
		q := deltafifo.NewDeltaFIFOWithOptions(options{})
		t.Did("KeyOf default/web")
		key, err := q.KeyOf(deploy("default/web"))
		require.NoError(t, err)
		t.Rule("without a KeyFunction in the options it is cache.MetaNamespaceKeyFunc")
		require.Equal(t, "default/web", key)

		q = deltafifo.NewDeltaFIFOWithOptions(options{KeyFunction: func(any) (string, error) { return "mine", nil }})
		t.Did("KeyOf default/web, with a KeyFunction that says \"mine\"")
		key, err = q.KeyOf(deploy("default/web"))
		t.Rule("the key function returned none")
		require.NoError(t, err)
		t.Rule("the KeyFunction in the options decides")
		require.Equal(t, "mine", key)
	})
}

func TestTask1_Key_of_a_tombstone_is_the_one_it_carries(t *testing.T) {
	guard.Test(t, "a tombstone has a key, whatever else it has", func(t *guard.T) {
		q := deltafifo.NewDeltaFIFOWithOptions(options{})
		for _, last := range []string{"", "default/other@1"} {
			t.Did("KeyOf %s", describe(tombstone("default/web", last)))
			key, err := q.KeyOf(tombstone("default/web", last))
			require.NoError(t, err)
			t.Rule("the object in a tombstone may be old, or not there at all; its key is what counts")
			require.Equal(t, "default/web", key)
		}
	})
}

func TestTask1_Key_of_Deltas_is_that_of_the_newest(t *testing.T) {
	guard.Test(t, "the newest object has a key", func(t *guard.T) {
		q := deltafifo.NewDeltaFIFOWithOptions(options{})
		for _, newest := range []any{deploy("default/web@2"), tombstone("default/web", "")} {
			t.Did("KeyOf Deltas whose newest object is %s", describe(newest))
			key, err := q.KeyOf(cache.Deltas{{Type: cache.Added, Object: deploy("default/old@1")}, {Type: cache.Deleted, Object: newest}})
			require.NoError(t, err)
			t.Rule("what Pop hands out can be asked for its key like an object, deletions included")
			require.Equal(t, "default/web", key)
		}
		t.Did("KeyOf Deltas{}")
		_, err := q.KeyOf(cache.Deltas{})
		t.Rule("nothing has no key")
		require.ErrorIs(t, err, cache.ErrZeroLengthDeltasObject)
		t.Rule("an error about a key is a cache.KeyError")
		require.ErrorAs(t, err, &cache.KeyError{})
	})
}

func TestTask1_Object_without_a_key_is_a_KeyError(t *testing.T) {
	guard.Test(t, "the KeyError carries the object", func(t *guard.T) {
		cause := errors.New("no name")
		q := newQueue(t, options{KeyFunction: func(obj any) (string, error) {
			if obj == "nameless" {
				return "", cause
			}
			return cache.MetaNamespaceKeyFunc(obj)
		}})
		for name, call := range map[string]func(any) error{"Add": q.Add, "Update": q.Update} {
			err := call("nameless")
			t.Rule("%s: a log that says which object it was is worth more than the bare error", name)
			require.ErrorAs(t, err, &cache.KeyError{})
			t.Rule("the KeyError carries the object")
			require.Equal(t, any("nameless"), keyErrorOf(err).Obj)
			t.Rule("the KeyError wraps what the key function said")
			require.ErrorIs(t, err, cause)
		}
		t.Rule("what has no key cannot be in the queue")
		require.Empty(t, q.drain())
	})
}

func keyErrorOf(err error) (k cache.KeyError) {
	errors.As(err, &k)
	return k
}

func TestTask1_Pop_is_first_in_first_out(t *testing.T) {
	guard.Test(t, "keys leave in the order in which they came, whatever they are called", func(t *guard.T) {
		q := newQueue(t, options{})
		var want []string
		for i, name := range []string{"c", "a", "f", "b", "e", "d", "h", "g", "j", "i", "l", "k"} {
			require.NoError(t, q.Add(deploy(fmt.Sprintf("default/%s@%d", name, i))))
			want = append(want, fmt.Sprintf("default/%s: Added @%d", name, i))
		}
		require.Equal(t, want, q.drain())
	})
}

func TestTask1_Pop_hands_out_what_Add_and_Update_brought(t *testing.T) {
	guard.Test(t, "the process function returned none", func(t *guard.T) {
		added, updated := deploy("default/a@1"), deploy("default/b@2")
		q := newQueue(t, options{})
		require.NoError(t, q.Add(added))
		require.NoError(t, q.Update(updated))
		for _, want := range []cache.Delta{{Type: cache.Added, Object: added}, {Type: cache.Updated, Object: updated}} {
			var processed any
			t.Did("Pop")
			popped, err := q.Pop(func(obj any, _ bool) error { processed = obj; return nil })
			require.NoError(t, err)
			t.Rule("the consumer gets cache.Deltas, also if there is only one delta")
			require.IsType(t, cache.Deltas{}, processed)
			t.Rule("a delta says what happened, and carries the object")
			require.Equal(t, showDeltas(cache.Deltas{want}), showDeltas(processed))
			t.Rule("objects are shared: what goes in is what comes out")
			require.Same(t, want.Object, processed.(cache.Deltas)[0].Object)
			t.Rule("Pop also returns the deltas that it has called process with")
			require.Equal(t, showDeltas(processed), showDeltas(popped))
		}
	})
}

func TestTask1_Popped_key_starts_anew(t *testing.T) {
	guard.Test(t, "what has been popped is gone: the consumer has it", func(t *guard.T) {
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/web@1")))
		q.pop()
		require.NoError(t, q.Update(deploy("default/web@2")))
		require.Equal(t, []string{"default/web: Updated @2"}, q.drain())
	})
}

func TestTask1_Popped_Deltas_belong_to_the_caller(t *testing.T) {
	guard.Test(t, "the queue has given these Deltas away, and may not write to them any more", func(t *guard.T) {
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/web@1")))
		t.Did("Pop, and keep the Deltas")
		popped, err := q.Pop(func(any, bool) error { return nil })
		require.NoError(t, err)
		require.NoError(t, q.Update(deploy("default/web@2")))
		require.Equal(t, "default/web: Added @1", showDeltas(popped))
		t.Rule("Pop returns cache.Deltas")
		require.IsType(t, cache.Deltas{}, popped)
		t.Did("overwrite the Deltas")
		clear(popped.(cache.Deltas))
		t.Rule("whoever has popped Deltas may overwrite them; the queue must not notice")
		require.Equal(t, "default/web: Updated @2", q.pop())
	})
}

func TestTask1_Popped_keys_are_forgotten(t *testing.T) {
	guard.Test(t, "bytes for each key that is gone: whoever keeps anything of it fills the memory of a controller "+
		"that runs for months", func(t *guard.T) {
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
			require.NoError(t, q.Queue.Add(deploy(fmt.Sprintf("default/web-%d@1", i))))
			_, err := q.Pop(func(any, bool) error { return nil })
			require.NoError(t, err)
		}
		require.Less(t, (heap()-before)/50_000, 20)
		runtime.KeepAlive(q)
	})
}

func TestTask1_Process_error_is_returned_and_nothing_is_put_back(t *testing.T) {
	guard.Test(t, "what process returns, Pop returns", func(t *guard.T) {
		failed := errors.New("the consumer failed")
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/a@1")))
		require.NoError(t, q.Add(deploy("default/b@2")))
		t.Did("Pop, with a process function that fails")
		popped, err := q.Pop(func(any, bool) error { return failed })
		require.ErrorIs(t, err, failed)
		t.Rule("also then Pop returns the deltas")
		require.Equal(t, "default/a: Added @1", showDeltas(popped))
		t.Rule("the queue tells once; whoever wants to try again has a work queue for it (chapter 06)")
		require.Equal(t, []string{"default/b: Added @2"}, q.drain())
	})
}

func TestTask1_Panic_in_process_leaves_the_lock_free(t *testing.T) {
	guard.Test(t, "Add waits for a lock that the Pop whose process panicked has taken, and nobody will ever give "+
		"back: unlock with defer, which is done on every way out", func(t *guard.T) {
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/a@1")))
		t.Did("Pop, with a process function that panics")
		func() {
			defer func() { _ = recover() }()
			_, _ = q.Pop(func(any, bool) error { panic("a handler's bug") })
		}()
		free := meanwhile(t, func() { _ = q.Add(deploy("default/b@2")) })
		require.True(t, free)
		t.Rule("a program that recovers from the panic goes on with the next key")
		require.Equal(t, []string{"default/b: Added @2"}, q.drain())
	})
}

func TestTask1_Process_runs_under_the_lock(t *testing.T) {
	guard.Test(t, "between leaving the queue and entering the known objects a key is in neither. Whoever compares "+
		"in that moment, as Replace does, takes the object for one that does not exist; so process runs "+
		"under the lock (#27004)", func(t *guard.T) {
		q := newQueue(t, options{})
		require.NoError(t, q.Add(deploy("default/a@1")))
		t.Did("Pop; while process runs, Add default/b on another goroutine")
		early := false
		_, err := q.Pop(func(any, bool) error {
			early = meanwhile(t, func() { _ = q.Queue.Add(deploy("default/b@2")) })
			return nil
		})
		require.NoError(t, err)
		synctest.Wait()
		require.False(t, early)
		t.Rule("the call that had to wait is carried out afterwards")
		require.Equal(t, []string{"default/b: Added @2"}, q.drain())
	})
}

func TestTask1_Pop_waits_until_there_is_something(t *testing.T) {
	guard.Test(t, "there is nothing to pop", func(t *guard.T) {
		q := newQueue(t, options{})
		popped := ""
		t.Go(func() { popped = q.pop() })
		synctest.Wait()
		require.Empty(t, popped)
		require.NoError(t, q.Add(deploy("default/web@1")))
		synctest.Wait()
		t.Rule("Add wakes the Pop that waits")
		require.Equal(t, "default/web: Added @1", popped)
	})
}

func TestTask1_One_key_is_for_one_Pop(t *testing.T) {
	guard.Test(t, "each key goes to one Pop; the others must look again, and wait again: use for, not if", func(t *guard.T) {
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
			require.Len(t, popped, i)
			require.NoError(t, q.Add(deploy(key)))
		}
		synctest.Wait()
		t.Rule("three keys for three Pops")
		require.ElementsMatch(t, []string{"default/a: Added @1", "default/b: Added @2", "default/c: Added @3"}, popped)
	})
}

func TestTask1_Woken_Pop_looks_again(t *testing.T) {
	guard.Test(t, "the Pop that was woken finds that another one was faster, so it must look again, and wait for "+
		"the next key: use for, not if", func(t *guard.T) {
		// With one processor, who gives the lock back has it again before the one that was woken runs, nearly always.
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
			require.NoError(t, q.Add(deploy("default/a@1")))
			t.Did("Pop, before the one that waits is awake")
			_, _ = q.Pop(note)
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(t, []string{"default/a: Added @1", "default/b: Added @2"}, popped)
		}
	})
}

func TestTask1_Keys_in_a_row_wake_as_many_Pops(t *testing.T) {
	guard.Test(t, "a Pop that sleeps beside a full queue will not wake before the next event, and that may be "+
		"tomorrow", func(t *guard.T) {
		for range 500 { // it takes two keys before the first Pop is awake, so do it often enough
			q := newQueue(t, options{})
			left := 3
			for range 3 {
				t.Go(func() {
					_, _ = q.Pop(func(any, bool) error { left--; return nil })
				})
			}
			synctest.Wait()
			for _, key := range []string{"default/a@1", "default/b@2", "default/c@3"} {
				require.NoError(t, q.Queue.Add(deploy(key)))
			}
			synctest.Wait()
			t.Did("three Pops wait; Add three keys in a row")
			require.Zero(t, left)
		}
	})
}

func TestTask1_Every_call_takes_the_lock(t *testing.T) {
	guard.Race(t, "Add, Update and Pop may be called from any goroutine: each takes the lock before it touches a field", func(t *guard.T) {
		q := newQueue(t, options{})
		t.Did("Add, Update and Pop, from three goroutines")
		guard.Storm(
			func(i int) { _ = q.Queue.Add(deploy("default/a@1")) },
			func(i int) { _ = q.Queue.Update(deploy("default/b@2")) },
			func(i int) {
				_ = q.Queue.Add(deploy("default/c@3")) // so that nobody waits for ever
				_, _ = q.Pop(func(any, bool) error { return nil })
			},
		)
	})
}
