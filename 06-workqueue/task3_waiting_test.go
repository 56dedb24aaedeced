package workqueue_test

// Task 3: what a delayed item costs, and how the delaying queue calls the layer below.

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"
	testclock "k8s.io/utils/clock/testing"

	workqueue "client-go-workshop/06-workqueue"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask3_Waiting_costs_no_goroutine(t *testing.T) {
	guard.Test(t, "A delayed item costs at most one timer, and no goroutine. Goroutines of earlier rounds must "+
		"not pile up, as timers once did (#83895).", func(t *guard.T) {
		q := newDelayingQueue(t)
		before := guard.Goroutines()
		t.Did("AddAfter of 1001 items, 1h")
		for i := range 1_001 {
			q.delayed().AddAfter(fmt.Sprint(i), time.Hour)
		}
		synctest.Wait()
		require.Equal(t, "few goroutines more", more(before), "goroutines after AddAfter of 1001 items")
		t.Rule("AddAfter adds item to the layer below when delay has passed. It drops none, however many wait.")
		q.pass(time.Hour)
		require.Equal(t, 1_001, q.Len(), "Len after an hour")
		for range 1_001 {
			item, _ := q.TypedInterface.Get()
			q.TypedInterface.Done(item)
		}
		t.Rule("A delayed item costs at most one timer, and no goroutine. Goroutines of earlier rounds must not pile up.")
		t.Did("1000 times: AddAfter web, 1s; 1s pass; Get and Done")
		for range 1_000 {
			q.delayed().AddAfter("web", time.Second)
			time.Sleep(time.Second)
			synctest.Wait()
			item, _ := q.TypedInterface.Get()
			q.TypedInterface.Done(item)
		}
		require.Equal(t, "few goroutines more", more(before), "goroutines after 1000 rounds of one item")
	})
}

func TestTask3_Busy_layer_below_costs_no_goroutine(t *testing.T) {
	guard.Test(t, "A delayed item costs at most one timer, and no goroutine: also while the layer below is in Add.",
		func(t *guard.T) {
			below, release := &hooked{TypedInterface: workqueue.NewTyped[string]()}, make(chan struct{})
			q := delaying(t, clientgo.TypedDelayingQueueConfig[string]{Queue: below})
			synctest.Wait()
			below.hook = once("Add", func() { <-release })
			q.AddAfter("web", time.Second)
			q.pass(time.Second)
			before := guard.Goroutines()
			t.Did("AddAfter of 500 items, each due before the one before it, while config.Queue is in Add")
			calls := start(t, func() string {
				for i := range 500 {
					q.delayed().AddAfter(fmt.Sprint(i), time.Hour-time.Duration(i)*time.Second)
				}
				return returned
			})
			answer, after := calls.result(), more(before)
			close(release)
			require.Equal(t, returned, answer, "500 calls of AddAfter")
			require.Equal(t, "few goroutines more", after, "goroutines after AddAfter of 500 items")
		})
}

func TestTask3_Waiting_costs_a_timer_at_most(t *testing.T) {
	guard.Test(t, "A delayed item costs at most one timer, and no goroutine. Stop a timer when it is no longer "+
		"needed (#83895).", func(t *guard.T) {
		clock := testclock.NewFakeClock(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
		q := delaying(t, clientgo.TypedDelayingQueueConfig[string]{Clock: clock})
		t.Did("NewTypedDelayingQueueWithConfig, with a Clock that stands still")
		t.Did("AddAfter of 10 items; then 50 times an earlier time for each of them")
		for i := range 510 {
			due := time.Hour - time.Duration(i)*time.Second
			q.delayed().AddAfter(fmt.Sprint(i%10), due)
			synctest.Wait()
		}
		require.Equal(t, "few timers on the Clock", timers(clock), "timers with 10 delayed items")
		t.Did("AddAfter of 200 items, 1h; ShutDown")
		for i := range 200 {
			q.delayed().AddAfter(fmt.Sprint(i), time.Hour)
		}
		synctest.Wait()
		q.TypedInterface.ShutDown()
		synctest.Wait()
		t.Rule("ShutDown and ShutDownWithDrain leave no goroutine and no timer behind.")
		require.Equal(t, "few timers on the Clock", timers(clock), "timers after ShutDown")
	})
}

func TestTask3_No_timer_is_left(t *testing.T) {
	guard.Test(t, "ShutDown and ShutDownWithDrain leave no goroutine and no timer behind, not even the last "+
		"timer.", func(t *guard.T) {
		for name, down := range guard.InOrder(map[string]func(q loggedQueue){
			"ShutDown":          func(q loggedQueue) { q.TypedInterface.ShutDown() },
			"ShutDownWithDrain": func(q loggedQueue) { q.TypedInterface.ShutDownWithDrain() },
		}) {
			for _, c := range []struct {
				delays []time.Duration
				jump   time.Duration // by which the Clock advances just before the queue starts a timer
			}{
				{}, {delays: []time.Duration{time.Hour}}, {delays: []time.Duration{time.Hour, time.Minute}},
				{delays: []time.Duration{time.Hour}, jump: time.Hour}, {delays: []time.Duration{time.Hour}, jump: time.Minute},
			} {
				t.Story(8)
				clock := &hasty{FakeClock: testclock.NewFakeClock(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))}
				q := delaying(t, clientgo.TypedDelayingQueueConfig[string]{Clock: clock})
				synctest.Wait()
				if c.jump > 0 {
					t.Did("the Clock will advance by %v just before the queue starts a timer", c.jump)
				}
				clock.next.Store(int64(c.jump))
				for i, delay := range c.delays {
					q.AddAfter(fmt.Sprint("item ", i), delay)
					synctest.Wait()
				}
				for _, item := range q.All() {
					q.Done(item)
				}
				t.Did("%s", name)
				down(q)
				synctest.Wait()
				require.Equal(t, 0, clock.Waiters(), "timers on the Clock after "+name)
			}
		}
	})
}

// timers counts the timers of a clock, unless there are only a few.
func timers(clock *testclock.FakeClock) string {
	if n := clock.Waiters(); n > 20 {
		return fmt.Sprint(n, " timers on the Clock")
	}
	return "few timers on the Clock"
}

// more counts the goroutines that have been added since before.
func more(before int) string {
	if n := guard.Goroutines() - before; n > 20 {
		return fmt.Sprint(n, " goroutines more")
	}
	return "few goroutines more"
}

func TestTask3_Every_method_takes_the_lock(t *testing.T) {
	guard.Race(t, "Every method may be called from any goroutine: AddAfter and the code that waits for due items "+
		"share their data under one lock.", func(t *guard.T) {
		q := workqueue.NewTypedDelayingQueue[string]()
		t.Did("AddAfter by four goroutines, and Len, Get and Done by one each")
		after := func(i int) {
			q.AddAfter(fmt.Sprint(i%50), time.Duration(1+i%7)*time.Microsecond)
		}
		guard.Storm(after, after, after, after,
			func(int) { q.Len() },
			func(int) { q.Add("web"); item, _ := q.Get(); q.Done(item) },
		)
		q.ShutDown()
	})
}

func TestTask3_Item_has_one_entry(t *testing.T) {
	guard.Test(t, "Each layer uses memory only for the items that it has: also if an item is delayed again and again, and "+
		"each time is earlier.", func(t *guard.T) {
		before := memory()
		q := workqueue.NewTypedDelayingQueue[payload]()
		t.Cleanup(q.ShutDown)
		t.Did("AddAfter of an item of 1 kB, 3000 times, 1h and then a second less each time")
		for i := range 3_000 {
			q.AddAfter(payload{}, time.Hour-time.Duration(i)*time.Second)
			synctest.Wait()
		}
		require.Equal(t, "no more than 1 MB for 1 item", heldForOne(before), "memory in use")
	})
}

func TestTask3_Items_that_have_come_can_be_freed(t *testing.T) {
	guard.Test(t, "Each layer uses memory only for the items that it has: the garbage collector can free an item "+
		"that has come and is done.",
		func(t *guard.T) {
			q := workqueue.NewTypedDelayingQueue[*payload]()
			t.Cleanup(q.ShutDown)
			t.Did("AddAfter of 100 pointers, 1s; 1s passes; Get and Done of all")
			items := addLater(t, q, 100, time.Second)
			time.Sleep(time.Second)
			start(t, func() string {
				for range items {
					item, _ := q.Get()
					q.Done(item)
				}
				return returned
			}).result()
			require.Equal(t, "0 of 100 still in memory", stillHeld(items), "the items that have come")
		})
}

func TestTask3_Dropped_items_can_be_freed(t *testing.T) {
	guard.Test(t, "ShutDown drops the delayed items: the garbage collector can free them.", func(t *guard.T) {
		q := workqueue.NewTypedDelayingQueue[*payload]()
		t.Did("AddAfter of 100 pointers, 1h; ShutDown; 1m0s passes")
		items := addLater(t, q, 100, time.Hour)
		q.ShutDown()
		requireDropped(t, items, "the items that were dropped")
		t.Rule("After ShutDown, AddAfter has no effect. The queue does not keep the item either.")
		t.Did("AddAfter of 100 more pointers, 1s; 1m0s passes")
		items = addLater(t, q, 100, time.Second)
		requireDropped(t, items, "the items that were delayed after ShutDown")
		runtime.KeepAlive(q)
	})
}

func TestTask3_Drain_does_not_keep_dropped_items(t *testing.T) {
	guard.Test(t, "ShutDownWithDrain drops the delayed items, and then drains the layer below: the garbage collector can "+
		"free them, however long the drain takes.", func(t *guard.T) {
		q := workqueue.NewTypedDelayingQueue[*payload]()
		t.Cleanup(q.ShutDown)
		q.Add(new(payload))
		q.Get()
		t.Did("Add and Get; AddAfter of 100 pointers, 1h; ShutDownWithDrain, which waits for Done; 1m0s passes")
		items := addLater(t, q, 100, time.Hour)
		drain := start(t, func() string { q.ShutDownWithDrain(); return returned })
		requireDropped(t, items, "the items that were dropped")
		require.Equal(t, waits, drain.result(), "ShutDownWithDrain with an item being processed")
	})
}

// requireDropped requires that none of the items is in memory after a minute.
func requireDropped(t *guard.T, items []weak.Pointer[payload], which string) {
	t.Helper()
	time.Sleep(time.Minute) // the runtime forgets stopped timers when it next looks at them
	synctest.Wait()
	require.Equal(t, "0 of 100 still in memory", stillHeld(items), which)
}

// addLater calls AddAfter for n new items on a goroutine that ends, so that its stack holds none.
func addLater(
	t *guard.T, q clientgo.TypedDelayingInterface[*payload], n int, delay time.Duration,
) (items []weak.Pointer[payload]) {
	start(t, func() string {
		for range n {
			item := new(payload)
			items = append(items, weak.Make(item))
			q.AddAfter(item, delay)
		}
		return returned
	}).result()
	return items
}

func TestTask3_Layer_below_is_called_without_a_lock(t *testing.T) {
	guard.Test(t, "AddAfter does not wait for other calls of the layer below to end. A drain waits there for "+
		"workers, and a worker that fails calls AddAfter.", func(t *guard.T) {
		for _, c := range []struct {
			method string
			call   func(q loggedQueue)
		}{
			{"Add", func(q loggedQueue) { q.AddAfter("web", time.Second); q.pass(time.Second) }},
			{"Add", func(q loggedQueue) { q.AddAfter("web", 0) }},
			{"ShuttingDown", func(q loggedQueue) { q.AddAfter("web", time.Second); synctest.Wait() }},
			{"ShutDown", func(q loggedQueue) { q.ShutDown() }},
			{"ShutDownWithDrain", func(q loggedQueue) { q.DrainLater().result() }},
		} {
			t.Story(8)
			below := &hooked{TypedInterface: workqueue.NewTyped[string]()}
			q := delaying(t, clientgo.TypedDelayingQueueConfig[string]{Queue: below})
			synctest.Wait()
			got := "AddAfter was not called"
			below.hook = once(c.method, func() {
				got = during(t, "AddAfter", func() {
					for i := range 3 { // each is due before the one before it
						q.delayed().AddAfter(fmt.Sprint("db ", i), time.Hour-time.Duration(i)*time.Minute)
					}
				})
			})
			t.Did("AddAfter of three items, about an hour, while config.Queue is in %s:", c.method)
			c.call(q)
			if c.method == "ShuttingDown" && got == "AddAfter was not called" {
				continue // a queue that notes its own shutdown need not ask the layer below
			}
			require.Equal(t, "AddAfter has returned", got, "AddAfter while config.Queue is in "+c.method)
		}
	})
}

func TestTask3_Item_can_wait_again_as_soon_as_it_has_come(t *testing.T) {
	guard.Test(t, "An item that has come can be delayed again. A fast worker may fail and call AddAfter before "+
		"the queue has returned from Add.", func(t *guard.T) {
		below := &hooked{TypedInterface: workqueue.NewTyped[string]()}
		q := delaying(t, clientgo.TypedDelayingQueueConfig[string]{Queue: below})
		synctest.Wait()
		below.after = once("Add", func() {
			item, _ := below.TypedInterface.Get()
			t.Did("in the middle of Add: Get, AddAfter %s, 1s, Done %s", item, item)
			during(t, "AddAfter", func() { q.delayed().AddAfter(item, time.Second) })
			below.TypedInterface.Done(item)
		})
		q.AddAfter("web", time.Second)
		q.pass(time.Second)
		require.Equal(t, []string{}, q.All(), "the items in the queue after 1s, with web delayed again")
		q.pass(time.Second)
		require.Equal(t, []string{"web"}, q.All(), "the items in the queue after another second")
	})
}

func TestTask3_AddAfter_is_one_change(t *testing.T) {
	guard.Test(t, "Every method may be called from any goroutine. If several call AddAfter for an item, it keeps "+
		"the earliest time and comes once.", func(t *guard.T) {
		q := workqueue.NewTypedDelayingQueue[any]()
		t.Cleanup(q.ShutDown)
		t.Did("AddAfter of an item by four goroutines at once: 4s, 3s, 2s and 1s")
		inLine(t, func(other any) { q.AddAfter(other, time.Hour) }, func(worker int) {
			q.AddAfter("web", time.Duration(4-worker)*time.Second)
		})
		for _, wanted := range []int{1, 0, 0, 0} {
			t.Did("1s passes; Len")
			time.Sleep(time.Second)
			synctest.Wait()
			require.Equal(t, wanted, q.Len(), "Len after another second")
			for range wanted {
				item, _ := q.Get()
				q.Done(item)
			}
		}
	})
}
