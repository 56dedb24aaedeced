package todaysinformer_test

// Task 5: the queue of an informer, and what takes its items.

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/guard"
	todaysinformer "client-go-workshop/labs/todays-informer"
)

// marked is a transformer: it makes a copy with one more mark.
func marked(obj any) (any, error) {
	d := deploy(name(obj))
	d.Name += "'"
	return d, nil
}

// single pops one item from a queue.
func single(t *guard.T, q cache.Queue) string {
	got := ""
	_, err := q.Pop(func(obj any, _ bool) error {
		got = show(obj.(cache.Deltas)[0])
		return nil
	})
	require.NoError(t, err, "the error of Pop")
	return got
}

// informerQueue makes the queue of an informer.
func informerQueue(t *guard.T, transformer cache.TransformFunc) cache.QueueWithBatch {
	t.Did("NewQueue")
	return todaysinformer.NewQueue(below.NewRealFIFO, transformer)
}

func TestTask5_List_is_one_item(t *testing.T) {
	guard.Test(t, "A list is one item of the queue, and the consumer compares it with the store.", func(t *guard.T) {
		q := informerQueue(t, nil)
		t.Did("Replace with the list [a@1 b@2] at version 2, Resync")
		require.NoError(t, q.Replace(deploys("a@1", "b@2"), "2"), "the error of Replace")
		require.NoError(t, q.Resync(), "the error of Resync")
		require.Equal(t, "ReplacedAll [a@1 b@2] at 2", single(t, q), "the first item")
		require.Equal(t, "SyncAll", single(t, q), "the second item")
	})
}

func TestTask5_Writers_do_not_wait(t *testing.T) {
	guard.Test(t, "Writers do not wait while an item is processed. A slow consumer must not stop the Reflector: the "+
		"server ends a watch whose client does not read.", func(t *guard.T) {
		q, early := informerQueue(t, nil), false
		require.NoError(t, q.Add(deploy("a@1")), "the error of Add")
		_, err := q.Pop(func(any, bool) error {
			t.Did("Add b@2 while a@1 is being processed")
			early = meanwhile(t, func() { _ = q.Add(deploy("b@2")) })
			return nil
		})
		require.NoError(t, err, "the error of Pop")
		require.True(t, early, "Add returns while an item is being processed")
		require.NoError(t, q.Add(deploy("c@3")), "the error of Add")
		early = false
		require.NoError(t, q.PopBatch(func([]cache.Delta, bool) error {
			t.Did("Add d@4 while a batch of b@2 and c@3 is being processed")
			early = meanwhile(t, func() { _ = q.Add(deploy("d@4")) })
			return nil
		}, func(any, bool) error { return nil }), "the error of PopBatch")
		require.True(t, early, "Add returns while a batch is being processed")
	})
}

func TestTask5_Bookmarks_reach_the_consumer(t *testing.T) {
	guard.Test(t, "The queue passes bookmarks on to the consumer. The store learns from them that it is up to date, "+
		"though nothing changed.", func(t *guard.T) {
		q := informerQueue(t, nil)
		bookmarks, ok := q.(interface{ Bookmark(version string) error })
		require.True(t, ok, "the queue has the method Bookmark")
		t.Did("Bookmark 7, Add a@8")
		require.NoError(t, bookmarks.Bookmark("7"), "the error of Bookmark")
		require.NoError(t, q.Add(deploy("a@8")), "the error of Add")
		require.Equal(t, "Bookmark at 7", single(t, q), "the first item")
	})
}

func TestTask5_Objects_are_transformed(t *testing.T) {
	guard.Test(t, "Each object goes through the transformer.", func(t *guard.T) {
		q := informerQueue(t, marked)
		t.Did("Add a@1, Replace with the list [b@2]")
		require.NoError(t, q.Add(deploy("a@1")), "the error of Add")
		require.NoError(t, q.Replace(deploys("b@2"), "2"), "the error of Replace")
		require.Equal(t, "Added a'@1", single(t, q), "the first item")
		require.Equal(t, "ReplacedAll [b'@2] at 2", single(t, q), "the second item")
		t.Rule("A Reflector finds the transformer in the queue, so an object of a streamed list goes through it twice: " +
			"when it arrives, and with the list.")
		s, ok := q.(cache.TransformingStore)
		require.True(t, ok, "the queue is a cache.TransformingStore")
		require.NotNil(t, s.Transformer(), "the queue's transformer")
		obj, err := s.Transformer()(deploy("c@3"))
		require.NoError(t, err, "the error of the queue's transformer")
		require.Equal(t, "c'@3", name(obj), "the object of the queue's transformer")

		t.Rule("Each object goes through the transformer. An object that the transformer refuses is not in the queue.")
		q = informerQueue(t, func(any) (any, error) { return nil, errRefused })
		t.Did("Add a@1, which the transformer refuses")
		require.ErrorIs(t, q.Add(deploy("a@1")), errRefused, "the error of Add")
	})
}

func TestTask5_Two_informers_at_once(t *testing.T) {
	guard.Test(t, "Each object goes through the transformer. A program has many informers: each has its own transformer, "+
		"and Pop of one can run during Pop of another.", func(t *guard.T) {
		for _, texts := range [][]string{{"a@1"}, {"a@1", "b@2"}} {
			q, other := informerQueue(t, marked), informerQueue(t, nil)
			h, inner := &calls{}, &calls{}
			add(t, q, texts...)
			add(t, other, texts...)
			h.during = func() {
				h.during = nil
				ended := make(chan error, 1)
				t.Go(func() { ended <- popOne(t, other, storeOf(t), inner) })
				synctest.Wait()
				require.Len(t, ended, 1, "results of Pop of the other queue")
			}
			require.NoError(t, popOne(t, q, storeOf(t), h), "the error of Pop")
			var want, plain []string
			for _, text := range texts {
				mark, _ := marked(deploy(text))
				want, plain = append(want, "add "+name(mark)), append(plain, "add "+text)
			}
			require.Equal(t, want, h.notes, "the calls of the handler of the queue with a transformer")
			require.Equal(t, plain, inner.notes, "the calls of the handler of the queue without a transformer")
		}
	})
}

// lock is a lock that knows whether it is held.
type lock struct{ held bool }

func (l *lock) Lock()   { l.held = true }
func (l *lock) Unlock() { l.held = false }

// popOne calls Pop.
func popOne(t *guard.T, q cache.Queue, s cache.Store, h cache.ResourceEventHandler) error {
	t.Did("Pop")
	return todaysinformer.Pop(q, s, h, &lock{})
}

func TestTask5_Pop_takes_a_batch(t *testing.T) {
	guard.Test(t, "If the queue has batches (cache.QueueWithBatch), Pop takes a batch.", func(t *guard.T) {
		q, h, s := newQueue(), &calls{}, transactions{storeOf(t, "a@1")}
		require.NoError(t, q.Update(deploy("a@2")), "the error of Update")
		require.NoError(t, q.Add(deploy("b@3")), "the error of Add")
		t.Did("Update a@2, Add b@3")
		require.NoError(t, popOne(t, firstList{q}, s, h), "the error of Pop")
		require.Equal(t, []string{"a@2 b@3"}, s.states, "the store's content after each write")
		require.Equal(t, []string{"update a@1 to a@2", "first b@3"}, h.notes, "the handler's calls")
	})
}

// firstList is a queue whose batches are of the first list, as those of a RealFIFO without AtomicEvents can be.
type firstList struct{ cache.QueueWithBatch }

func (firstList) HasSynced() bool { return false }

func (q firstList) PopBatch(batch cache.ProcessBatchFunc, single cache.PopProcessFunc) error {
	return q.QueueWithBatch.PopBatch(func(deltas []cache.Delta, _ bool) error { return batch(deltas, true) }, single)
}

func TestTask5_Pop_takes_an_item(t *testing.T) {
	guard.Test(t, "Pop takes one item or one batch from the queue and applies it to the store.", func(t *guard.T) {
		q, h, s := newQueue(), &calls{}, storeOf(t, "a@1")
		plain := struct{ cache.Queue }{q}
		t.Did("a queue without batches has a list of b@2 and an Updated b@3")
		require.NoError(t, q.Replace(deploys("b@2"), "2"), "the error of Replace")
		require.NoError(t, q.Update(deploy("b@3")), "the error of Update")
		require.NoError(t, popOne(t, plain, s, h), "the error of the 1st Pop")
		require.Equal(t, []string{"tombstone of default/a, last a@1", "first b@2"}, h.take(),
			"the handler's calls after the 1st Pop")
		require.NoError(t, popOne(t, plain, s, h), "the error of the 2nd Pop")
		require.Equal(t, []string{"update b@2 to b@3"}, h.take(), "the handler's calls after the 2nd Pop")
		t.Did("a queue without batches has a Replaced of c@4, which belongs to the first list")
		first := oneItem{item: cache.Deltas{delta(cache.Replaced, "c@4")}, initial: true}
		require.NoError(t, popOne(t, first, s, h), "the error of the 3rd Pop")
		require.Equal(t, []string{"first c@4"}, h.take(), "the handler's calls after the 3rd Pop")
	})
}

func TestTask5_Pop_holds_the_lock(t *testing.T) {
	guard.Test(t, "Pop holds the lock while the store changes and the handler is called, and not while it waits for an "+
		"item. A handler that joins takes the lock, too: it receives each change once.", func(t *guard.T) {
		for _, batches := range []bool{true, false} {
			l, h := &lock{}, &calls{}
			under := newQueue()
			var q cache.Queue = under
			if !batches {
				q = struct{ cache.Queue }{q}
			}
			s, moments := storeOf(t), []bool{}
			h.during = func() { moments = append(moments, l.held) }
			s.during = h.during
			done := make(chan error, 1)
			t.Did("Pop of an empty queue, with batches: %v", batches)
			t.Go(func() { done <- todaysinformer.Pop(q, s, h, l) })
			synctest.Wait()
			require.False(t, l.held, "the lock is held while Pop waits")
			t.Did("Add a@1")
			require.NoError(t, q.Add(deploy("a@1")), "the error of Add")
			synctest.Wait()
			require.Len(t, done, 1, "results of Pop")
			require.NotEmpty(t, moments, "moments in which the store changed or the handler was called")
			require.NotContains(t, moments, false, "the lock is held at each write and at each call of the handler")
			require.False(t, l.held, "the lock is held after Pop")
			t.Did("Replace with the list [b@2], Pop")
			require.NoError(t, q.Replace(deploys("b@2"), "2"), "the error of Replace")
			moments = nil
			require.NoError(t, todaysinformer.Pop(q, s, h, l), "the error of Pop")
			require.Len(t, moments, 3, "the moments of one write and two calls of the handler")
			require.NotContains(t, moments, false, "the lock is held at each write and at each call of the handler")
			moments = nil
			t.Did("Resync, Bookmark 3, Pop, Pop")
			require.NoError(t, q.Resync(), "the error of Resync")
			require.NoError(t, under.Bookmark("3"), "the error of Bookmark")
			require.NoError(t, todaysinformer.Pop(q, s, h, l), "the error of Pop of the SyncAll")
			require.NoError(t, todaysinformer.Pop(q, s, h, l), "the error of Pop of the Bookmark")
			require.Len(t, moments, 2, "the moments of one call of the handler and one bookmark")
			require.NotContains(t, moments, false, "the lock is held at each write and at each call of the handler")
			moments = nil
			t.Did("Update b@4, Pop; Delete b@5, Pop")
			require.NoError(t, q.Update(deploy("b@4")), "the error of Update")
			require.NoError(t, todaysinformer.Pop(q, s, h, l), "the error of Pop of the update")
			require.NoError(t, q.Delete(deploy("b@5")), "the error of Delete")
			require.NoError(t, todaysinformer.Pop(q, s, h, l), "the error of Pop of the deletion")
			require.Len(t, moments, 4, "the moments of two writes and two calls of the handler")
			require.NotContains(t, moments, false, "the lock is held at each write and at each call of the handler")
			q.Close()
		}
	})
}

func TestTask5_Lock_is_free_after_an_error(t *testing.T) {
	guard.Test(t, "Pop holds the lock while the store changes and the handler is called, and not while it waits for an "+
		"item. It does not keep the lock after an error.", func(t *guard.T) {
		q, s, l := newQueue(), storeOf(t), &lock{}
		s.refused = []string{"Add a@1"}
		t.Did("Add a@1, which the store refuses; Pop")
		require.NoError(t, q.Add(deploy("a@1")), "the error of Add")
		require.Error(t, todaysinformer.Pop(q, s, &calls{}, l), "the error of Pop")
		require.False(t, l.held, "the lock is held after an item has failed")
		t.Did("Add a@1 and b@2; the store refuses a; Pop")
		require.NoError(t, q.Add(deploy("a@1")), "the error of Add")
		require.NoError(t, q.Add(deploy("b@2")), "the error of Add")
		require.Error(t, todaysinformer.Pop(q, s, &calls{}, l), "the error of Pop")
		require.False(t, l.held, "the lock is held after a batch has failed")
		t.Did("Pop of an item that is not a cache.Deltas")
		err := todaysinformer.Pop(oneItem{item: "no deltas"}, s, &calls{}, l)
		require.Error(t, err, "the error of Pop of an item that is not Deltas")
		require.False(t, l.held, "the lock is held after an item that is not Deltas")
	})
}

func TestTask5_Lock_is_free_after_a_panic(t *testing.T) {
	guard.Test(t, "Pop holds the lock while the store changes and the handler is called, and not while it waits for an "+
		"item. A panic reaches the caller, who may continue: Pop does not keep the lock.", func(t *guard.T) {
		for i, texts := range [][]string{nil, {"a@1"}, {"b@2", "c@3"}, {"x@2", "y@3"}} {
			q, l, h := newQueue(), &lock{}, &calls{during: func() { panic("the handler's") }}
			var s cache.Store = transactions{storeOf(t)}
			if i == 3 {
				s = storeOf(t)
			}
			add(t, q, texts...)
			if texts == nil {
				require.NoError(t, q.Replace(deploys("a@1"), "1"), "the error of Replace")
			}
			t.Did("Pop; the handler panics")
			require.Panics(t, func() { _ = todaysinformer.Pop(q, s, h, l) }, "Pop, after a panic of the handler")
			require.False(t, l.held, "the lock is held after a panic of the handler, with %d changes", len(texts))
			h.during = nil
			add(t, q, "d@4")
			require.NoError(t, todaysinformer.Pop(q, s, h, l), "the error of the next Pop")
			require.Equal(t, "add d@4", h.notes[len(h.notes)-1], "the handler's last call")
			add(t, q, "e@5", "f@6")
			require.NoError(t, todaysinformer.Pop(q, s, h, l), "the error of the Pop of a batch")
			require.Equal(t, "add f@6", h.notes[len(h.notes)-1], "the handler's last call")
		}
	})
}

func TestTask5_Pop_holds_the_lock_for_an_item(t *testing.T) {
	guard.Test(t, "Pop holds the lock while the store changes and the handler is called, and not while it waits for an "+
		"item. An item with many deltas is one step for a handler that joins.", func(t *guard.T) {
		l, h := &counted{}, &calls{}
		deltas := cache.Deltas{delta(cache.Added, "a@1"), delta(cache.Updated, "a@2"), delta(cache.Deleted, "a@3")}
		t.Did("Pop of a queue whose item has three deltas")
		require.NoError(t, todaysinformer.Pop(oneItem{item: deltas}, storeOf(t), h, l), "the error of Pop")
		require.Equal(t, []string{"add a@1", "update a@1 to a@2", "delete a@3"}, h.notes, "the handler's calls")
		require.Equal(t, 1, l.locked, "calls of Lock")
	})
}

// oneItem is a queue without batches that has one item, as a DeltaFIFO has.
type oneItem struct {
	cache.Queue
	item    any
	initial bool
}

func (q oneItem) Pop(process cache.PopProcessFunc) (any, error) {
	return q.item, process(q.item, q.initial)
}

func TestTask5_Pop_holds_the_lock_for_a_batch(t *testing.T) {
	guard.Test(t, "Pop holds the lock while the store changes and the handler is called, and not while it waits for an "+
		"item. The whole batch is one step for a handler that joins.", func(t *guard.T) {
		for kind, with := range guard.InOrder(kindsOfStore) {
			q, h, l, s := newQueue(), &calls{}, &counted{}, storeOf(t, "a@1", "b@2")
			h.during = func() { l.moments = append(l.moments, l.held) }
			s.during = h.during
			t.Did("a store %s has a@1 and b@2", kind)
			t.Did("Delete b@4, Update a@5, Add c@6, Pop")
			require.NoError(t, q.Delete(deploy("b@4")), "the error of Delete")
			require.NoError(t, q.Update(deploy("a@5")), "the error of Update")
			require.NoError(t, q.Add(deploy("c@6")), "the error of Add")
			require.NoError(t, todaysinformer.Pop(q, with(s), h, l), "the error of Pop")
			require.Equal(t, mixedCalls, h.notes, "the handler's calls")
			require.NotContains(t, l.moments, false, "the lock is held at each write and at each call of the handler")
			require.Equal(t, 1, l.locked, "calls of Lock")
		}
	})
}

// counted is a lock that counts.
type counted struct {
	lock
	locked  int
	moments []bool
}

func (c *counted) Lock() {
	c.locked++
	c.lock.Lock()
}

func TestTask5_Pop_returns_errors(t *testing.T) {
	guard.Test(t, "Pop returns the error of an item that cannot be applied.", func(t *guard.T) {
		q, h, s := newQueue(), &calls{}, storeOf(t)
		s.refused = []string{"Add a@1"}
		t.Did("Add a@1, which the store refuses")
		require.NoError(t, q.Add(deploy("a@1")), "the error of Add")
		require.ErrorIs(t, popOne(t, q, s, h), errRefused, "the error of Pop")
		require.NoError(t, q.Add(deploy("a@1")), "the error of Add")
		require.ErrorIs(t, popOne(t, struct{ cache.Queue }{q}, s, h), errRefused,
			"the error of Pop of a queue without batches")
		t.Did("Add a@1 and b@2; the store refuses a")
		require.NoError(t, q.Add(deploy("a@1")), "the error of Add")
		require.NoError(t, q.Add(deploy("b@2")), "the error of Add")
		require.ErrorContains(t, popOne(t, q, s, h), errRefused.Error(), "the error of Pop of a batch")
		t.Did("an item that is not a cache.Deltas")
		require.Error(t, popOne(t, oneItem{item: "no deltas"}, s, h), "the error of Pop of an item that is not Deltas")
		require.Equal(t, []string{"add b@2"}, h.notes, "the handler's calls")
		t.Rule("If the queue is empty and closed, Pop returns cache.ErrFIFOClosed.")
		q.Close()
		require.ErrorIs(t, popOne(t, q, s, h), cache.ErrFIFOClosed, "the error of Pop of a closed queue")
		require.ErrorIs(t, popOne(t, struct{ cache.Queue }{q}, s, h), cache.ErrFIFOClosed,
			"the error of Pop of a closed queue without batches")
	})
}
