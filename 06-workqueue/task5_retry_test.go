package workqueue_test

// Task 5: rate-limited retry.

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"
	testclock "k8s.io/utils/clock/testing"

	workqueue "client-go-workshop/06-workqueue"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/modeltest"
)

func TestTask5_AddRateLimited_waits_for_the_limiter(t *testing.T) {
	guard.Test(t, "AddRateLimited counts a failure of item, and adds it when the limiter's wait is "+
		"over.", func(t *guard.T) {
		q := newRateLimitingQueue(t, exponential(time.Second, time.Minute))
		for _, wait := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			q.AddRateLimited("web")
			q.pass(wait - 1)
			require.Equal(t, []string{}, q.All(), "the items in the queue one nanosecond before %v", wait)
			q.pass(1)
			require.Equal(t, []string{"web"}, q.All(), "the items in the queue after %v", wait)
			q.Done("web")
		}
	})
}

func TestTask5_The_queue_never_gives_up(t *testing.T) {
	guard.Test(t, "AddRateLimited counts a failure of item, and adds it when the limiter's wait is over. The "+
		"queue never gives up; only the controller can.", func(t *guard.T) {
		q := newRateLimitingQueue(t, exponential(time.Second, time.Minute))
		t.Did("1001 times: AddRateLimited web, 1m0s passes, Get and Done")
		limited := q.limited()
		for i := range 1_001 {
			limited.AddRateLimited("web")
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(t, 1, limited.Len(), "Len a minute after failure number %d", i+1)
			item, _ := limited.Get()
			limited.Done(item)
		}
		require.Equal(t, 1_001, q.NumRequeues("web"), "NumRequeues of web")
		for _, wait := range []time.Duration{0, -time.Second} {
			now := newRateLimitingQueue(t, &noCount{wait: wait})
			now.AddRateLimited("web")
			require.Equal(t, 1, now.Len(), "Len after AddRateLimited, with a limiter that answers %v", wait)
		}
	})
}

func TestTask5_Limiter_may_wait_for_days(t *testing.T) {
	guard.Test(t, "AddRateLimited counts a failure of item, and adds item when the limiter's wait is over: no sooner, "+
		"however long the wait is.", func(t *guard.T) {
		for _, wait := range []time.Duration{20*time.Minute + 1, 48 * time.Hour, 400 * 24 * time.Hour} {
			clock := testclock.NewFakeClock(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
			q := workqueue.NewTypedRateLimitingQueueWithConfig(&noCount{wait: wait},
				clientgo.TypedRateLimitingQueueConfig[string]{Clock: clock})
			t.Cleanup(q.ShutDown)
			t.Did("AddRateLimited web, with a limiter that answers %v", wait)
			q.AddRateLimited("web")
			synctest.Wait()
			clock.Step(wait - time.Nanosecond)
			synctest.Wait()
			require.Equal(t, 0, q.Len(), "Len a nanosecond before the wait is over")
			clock.Step(time.Nanosecond)
			synctest.Wait()
			require.Equal(t, 1, q.Len(), "Len when the wait is over")
		}
	})
}

func TestTask5_ShutDown_ends_a_drain(t *testing.T) {
	guard.Test(t, "AddRateLimited counts a failure of item even during a drain, which drops the item. ShutDown "+
		"still ends the drain.", func(t *guard.T) {
		q := newRateLimitingQueue(t, exponential(time.Second, time.Minute))
		q.Add("web")
		require.Equal(t, "web", q.Get(), "Get")
		drain := q.DrainLater()
		require.Equal(t, waits, drain.result(), "ShutDownWithDrain with web being processed")
		q.AddRateLimited("web")
		require.Equal(t, 1, q.NumRequeues("web"), "NumRequeues of web after AddRateLimited")
		q.pass(time.Minute)
		require.Equal(t, 0, q.Len(), "Len a minute later")
		q.ShutDown()
		require.Equal(t, returned, drain.result(), "ShutDownWithDrain after ShutDown")
	})
}

func TestTask5_Forget_starts_over(t *testing.T) {
	guard.Test(t, "Forget drops the failures of item, so its next failure counts as the first.", func(t *guard.T) {
		q := newRateLimitingQueue(t, exponential(time.Second, time.Minute))
		q.AddRateLimited("web")
		q.AddRateLimited("web")
		require.Equal(t, 2, q.NumRequeues("web"), "NumRequeues of web after 2 failures")
		require.Equal(t, 0, q.NumRequeues("db"), "NumRequeues of db, which has not failed")
		q.Forget("web")
		require.Equal(t, 0, q.NumRequeues("web"), "NumRequeues of web after Forget")
		q.pass(time.Second)
		t.Rule("Forget does not change the queue: a delayed item stays delayed, and an item being processed " +
			"stays so until Done.")
		require.Equal(t, []string{"web"}, q.All(), "the items in the queue 1s after AddRateLimited and Forget")
		q.Done("web")
		q.AddRateLimited("web")
		q.pass(time.Second)
		t.Rule("Forget drops the failures of item, so its next failure counts as the first.")
		require.Equal(t, []string{"web"}, q.All(), "the items in the queue 1s after the next AddRateLimited")
	})
}

func TestTask5_Forget_is_not_Done(t *testing.T) {
	guard.Test(t, "Forget does not change the queue: a delayed item stays delayed, and an item being processed "+
		"stays so until Done.", func(t *guard.T) {
		q := newRateLimitingQueue(t, exponential(time.Second, time.Minute))
		q.Add("web")
		require.Equal(t, "web", q.Get(), "Get")
		q.Add("web")
		q.Forget("web")
		require.Equal(t, 0, q.Len(), "Len after Forget")
		silent := &noCount{}
		newRateLimitingQueue(t, silent).Forget("web")
		require.Equal(t, []string{"web"}, silent.forgotten, "Forget of a limiter whose NumRequeues is 0")
		q.Done("web")
		require.Equal(t, []string{"web"}, q.All(), "the items in the queue after Done")
	})
}

func TestTask5_AddRateLimited_is_not_Done(t *testing.T) {
	guard.Test(t, "AddRateLimited counts a failure of item, and adds it when the limiter's wait is over. The item "+
		"is being processed until Done.", func(t *guard.T) {
		q := newRateLimitingQueue(t, exponential(time.Second, time.Minute))
		q.Add("web")
		require.Equal(t, "web", q.Get(), "Get")
		q.Add("web")
		q.AddRateLimited("web")
		require.Equal(t, 0, q.Len(), "Len after AddRateLimited")
		q.Done("web")
		require.Equal(t, []string{"web"}, q.All(), "the items in the queue after Done")
	})
}

func TestTask5_Config_chooses_the_queue_below(t *testing.T) {
	guard.Test(t, "NewTypedRateLimitingQueueWithConfig returns a queue on top of config.DelayingQueue: "+
		"AddRateLimited calls its AddAfter.", func(t *guard.T) {
		below := clientgo.NewTypedDelayingQueue[string]()
		q := loggedQueue{workqueue.NewTypedRateLimitingQueueWithConfig(exponential(time.Second, time.Minute),
			clientgo.TypedRateLimitingQueueConfig[string]{DelayingQueue: below}), t}
		t.Cleanup(below.ShutDown)
		t.Did("NewTypedRateLimitingQueueWithConfig, with client-go's own delaying queue as its DelayingQueue")
		q.AddRateLimited("web")
		q.pass(time.Second)
		t.Did("Len of the queue below")
		require.Equal(t, 1, below.Len(), "Len of config.DelayingQueue after 1s")
	})
}

func TestTask5_Config_brings_the_clock(t *testing.T) {
	guard.Test(t, "If config.DelayingQueue is nil, the queue makes one with config.Clock.", func(t *guard.T) {
		clock := testclock.NewFakeClock(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
		q := loggedQueue{workqueue.NewTypedRateLimitingQueueWithConfig(exponential(time.Second, time.Minute),
			clientgo.TypedRateLimitingQueueConfig[string]{Clock: clock}), t}
		t.Cleanup(q.TypedInterface.ShutDown)
		t.Did("NewTypedRateLimitingQueueWithConfig, with a Clock that stands still")
		q.AddRateLimited("web")
		q.pass(time.Hour)
		require.Equal(t, 0, q.Len(), "Len before the Clock advances")
		t.Did("the Clock advances by 1s")
		clock.Step(time.Second)
		synctest.Wait()
		require.Equal(t, []string{"web"}, q.All(), "the items in the queue after a second of the Clock")
	})
}

func TestTask5_Retry_on_any_mix_of_layers(t *testing.T) {
	guard.Test(t, "Each layer works on top of any other that has client-go's interface.", func(t *guard.T) {
		whose := []string{"your", "client-go's"}
		for mix := range 7 { // the eighth would be client-go's alone
			t.Story(8)
			t.Rule("Each layer works on top of any other that has client-go's interface.")
			plain, delaying, limiting := mix&1, mix>>1&1, mix>>2
			t.Did("%s rate-limiting queue, on %s delaying queue, on %s Typed", whose[limiting], whose[delaying], whose[plain])

			var q0 clientgo.TypedInterface[string] = workqueue.NewTyped[string]()
			if plain == 1 {
				q0 = clientgo.NewTyped[string]()
			}
			newDelaying := workqueue.NewTypedDelayingQueueWithConfig[string]
			if delaying == 1 {
				newDelaying = clientgo.NewTypedDelayingQueueWithConfig[string]
			}
			q1 := newDelaying(clientgo.TypedDelayingQueueConfig[string]{Queue: q0})
			newLimiting := workqueue.NewTypedRateLimitingQueueWithConfig[string]
			if limiting == 1 {
				newLimiting = clientgo.NewTypedRateLimitingQueueWithConfig[string]
			}
			q2 := newLimiting(exponential(time.Second, 4*time.Second),
				clientgo.TypedRateLimitingQueueConfig[string]{DelayingQueue: q1})
			retry(t, q2)
		}
	})
}

// retry runs three workers, as a controller does, on a queue of two items: "web" fails five times, "db" never.
func retry(t *guard.T, q clientgo.TypedRateLimitingInterface[string]) {
	t.Did("three workers: Get, then AddRateLimited after a failure or Forget after a success, then Done")
	begin := time.Now()
	tries := make(chan string, 100)
	var workers []*call
	for range 3 {
		workers = append(workers, start(t, func() string {
			for {
				item, down := q.Get()
				if down {
					return returned
				}
				tries <- fmt.Sprint(item, " after ", time.Since(begin))
				if item == "web" && q.NumRequeues(item) < 5 {
					q.AddRateLimited(item)
				} else {
					q.Forget(item)
				}
				q.Done(item)
			}
		}))
	}
	t.Did("Add web, which fails five times; 1ms later Add db; 1m passes")
	q.Add("web")
	time.Sleep(time.Millisecond)
	q.Add("db")
	time.Sleep(time.Minute)
	synctest.Wait()
	close(tries)
	var all []string
	for try := range tries {
		all = append(all, try)
	}
	t.Rule("After each failure an item waits longer, up to the limit. It does not delay other items.")
	require.Equal(t, []string{
		"web after 0s", "db after 1ms", "web after 1s", "web after 3s", "web after 7s", "web after 11s", "web after 15s",
	}, all, "the items that the workers got")
	t.Did("ShutDown")
	q.ShutDown()
	t.Rule("Each layer passes ShutDown on to the layer below, where the workers wait.")
	require.Equal(t, []string{returned, returned, returned}, results(workers...), "the results of three workers")
}

func TestTask5_Any_sequence_of_calls(t *testing.T) {
	guard.Test(t, "The rate-limiting queue does the same as the model in model_test.go for every sequence of "+
		"calls.", func(t *guard.T) {
		modeltest.Check(t, func(s *modeltest.T) {
			q := workqueue.NewTypedRateLimitingQueue(exponential(baseDelay, maxDelay))
			defer q.ShutDown()
			m := newModel()
			s.Steps(map[string]func(){
				"":         func() { m.checkLen(s, q) },
				"add":      func() { m.add(s, q) },
				"after":    func() { m.addAfter(s, q) },
				"fail":     func() { m.addRateLimited(s, q) },
				"forget":   func() { m.forget(s, q) },
				"get":      func() { m.get(s, q) },
				"done":     func() { m.done(s, q) },
				"pass":     func() { m.pass(s) },
				"shutdown": func() { m.shutDown(s, q) },
			})
		})
	})
}
