package todaysinformer_test

// Task 4: what PopBatch waits for.

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/gate"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/layers"
	todaysinformer "client-go-workshop/labs/todays-informer"
)

func TestTask4_Waits_for_the_first_change_only(t *testing.T) {
	guard.Test(t, "It waits while the queue is empty.", func(t *guard.T) {
		q, p := newQueue(), &popped{}
		done := make(chan error, 1)
		t.Did("PopBatch of an empty queue")
		t.Cleanup(q.Close)
		t.Go(func() { done <- p.pop(q) })
		synctest.Wait()
		require.Empty(t, done, "PopBatch has returned from an empty queue")
		add(t, q, "a@1")
		synctest.Wait()
		t.Rule("PopBatch does not wait for a batch to fill. One event in a quiet hour must not wait for a second one.")
		require.Equal(t, []string{"single: Added a@1"}, p.calls, "the calls of both functions")
		require.Len(t, done, 1, "results of PopBatch")
	})
}

func TestTask4_Later_changes_wait_for_the_next_call(t *testing.T) {
	guard.Test(t, "PopBatch does not wait for a batch to fill.", func(t *guard.T) {
		q, p := newQueue(), &popped{}
		for _, texts := range [][]string{{"a@1", "b@2"}, {"a@3"}, {"b@4", "c@5"}} {
			add(t, q, texts...)
			t.Did("PopBatch")
			ended := make(chan error, 1)
			t.Go(func() { ended <- p.pop(q) })
			synctest.Wait()
			require.Len(t, ended, 1, "results of PopBatch, after %d changes", len(texts))
		}
		require.Equal(t, []string{"batch: Added a@1, Added b@2", "single: Added a@3", "batch: Added b@4, Added c@5"},
			p.calls, "the calls of both functions")
		q.Close()
	})
}

// slowFIFO is a RealFIFO whose Add puts the item into the queue, and returns when the gate is open.
type slowFIFO struct {
	layers.RealFIFO
	door gate.Gate
}

func (f slowFIFO) Add(obj any) error {
	err := f.RealFIFO.Add(obj)
	f.door.Wait()
	return err
}

func TestTask4_Item_can_leave_before_it_is_counted(t *testing.T) {
	guard.Test(t, "PopBatch does not wait for a batch to fill. A writer counts an item after it is in the queue, so "+
		"PopBatch can take an item that is not counted yet.", func(t *guard.T) {
		fifo, p := slowFIFO{newFIFO(), gate.New(t)}, &popped{}
		q := todaysinformer.NewBatchQueue(fifo)
		t.Cleanup(q.Close)
		t.Did("Add a@1, which is in the queue, and Add has not returned; PopBatch")
		t.Go(func() { _ = q.Add(deploy("a@1")) })
		synctest.Wait()
		t.Go(func() { _ = p.pop(q) })
		synctest.Wait()
		require.Equal(t, []string{"single: Added a@1"}, p.calls, "the calls of both functions")
		t.Did("PopBatch again, and then Update b@2")
		t.Go(func() { _ = p.pop(q) })
		synctest.Wait()
		require.NoError(t, q.Update(deploy("b@2")), "the error of Update")
		synctest.Wait()
		require.Equal(t, []string{"single: Added a@1", "single: Updated b@2"}, p.calls, "the calls of both functions")
	})
}

func TestTask4_Refused_object_is_not_waited_for(t *testing.T) {
	guard.Test(t, "PopBatch does not wait for a batch to fill. An object that the queue has refused never "+
		"comes.", func(t *guard.T) {
		q, p := newQueue(), &popped{}
		t.Cleanup(q.Close)
		t.Did("Add of an object without a key, which is an error; Add a@1; PopBatch")
		require.Error(t, q.Add("no object"), "the error of Add")
		require.NoError(t, q.Add(deploy("a@1")), "the error of Add")
		t.Go(func() { _ = p.pop(q) })
		synctest.Wait()
		require.Equal(t, []string{"single: Added a@1"}, p.calls, "the calls of both functions")
	})
}

func TestTask4_Item_of_a_panic_is_not_waited_for(t *testing.T) {
	guard.Test(t, "PopBatch does not wait for a batch to fill. An item whose processing ended in a panic has left the "+
		"queue, too.", func(t *guard.T) {
		for _, texts := range [][]string{{"a@1"}, {"a@1", "b@2"}} {
			q, p := newQueue(), &popped{fail: func(string) error { panic("the consumer's") }}
			t.Cleanup(q.Close)
			add(t, q, texts...)
			t.Did("PopBatch; the function that it calls panics")
			require.Panics(t, func() { _ = p.pop(q) }, "PopBatch, after a panic of the function that it calls")
			p = &popped{}
			add(t, q, "c@4")
			t.Did("PopBatch")
			t.Go(func() { _ = p.pop(q) })
			synctest.Wait()
			require.Equal(t, []string{"single: Added c@4"}, p.calls, "the calls of both functions")
		}

		for _, bad := range []string{"batch: Added a@1, Added b@2", "single: Bookmark at 3"} {
			q, p := newQueue(), &popped{}
			t.Cleanup(q.Close)
			add(t, q, "a@1", "b@2")
			require.NoError(t, q.Bookmark("3"), "the error of Bookmark")
			t.Did("Bookmark 3; PopBatch, until the call %q panics", bad)
			p.fail = func(call string) error {
				if call == bad {
					panic("the consumer's")
				}
				return nil
			}
			require.Panics(t, func() {
				for !slices.Contains(p.calls, bad) {
					_ = p.pop(q)
				}
			}, "PopBatch, after a panic of the function that it calls")
			add(t, q, "c@4")
			t.Did("PopBatch, until c@4 is processed")
			t.Go(func() {
				for err := error(nil); err == nil && !slices.Contains(p.calls, "single: Added c@4"); {
					err = p.pop(q)
				}
			})
			synctest.Wait()
			require.Contains(t, p.calls, "single: Added c@4", "the calls of both functions")
		}
	})
}
