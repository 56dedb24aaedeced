package todaysinformer_test

// Task 4: a queue that hands out many changes at once.

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/layers/clientgo"
	todaysinformer "client-go-workshop/labs/todays-informer"
)

// popped is what one consumer has received from a queue.
type popped struct {
	// calls are those of both functions: "batch: Added a@1, Added b@2", "single: Added a@1".
	calls []string
	// sizes are the sizes of the batches and of what was alone.
	sizes []int
	// initial has the isInInitialList of each call.
	initial []bool
	// errs are the errors of PopBatch, except for cache.ErrFIFOClosed.
	errs []error
	// fail returns the error of a call.
	fail func(call string) error
}

func (p *popped) received(kind string, deltas []cache.Delta, initial bool) error {
	texts := []string{}
	for _, d := range deltas {
		texts = append(texts, show(d))
	}
	call := kind + ": " + strings.Join(texts, ", ")
	p.calls, p.sizes, p.initial = append(p.calls, call), append(p.sizes, len(deltas)), append(p.initial, initial)
	if p.fail != nil {
		return p.fail(call)
	}
	return nil
}

// pop calls PopBatch once.
func (p *popped) pop(q *todaysinformer.BatchQueue) error {
	return q.PopBatch(func(deltas []cache.Delta, initial bool) error {
		return p.received("batch", deltas, initial)
	}, func(obj any, initial bool) error {
		deltas, ok := obj.(cache.Deltas)
		if !ok {
			p.calls = append(p.calls, fmt.Sprintf("single: %T instead of Deltas", obj))
			return nil
		}
		return p.received("single", deltas, initial)
	})
}

// drain closes the queue and calls PopBatch until nothing is left.
func (p *popped) drain(t *guard.T, q *todaysinformer.BatchQueue) *popped {
	t.Did("Close, and PopBatch until the queue is empty")
	q.Close()
	for {
		err := p.pop(q)
		if errors.Is(err, cache.ErrFIFOClosed) {
			return p
		}
		if err != nil {
			p.errs = append(p.errs, err)
		}
	}
}

// order returns the deltas in the order in which they were processed.
func (p *popped) order() (all []string) {
	for _, call := range p.calls {
		_, deltas, _ := strings.Cut(call, ": ")
		all = append(all, strings.Split(deltas, ", ")...)
	}
	return all
}

// add adds Deployments.
func add(t *guard.T, q cache.Queue, texts ...string) {
	for _, text := range texts {
		t.Did("Add %s", text)
		require.NoError(t, q.Add(deploy(text)), "the error of Add")
	}
}

func TestTask4_Waiting_changes_are_one_batch(t *testing.T) {
	guard.Test(t, "Changes of different objects that are waiting go to processBatch together, 1000 at "+
		"most.", func(t *guard.T) {
		q, p := newQueue(), &popped{}
		add(t, q, "a@1", "b@2", "kube-system/a@2")
		t.Did("Update c@3, Delete d@4")
		require.NoError(t, q.Update(deploy("c@3")), "the error of Update")
		require.NoError(t, q.Delete(deploy("d@4")), "the error of Delete")
		require.NoError(t, q.Delete(cache.DeletedFinalStateUnknown{Key: "default/e"}), "the error of Delete of a tombstone")
		t.Did("Delete of a tombstone of default/e, PopBatch")
		require.NoError(t, p.pop(q), "the error of PopBatch")
		require.Equal(t, []string{
			"batch: Added a@1, Added b@2, Added kube-system/a@2, Updated c@3, Deleted d@4, Deleted tombstone of default/e",
		}, p.calls, "the calls of both functions")

		p = &popped{}
		t.Did("a batch ends at a second change of b; a later one has the same objects, behind Bookmark 4")
		add(t, q, "a@1", "b@2", "b@3")
		require.NoError(t, q.Bookmark("4"), "the error of Bookmark")
		add(t, q, "a@5", "b@6", "c@7")
		p.drain(t, q)
		require.Equal(t, "batch: Added a@5, Added b@6, Added c@7", p.calls[len(p.calls)-1], "the last call")
	})
}

func TestTask4_Batch_has_a_thousand_at_most(t *testing.T) {
	guard.Test(t, "Changes of different objects that are waiting go to processBatch together, 1000 at most: the lock of "+
		"the store is held for a whole batch.", func(t *guard.T) {
		q, p := newQueue(), &popped{}
		t.Did("Add 2500 objects")
		for i := range 2_500 {
			require.NoError(t, q.Add(deploy(fmt.Sprintf("d%d@%d", i, i))), "the error of Add")
		}
		p.drain(t, q)
		require.Equal(t, []int{1_000, 1_000, 500}, p.sizes, "the sizes of the batches")

		t.Rule("A ReplacedAll, a SyncAll and a Bookmark are not in a batch, and no batch has two changes of one object: the " +
			"last place of a batch is no exception.")
		for last, write := range guard.InOrder(map[string]func() error{
			"Added d2500@2":          func() error { return q.Add(deploy("d2500@2")) },
			"ReplacedAll [e@3] at 3": func() error { return q.Replace(deploys("e@3"), "3") },
			"Bookmark at 4":          func() error { return q.Bookmark("4") },
			"SyncAll":                func() error { return q.Resync() },
		}) {
			// client-go's queue is locked while it processes an item and 2000 are waiting
			q, p = todaysinformer.NewBatchQueue(clientgo.Layers.NewRealFIFO(fifoOptions)), &popped{}
			t.Did("Add 2999 objects to a BatchQueue on client-go's RealFIFO, and then %s", last)
			for i := range 2_999 {
				require.NoError(t, q.Add(deploy(fmt.Sprintf("d%d@%d", i, i))), "the error of Add")
			}
			require.NoError(t, write(), "the error of the write")
			p.drain(t, q)
			require.Equal(t, []int{1_000, 1_000, 999, 1}, p.sizes, "the sizes of the batches, and of what is alone")
			require.Equal(t, "single: "+last, p.calls[len(p.calls)-1], "the last call")
		}
	})
}

func TestTask4_Batch_belongs_to_its_consumer(t *testing.T) {
	guard.Test(t, "Changes of different objects that are waiting go to processBatch together, 1000 at most. The consumer "+
		"of another queue may receive a batch meanwhile.", func(t *guard.T) {
		q, other, got := newQueue(), newQueue(), ""
		add(t, q, "a@1", "b@2")
		add(t, other, "x@3", "y@4", "z@5")
		t.Did("PopBatch of a queue with a and b; meanwhile PopBatch of one with x, y and z")
		require.NoError(t, q.PopBatch(func(deltas []cache.Delta, _ bool) error {
			require.NoError(t, new(popped).pop(other), "the error of PopBatch of the other queue")
			for _, d := range deltas {
				got += show(d) + ", "
			}
			return nil
		}, func(any, bool) error { return nil }), "the error of PopBatch")
		require.Equal(t, "Added a@1, Added b@2, ", got, "the batch after the other one")

		t.Rule("The slice that processBatch receives belongs to it: a consumer may keep a batch until later.")
		var batches [][]cache.Delta
		for _, texts := range [][]string{{"a@1", "b@2"}, {"c@3", "d@4"}} {
			add(t, q, texts...)
			t.Did("PopBatch; the consumer keeps the batch")
			require.NoError(t, q.PopBatch(func(deltas []cache.Delta, _ bool) error {
				batches = append(batches, deltas)
				return nil
			}, func(any, bool) error { return nil }), "the error of PopBatch")
		}
		require.Equal(t, "Added a@1", show(batches[0][0]), "the first delta of the first batch, after the second one")
		t.Did("append to the first batch")
		_ = append(batches[0], delta(cache.Added, "e@5"))
		require.Equal(t, "Added c@3", show(batches[1][0]), "the first delta of the second batch")
	})
}

func TestTask4_Order_of_arrival(t *testing.T) {
	guard.Test(t, "PopBatch removes items and processes them in the order of arrival.", func(t *guard.T) {
		q, p := newQueue(), &popped{}
		add(t, q, "a@1", "b@2", "a@3", "c@4", "c@5", "b@6")
		p.drain(t, q)
		require.Equal(t, []string{"Added a@1", "Added b@2", "Added a@3", "Added c@4", "Added c@5", "Added b@6"}, p.order(),
			"the deltas in the order of the calls")

		q, p = newQueue(), &popped{}
		add(t, q, "a@1", "b@2", "a@3", "c@4")
		t.Did("PopBatch, and then Pop until the queue is empty")
		require.NoError(t, p.pop(q), "the error of PopBatch")
		q.Close()
		for err := error(nil); err == nil; {
			_, err = q.Pop(func(obj any, initial bool) error { return p.received("Pop", obj.(cache.Deltas), initial) })
		}
		require.Equal(t, []string{"Added a@1", "Added b@2", "Added a@3", "Added c@4"}, p.order(),
			"the deltas in the order of the calls")
	})
}

func TestTask4_Consumer_may_write(t *testing.T) {
	guard.Test(t, "PopBatch removes items and processes them in the order of arrival. An item that arrives while others "+
		"are processed comes after them, and each item is processed once.", func(t *guard.T) {
		for _, texts := range [][]string{{"a@1"}, {"a@1", "b@2"}, {"a@1", "b@2", "a@3"}} {
			q, p, want := newQueue(), &popped{}, []string{}
			add(t, q, texts...)
			for _, text := range append(texts, "c@4", "d@5", "e@6") {
				want = append(want, "Added "+text)
			}
			later := []string{"c@4", "d@5", "e@6"}
			p.fail = func(string) error {
				if len(later) > 0 {
					add(t, q, later[0])
					later = later[1:]
				}
				return nil
			}
			t.Did("PopBatch, until c, d and e have arrived: each call of the consumer adds one of them")
			for len(later) > 0 {
				require.NoError(t, p.pop(q), "the error of PopBatch")
			}
			p.drain(t, q)
			require.Equal(t, want, p.order(), "the deltas in the order of the calls")
		}
	})
}

func TestTask4_Batch_has_each_object_once(t *testing.T) {
	guard.Test(t, "No batch has two changes of one object, because the old state of the second one is not in the "+
		"store yet.", func(t *guard.T) {
		q, p := newQueue(), &popped{}
		add(t, q, "a@1", "b@2", "a@3")
		t.Did("Delete of a tombstone of default/b; Add b@5, Add kube-system/b@6")
		tombstone := cache.DeletedFinalStateUnknown{Key: "default/b", Obj: deploy("b@2")}
		require.NoError(t, q.Delete(tombstone), "the error of Delete")
		require.NoError(t, q.Add(deploy("b@5")), "the error of Add")
		require.NoError(t, q.Add(deploy("kube-system/b@6")), "the error of Add")
		p.drain(t, q)
		require.Contains(t, p.calls, "batch: Added a@1, Added b@2", "the calls of both functions")
		require.Len(t, p.order(), 6, "the deltas in the order of the calls")
		for _, call := range p.calls {
			require.LessOrEqual(t, strings.Count(call, " a@"), 1, "changes of default/a in the call %q", call)
			ofB := strings.Count(call, " b@") + strings.Count(call, " default/b")
			require.LessOrEqual(t, ofB, 1, "changes of default/b in the call %q", call)
		}

		writes := map[string]func() error{
			"Add b":                   func() error { return q.Add(deploy("b@2")) },
			"Update b":                func() error { return q.Update(deploy("b@2")) },
			"Delete b":                func() error { return q.Delete(deploy("b@2")) },
			"Delete a tombstone of b": func() error { return q.Delete(tombstone) },
		}
		for first, write := range guard.InOrder(writes) {
			for second, next := range guard.InOrder(writes) {
				q, p = newQueue(), &popped{}
				t.Did("Add a, %s, %s; PopBatch until the queue is empty", first, second)
				require.NoError(t, q.Add(deploy("a@1")), "the error of Add")
				require.NoError(t, write(), "the error of the first change of b")
				require.NoError(t, next(), "the error of the second change of b")
				p.drain(t, q)
				require.Equal(t, []int{2, 1}, p.sizes, "the sizes of the batch and of what is alone, %s and %s", first, second)
			}
		}
	})
}

func TestTask4_Whole_store_is_never_in_a_batch(t *testing.T) {
	guard.Test(t, "A ReplacedAll, a SyncAll and a Bookmark are not in a batch: processSingle receives each of them "+
		"alone, as cache.Deltas.", func(t *guard.T) {
		q, p := newQueue(), &popped{}
		add(t, q, "a@1", "b@2")
		t.Did("Replace with the list [c@3] at version 3, Bookmark 4, Resync")
		require.NoError(t, q.Replace(deploys("c@3"), "3"), "the error of Replace")
		require.NoError(t, q.Bookmark("4"), "the error of Bookmark")
		require.NoError(t, q.Resync(), "the error of Resync")
		add(t, q, "d@5", "e@6")
		p.drain(t, q)
		require.Equal(t, []string{
			"batch: Added a@1, Added b@2", "single: ReplacedAll [c@3] at 3", "single: Bookmark at 4", "single: SyncAll",
			"batch: Added d@5, Added e@6",
		}, p.calls, "the calls of both functions")

		for want, write := range guard.InOrder(map[string]func() error{
			"ReplacedAll [c@3] at 3": func() error { return q.Replace(deploys("c@3"), "3") },
			"Bookmark at 4":          func() error { return q.Bookmark("4") },
			"SyncAll":                func() error { return q.Resync() },
		}) {
			q, p = newQueue(), &popped{}
			add(t, q, "a@1", "b@2")
			t.Did("%s, in the middle", want)
			require.NoError(t, write(), "the error of the write")
			add(t, q, "a@5", "b@6")
			p.drain(t, q)
			require.Equal(t, []string{"batch: Added a@1, Added b@2", "single: " + want, "batch: Added a@5, Added b@6"}, p.calls,
				"the calls of both functions")
		}
	})
}

func TestTask4_Single_change_is_no_batch(t *testing.T) {
	guard.Test(t, "A change that is alone goes to processSingle.", func(t *guard.T) {
		q, p := newQueue(), &popped{}
		add(t, q, "a@1")
		t.Did("PopBatch")
		require.NoError(t, p.pop(q), "the error of PopBatch")
		require.Equal(t, []string{"single: Added a@1"}, p.calls, "the calls of both functions")

		add(t, q, "a@2", "a@3", "b@4", "c@5", "c@6", "c@7")
		p.drain(t, q)
		for i, call := range p.calls {
			require.Equal(t, p.sizes[i] == 1, strings.HasPrefix(call, "single"), "whether the call %q is one of processSingle",
				call)
		}
	})
}

func TestTask4_HasSynced_waits_for_the_list(t *testing.T) {
	guard.Test(t, "HasSynced does not become true before the first list has been processed. The list is one item: the "+
		"store is empty until it is processed.", func(t *guard.T) {
		q, p := newQueue(), &popped{}
		t.Did("Bookmark 1, Replace with the list [a@1 b@2], Add c@3, Add d@4")
		require.NoError(t, q.Bookmark("1"), "the error of Bookmark")
		require.NoError(t, q.Replace(deploys("a@1", "b@2"), "2"), "the error of Replace")
		require.NoError(t, q.Add(deploy("c@3")), "the error of Add")
		require.NoError(t, q.Add(deploy("d@4")), "the error of Add")
		early := []string{}
		p.fail = func(call string) error {
			if !strings.HasPrefix(call, "batch") && cache.IsDone(q.HasSyncedChecker()) {
				early = append(early, call)
			}
			return nil
		}
		p.drain(t, q)
		require.Empty(t, early, "calls up to the list in which HasSynced is true already")
		require.True(t, q.HasSynced(), "HasSynced after the list")
		t.Rule("HasSynced does not become true before the first list has been processed: its item has isInInitialList, " +
			"and later items do not.")
		require.Equal(t, []bool{true, true, false}, p.initial, "isInInitialList of the calls %v", p.calls)
	})
}

func TestTask4_Many_writers(t *testing.T) {
	guard.Race(t, "PopBatch removes items and processes them in the order of arrival: no change is lost, and those of "+
		"one writer stay in order.", func(t *guard.T) {
		q, p := newQueue(), &popped{}
		drained := make(chan bool)
		t.Go(func() {
			defer close(drained)
			for !errors.Is(p.pop(q), cache.ErrFIFOClosed) {
			}
		})
		var written [2]int
		t.Did("Add by one goroutine, Update by another, and PopBatch by a third")
		guard.Storm(
			func(i int) { written[0]++; _ = q.Add(deploy(fmt.Sprintf("first-%d@%d", i%7, i))) },
			func(i int) { written[1]++; _ = q.Update(deploy(fmt.Sprintf("second-%d@%d", i%7, i))) },
		)
		q.Close()
		<-drained
		versions := map[string][]int{}
		for _, d := range p.order() {
			writer, number, _ := strings.Cut(d, "-")
			_, text, _ := strings.Cut(number, "@")
			version, err := strconv.Atoi(text)
			require.NoError(t, err, "the error of reading the version in the delta %q", d)
			versions[writer] = append(versions[writer], version)
		}
		for i, writer := range []string{"Added first", "Updated second"} {
			require.Len(t, versions[writer], written[i], "the deltas %s that were received", writer)
			require.True(t, slices.IsSorted(versions[writer]), "the deltas %s are in order", writer)
		}
	})
}
