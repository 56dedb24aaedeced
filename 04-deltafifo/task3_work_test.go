package deltafifo_test

// Task 3: the work that Replace does, what it keeps, and a panic in the middle of it.

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"

	deltafifo "client-go-workshop/04-deltafifo"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask3_Popped_list_can_be_collected(t *testing.T) {
	guard.Test(t, "The queue keeps nothing of a popped key. It does not keep the list of Replace either.",
		func(t *guard.T) {
			q := newQueue(t, options{KnownObjects: storeOf()})
			listed := func() (all []weak.Pointer[appsv1.Deployment]) { // a frame of its own: no reference
				list := deploys("default/a@1", "default/b@2", "default/waiting@3")
				require.NoError(t, q.Replace(list, "7"), "the error of Replace")
				for _, obj := range list[:2] {
					all = append(all, weak.Make(obj.(*appsv1.Deployment)))
				}
				return all
			}()
			q.pop()
			q.pop()
			requireCollected(t, listed...)
			require.Equal(t, "default/waiting: Replaced @3", q.pop(), "deltas of the key that waited")

			long := newQueue(t, options{KeyFunction: ownKey})
			before := heapInUse()
			t.Did("Replace with 8 keys of 1 MiB, Pop all of them, and Add 20 short ones")
			func() { // a frame of its own: no reference
				var list []any
				for i := range 8 {
					list = append(list, strings.Repeat("x", 1<<20)+fmt.Sprint(i))
				}
				require.NoError(t, long.Queue.Replace(list, "7"), "the error of Replace")
			}()
			for range 8 {
				_, err := long.Pop(func(any, bool) error { return nil })
				require.NoError(t, err, "the error of Pop")
			}
			for i := range 20 {
				require.NoError(t, long.Queue.Add(fmt.Sprint(i)), "the error of Add")
			}
			require.Less(t, heapInUse()-before, 2<<20, "bytes in use while 20 short keys wait")
			runtime.KeepAlive(long)
		})
}

func TestTask3_Replace_does_a_fixed_amount_of_work_for_each_key(t *testing.T) {
	const work = "Replace does a fixed amount of work for each key that is listed, pending or known. If it scans " +
		"for each of them, a relist of 10,000 objects takes minutes."
	guard.Test(t, work, func(t *guard.T) {
		for _, n := range []int{10, 1_001} {
			t.Rule(work)
			known, keys := storeOf(), 0
			q := newQueue(t, options{KnownObjects: known, KeyFunction: func(obj any) (string, error) {
				keys++
				return cache.MetaNamespaceKeyFunc(obj)
			}})
			var list []any
			for i := range n {
				gone := fmt.Sprintf("default/gone-%d", i)
				known.objs[gone] = deploy(gone + "@1")
				require.NoError(t, q.Queue.Add(deploy(fmt.Sprintf("default/pending-%d@2", i))),
					"the error of Add")
				list = append(list, deploy(fmt.Sprintf("default/listed-%d@3", i)))
			}
			t.Did("Replace, with %d objects in the list, %d others known, and %d others pending", n, n, n)
			keys = 0
			bytes := bytesPerCall(1, func(int) { _ = q.Queue.Replace(list, "7") })
			require.LessOrEqual(t, keys, 5*n, "calls of the key function, for %d of each", n)
			require.LessOrEqual(t, known.asked, 4*n,
				"keys that Replace asks the known objects for, for %d of each", n)
			require.Less(t, bytes, 4_000*n, "bytes allocated, for %d of each", n)
			t.Rule("Replace then records a deletion for each key that is pending or known but not in the list, in " +
				"any order.")
			require.Equal(t, 3*n, len(q.drain()), "keys popped, for %d of each", n)
		}
	})
}

func TestTask3_Replace_does_not_look_through_all_keys(t *testing.T) {
	// A process of its own has no other test beside it, whose work would count.
	guard.Race(t, "Replace does a fixed amount of work for each key that is listed, pending or known. A search through a "+
		"slice gets slower with each key in it.", func(t *guard.T) {
		requireQuickCall(t, "Replace with as many others", func(known *store) cache.Queue {
			return deltafifo.NewDeltaFIFOWithOptions(options{KnownObjects: known, KeyFunction: ownKey})
		}, func(q cache.Queue, list []any) { _ = q.Replace(list, "7") })
	})
}

// requireQuickCall requires that call takes about as much processor time for each key with 20,000 keys pending, known
// and listed as with 200 of each. It compares the quickest of several rounds, with a bound that is far from both sides.
func requireQuickCall(t *guard.T, name string, queue func(known *store) cache.Queue,
	call func(q cache.Queue, list []any)) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would count as work
	quickest := func(n, rounds int) time.Duration {
		best := time.Hour
		for range rounds {
			known := storeOf()
			q, list := queue(known), make([]any, n)
			for i := range n {
				key := fmt.Sprintf("default/known-%05d", i)
				known.objs[key], list[i] = key, fmt.Sprintf("default/other-%05d", i)
				_ = q.Add(fmt.Sprintf("default/queue-%05d", i))
			}
			took := guard.ProcessorTime(func() { call(q, list) })
			if best = min(best, took/time.Duration(n)); took > time.Second {
				break // far too long
			}
		}
		return best
	}
	t.Did("%s, with 200 keys pending and 200 others known, and with 20,000 of each; keep the quickest round", name)
	rounds := 6
	if guard.Brief || guard.RaceDetector {
		rounds = 2
	}
	few, many := quickest(200, 10), quickest(20_000, rounds)
	require.Less(t, many, 25*few, "processor time for each key with 20,000 of each, with 200 it is %v", few)
}

// ownKey is the key function of objects that are their own keys.
func ownKey(obj any) (string, error) { return obj.(string), nil }

const transformerPanics = "If the transformer panics, the method that called it releases the lock and panics too."

func TestTask3_Panic_in_the_transformer_leaves_the_lock_free(t *testing.T) {
	// In a process of its own, because to unlock twice is an error that ends the process.
	guard.Race(t, transformerPanics, func(t *guard.T) {
		checkTransformerPanics(t, func(transformer cache.TransformFunc) recordedQueue {
			return newQueue(t, options{KnownObjects: storeOf("default/a@0"), Transformer: transformer})
		})
	})
}

// checkTransformerPanics requires that the queue is free and unchanged after each call whose transformer panics.
func checkTransformerPanics(t *guard.T, new func(transformer cache.TransformFunc) recordedQueue) {
	t.Helper()
	for name, call := range guard.InOrder(map[string]func(q recordedQueue) error{
		"Add":     func(q recordedQueue) error { return q.Add(deploy("default/a@1")) },
		"Update":  func(q recordedQueue) error { return q.Update(deploy("default/a@1")) },
		"Delete":  func(q recordedQueue) error { return q.Delete(deploy("default/a@1")) },
		"Replace": func(q recordedQueue) error { return q.Replace(deploys("default/a@1"), "1") },
	}) {
		t.Story(8)
		q := new(func(obj any) (any, error) {
			if obj.(*appsv1.Deployment).Name == "a" {
				panic(errBug)
			}
			return obj, nil
		})
		var value any
		func() {
			defer func() { value = recover() }()
			_ = call(q)
		}()
		t.Did("the transformer panics, and the test recovers")
		require.Equal(t, any(errBug), value, "the panic of %s", name)
		free := meanwhile(t, func() { _ = q.Queue.Add(deploy("default/c@2")) })
		require.True(t, free, "Add returns after the panic of %s", name)
		t.Rule("A change that fails leaves nothing in the queue.")
		require.Equal(t, "default/c: Added @2", q.popWaiting(), "the deltas popped after the panic of %s", name)
		t.Rule(transformerPanics)
	}
}
