package workqueue_test

// The work of task 3's calls.

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"

	workqueue "client-go-workshop/06-workqueue"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask3_Work_does_not_grow_with_the_number_of_items(t *testing.T) {
	guard.Test(t, "The work for an item does not grow with the number of other items: the queue does not look at "+
		"each of them.", func(t *guard.T) {
		few, many := callsWith(t, 10), callsWith(t, 1_000)
		require.LessOrEqual(t, many, few+10, "calls of config.Clock and config.Queue with 1000 items, compared with 10 items")
	})
}

// callsWith counts the calls of the clock and of the layer below for one item, with n other items delayed.
func callsWith(t *guard.T, n int) int {
	counted := &countedClock{}
	below := &hooked{TypedInterface: workqueue.NewTyped[string](), hook: func(string) { counted.calls.Add(1) }}
	q := delaying(t, clientgo.TypedDelayingQueueConfig[string]{Clock: counted, Queue: below})
	for i := range n {
		q.delayed().AddAfter(fmt.Sprint(i), time.Hour)
	}
	t.Did("with %d delayed items: AddAfter web, 2h; AddAfter web, 1s; 1s passes", n)
	synctest.Wait()
	before := counted.calls.Load()
	q.delayed().AddAfter("web", 2*time.Hour)
	q.delayed().AddAfter("web", time.Second)
	time.Sleep(time.Second)
	synctest.Wait()
	return int(counted.calls.Load() - before)
}

func TestTask3_Idle_queue_does_not_poll(t *testing.T) {
	guard.Test(t, "The queue does not poll: while nothing is due, it sleeps. client-go's looks every 10 seconds, "+
		"and yours may look as often.", func(t *guard.T) {
		counted := &countedClock{}
		below := &hooked{TypedInterface: workqueue.NewTyped[string](), hook: func(string) { counted.calls.Add(1) }}
		q := delaying(t, clientgo.TypedDelayingQueueConfig[string]{Clock: counted, Queue: below})
		q.AddAfter("web", 2*time.Hour)
		synctest.Wait()
		before := counted.calls.Load()
		q.pass(time.Hour)
		const most = 2_000 // client-go's makes 1080
		require.LessOrEqual(t, int(counted.calls.Load()-before), most, "calls of config.Clock and config.Queue in an hour")
	})
}

func TestTask3_AddAfter_does_not_look_at_every_item(t *testing.T) {
	// A process of its own has no other test beside it, whose work would count.
	guard.Race(t, "The work for an item does not grow with the number of other items: AddAfter neither searches nor sorts "+
		"all of them.", func(t *guard.T) {
		t.Did("AddAfter of 500 new items, and of 500 delayed ones with an earlier time, with 100 delayed items and with " +
			"60,000; keep the quickest of 5 rounds")
		few, many := quickestDelays(100), quickestDelays(60_000)
		require.Less(t, many, 10*few+5*time.Millisecond, "processor time with 60,000 items, with 100 it is %v", few)
	})
}

// quickestDelays returns the processor time of 1000 calls of AddAfter, with n other items delayed.
func quickestDelays(n int) time.Duration {
	q, best := workqueue.NewTypedDelayingQueue[int](), time.Hour
	defer q.ShutDown()
	const first, marker = -1, -2
	settle := func() { // the calls before have been noted when the marker comes
		q.AddAfter(marker, 1)
		q.Get()
		q.Done(marker)
	}
	q.AddAfter(first, time.Hour) // is always due before the others, so that no call wakes the queue's goroutine
	for i := range n {
		q.AddAfter(i, 100*time.Hour+time.Duration(i)*time.Second)
	}
	settle()
	for round := range 5 {
		best = min(best, guard.ProcessorTime(func() {
			for i := range 500 {
				step := round*500 + i
				q.AddAfter(n+step, 200*time.Hour-time.Duration(i)*time.Second)
				q.AddAfter(step*37%n, 50*time.Hour-time.Duration(step)*time.Second)
			}
			settle()
		}))
	}
	return best
}
