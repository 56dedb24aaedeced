package todaysinformer_test

// Task 4: what PopBatch returns.

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask4_Errors_are_returned(t *testing.T) {
	guard.Test(t, "PopBatch returns the errors of processBatch and processSingle.", func(t *guard.T) {
		q, p := newQueue(), &popped{}
		p.fail = func(call string) error { return fmt.Errorf("%w: cannot process %s", errRefused, call) }
		add(t, q, "a@1", "b@2")
		t.Did("Replace with the list [c@3]; both functions fail")
		require.NoError(t, q.Replace(deploys("c@3"), "3"), "the error of Replace")
		add(t, q, "d@4")
		p.drain(t, q)
		for i, err := range p.errs {
			require.ErrorIs(t, err, errRefused, "error %d of PopBatch", i+1)
		}
		err := errors.Join(p.errs...)
		for _, call := range []string{"batch: Added a@1, Added b@2", "single: ReplacedAll [c@3] at 3", "single: Added d@4"} {
			require.ErrorContains(t, err, "cannot process "+call, "the errors of PopBatch")
		}
		for item, write := range guard.InOrder(map[string]func() error{
			"Added b@3":     func() error { return q.Add(deploy("b@3")) },
			"Bookmark at 4": func() error { return q.Bookmark("4") },
			"SyncAll":       func() error { return q.Resync() },
		}) {
			q, p = newQueue(), &popped{fail: p.fail}
			add(t, q, "a@1", "b@2")
			t.Did("%s; both functions fail", item)
			require.NoError(t, write(), "the error of the write")
			p.drain(t, q)
			for i, err := range p.errs {
				require.ErrorIs(t, err, errRefused, "error %d of PopBatch", i+1)
			}
			err := errors.Join(p.errs...)
			for _, call := range []string{"batch: Added a@1, Added b@2", "single: " + item} {
				require.ErrorContains(t, err, "cannot process "+call, "the errors of PopBatch")
			}
		}
		q, p = newQueue(), &popped{fail: p.fail}
		add(t, q, "a@1", "b@2")
		t.Did("PopBatch; processBatch fails")
		require.ErrorIs(t, p.pop(q), errRefused, "the error of PopBatch")
	})
}

func TestTask4_Failed_items_do_not_come_back(t *testing.T) {
	guard.Test(t, "It does not put the items back. A newer change of the same object may have been processed by "+
		"then.", func(t *guard.T) {
		q, p := newQueue(), &popped{}
		p.fail = func(call string) error { return errors.New("cannot process " + call) }
		add(t, q, "a@1", "b@2")
		t.Did("Replace with the list [c@3]; both functions fail")
		require.NoError(t, q.Replace(deploys("c@3"), "3"), "the error of Replace")
		add(t, q, "d@4")
		p.drain(t, q)
		require.Equal(t, []string{"batch: Added a@1, Added b@2", "single: ReplacedAll [c@3] at 3", "single: Added d@4"},
			p.calls, "the calls of both functions")
	})
}

func TestTask4_Closed_queue(t *testing.T) {
	guard.Test(t, "If the queue is empty and closed, PopBatch returns cache.ErrFIFOClosed. What came before is "+
		"processed.", func(t *guard.T) {
		q, p := newQueue(), &popped{}
		add(t, q, "a@1", "b@2")
		t.Did("Close, PopBatch")
		q.Close()
		require.NoError(t, p.pop(q), "the error of PopBatch of a closed queue with two items")
		require.Equal(t, []string{"batch: Added a@1, Added b@2"}, p.calls, "the calls of both functions")
		require.ErrorIs(t, p.pop(q), cache.ErrFIFOClosed, "the error of PopBatch of a closed and empty queue")
	})
}
