package workqueue_test

// Task 3: AddAfter.

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	workqueue "client-go-workshop/06-workqueue"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/modeltest"
)

func TestTask3_AddAfter_comes_when_the_delay_has_passed(t *testing.T) {
	guard.Test(t, "AddAfter adds the item when its delay has passed.", func(t *guard.T) {
		q := newDelayingQueue(t)
		q.AddAfter("web", 10*time.Second)
		require.Equal(t, 0, q.Len(), "Len after AddAfter")
		worker := q.GetLater()
		q.pass(10*time.Second - 1)
		require.Equal(t, waits, worker.result(), "Get one nanosecond too early")
		q.pass(1)
		require.Equal(t, "web", worker.result(), "Get when the delay has passed")
		q.Done("web")
		q.pass(time.Minute)
		t.Rule("One AddAfter adds the item once.")
		require.Equal(t, 0, q.Len(), "Len a minute after Done")
	})
}

func TestTask3_No_delay_is_at_once(t *testing.T) {
	guard.Test(t, "A delay of 0 or less has passed already: AddAfter adds the item at once.", func(t *guard.T) {
		q := newDelayingQueue(t)
		q.AddAfter("web", 0)
		q.AddAfter("db", -time.Second)
		synctest.Wait()
		require.ElementsMatch(t, []string{"web", "db"}, q.All(), "the items that Get returns")
	})
}

func TestTask3_Earliest_time_stays(t *testing.T) {
	for _, c := range []struct{ first, second time.Duration }{
		{time.Second, 10 * time.Second},
		{10 * time.Second, time.Second},
	} {
		guard.Test(t, "An item that waits has one time, the earliest that it was given.", func(t *guard.T) {
			q := newDelayingQueue(t)
			q.AddAfter("web", c.first)
			q.AddAfter("web", c.second)
			q.pass(time.Second)
			require.Equal(t, []string{"web"}, q.All(), "the items in the queue after 1s")
			q.Done("web")
			q.pass(time.Minute)
			require.Equal(t, []string{}, q.All(), "the items in the queue after another minute")
		})
	}
}

func TestTask3_Earlier_time_moves_it_to_the_front(t *testing.T) {
	guard.Test(t, "An earlier time moves an item to the front: the goroutine that sleeps until the first is due has "+
		"to be woken.", func(t *guard.T) {
		q := newDelayingQueue(t)
		for i, item := range []string{"web", "db", "cdn", "job"} {
			q.AddAfter(item, time.Duration(i+1)*10*time.Second)
		}
		synctest.Wait() // until the goroutine waits for the first
		q.AddAfter("job", time.Second)
		q.AddAfter("cdn", 2*time.Second)
		q.pass(2 * time.Second)
		require.Equal(t, []string{"job", "cdn"}, q.All(), "the items in the queue after 2s")
		q.pass(18 * time.Second)
		t.Rule("The other items still come when they are due.")
		require.Equal(t, []string{"web", "db"}, q.All(), "the items in the queue after 20s")
	})
}

func TestTask3_Items_come_in_the_order_of_their_times(t *testing.T) {
	guard.Test(t, "Items are added in the order of their times.", func(t *guard.T) {
		q := newDelayingQueue(t)
		wanted := []string{}
		for i := range 50 {
			second := i * 37 % 50 // each from 0 to 49, in no order
			q.AddAfter(fmt.Sprint("item due at ", second), time.Duration(second)*time.Second+1)
			wanted = append(wanted, fmt.Sprint("item due at ", i))
		}
		q.pass(time.Minute)
		require.Equal(t, wanted, q.All(), "the items in the queue after a minute")
	})
}

func TestTask3_Earlier_item_does_not_wait_for_a_later_one(t *testing.T) {
	guard.Test(t, "An earlier item does not wait for a later one: the goroutine that sleeps until web is due has "+
		"to be woken.", func(t *guard.T) {
		q := newDelayingQueue(t)
		q.AddAfter("web", time.Hour)
		synctest.Wait() // until the goroutine waits for web
		q.AddAfter("db", time.Second)
		q.pass(time.Second)
		require.Equal(t, []string{"db"}, q.All(), "the items in the queue after 1s")
	})
}

func TestTask3_Item_that_comes_while_the_timer_is_set_is_seen(t *testing.T) {
	guard.Test(t, "An item is not missed if it comes after the goroutine has looked which item is first, and "+
		"before it sleeps.", func(t *guard.T) {
		meddler := &meddled{}
		q := delaying(t, clientgo.TypedDelayingQueueConfig[string]{Clock: meddler})
		synctest.Wait()
		added := false
		meddler.once(func() { // on whatever goroutine sets a timer
			added = true
			q.AddAfter("db", time.Second)
		})
		q.AddAfter("web", time.Hour)
		synctest.Wait()
		if !added { // no new timer was made; then it has to be seen anyway
			q.AddAfter("db", time.Second)
		}
		q.pass(time.Second)
		require.Equal(t, []string{"db"}, q.All(), "the items in the queue after 1s")
	})
}

// meddled is the real clock. It calls a function while a timer is made.
type meddled struct {
	clock.RealClock
	lock sync.Mutex
	do   func()
}

// once sets the function to call while the next timer is made.
func (c *meddled) once(f func()) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.do = f
}

// meddle calls f and waits for it, but not forever: f may wait for this very goroutine.
func (c *meddled) meddle() {
	c.lock.Lock()
	f := c.do
	c.do = nil
	c.lock.Unlock()
	if f == nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	for range 10_000 {
		select {
		case <-done:
			return
		default:
			runtime.Gosched()
		}
	}
}

func (c *meddled) NewTimer(d time.Duration) clock.Timer {
	c.meddle()
	return c.RealClock.NewTimer(d)
}

func (c *meddled) After(d time.Duration) <-chan time.Time {
	c.meddle()
	return c.RealClock.After(d)
}

func TestTask3_Item_can_wait_again(t *testing.T) {
	guard.Test(t, "An item that has waited can wait again: nothing of the last time is kept.", func(t *guard.T) {
		q := newDelayingQueue(t)
		for range 3 {
			q.AddAfter("web", time.Second)
			q.pass(time.Second)
			require.Equal(t, []string{"web"}, q.All(), "the items in the queue after 1s")
			q.Done("web")
		}
	})
}

func TestTask3_Due_items_are_merged_like_any_other(t *testing.T) {
	guard.Test(t, "AddAfter adds the item when its delay has passed, like Add: an item that is in the queue already "+
		"comes once.", func(t *guard.T) {
		q := newDelayingQueue(t)
		q.Add("web")
		q.AddAfter("web", time.Second)
		q.pass(time.Second)
		require.Equal(t, []string{"web"}, q.All(), "the items in the queue when the delay has passed")
		q.AddAfter("web", time.Second)
		q.pass(time.Second)
		t.Rule("AddAfter adds the item when its delay has passed, like Add: an item in hand comes once more after Done.")
		require.Equal(t, 0, q.Len(), "Len when the delay has passed, with web in hand")
		q.Done("web")
		require.Equal(t, []string{"web"}, q.All(), "the items in the queue after Done")
	})
}

func TestTask3_Add_leaves_the_time_alone(t *testing.T) {
	guard.Test(t, "A waiting item keeps its time, whatever Add does: it comes now, and once more when its "+
		"time has come.", func(t *guard.T) {
		for _, add := range []func(q loggedQueue){
			func(q loggedQueue) { q.Add("web") },
			func(q loggedQueue) { q.AddAfter("web", 0) },
		} {
			t.Story(8)
			q := newDelayingQueue(t)
			q.AddAfter("web", 10*time.Second)
			synctest.Wait()
			add(q)
			synctest.Wait()
			require.Equal(t, []string{"web"}, q.All(), "the items in the queue after Add")
			q.Done("web")
			q.pass(10 * time.Second)
			require.Equal(t, []string{"web"}, q.All(), "the items in the queue when the time has come")
		}
	})
}

func TestTask3_ShutDown_drops_what_waits(t *testing.T) {
	guard.Test(t, "After ShutDown the items in the queue are handed out, and those that wait for their time "+
		"are dropped.", func(t *guard.T) {
		q := newDelayingQueue(t)
		q.Add("db")
		q.AddAfter("web", time.Second)
		q.ShutDown()
		q.pass(time.Minute)
		require.Equal(t, []string{"db"}, q.All(), "the items in the queue after ShutDown")
		t.Rule("After ShutDown every Get on an empty queue returns shutdown.")
		require.Equal(t, shutdown, q.Get(), "Get after ShutDown")
	})
}

func TestTask3_AddAfter_after_ShutDown_does_nothing(t *testing.T) {
	guard.Test(t, "After ShutDown, AddAfter does nothing. It does not wait either, or a worker that fails at the "+
		"very end would never end.", func(t *guard.T) {
		q := newDelayingQueue(t)
		q.ShutDown()
		t.Did("AddAfter of 2000 items, 1s, and of 2000, 0s")
		late := start(t, func() string {
			for i := range 2_000 {
				q.TypedInterface.(clientgo.TypedDelayingInterface[string]).AddAfter(fmt.Sprint("early ", i), time.Second)
				q.TypedInterface.(clientgo.TypedDelayingInterface[string]).AddAfter(fmt.Sprint("now ", i), 0)
			}
			return returned
		})
		require.Equal(t, returned, late.result(), "4000 calls of AddAfter after ShutDown")
		q.pass(time.Minute)
		require.Equal(t, 0, q.Len(), "Len after ShutDown and AddAfter")
	})
}

func TestTask3_ShutDown_twice_is_fine(t *testing.T) {
	guard.Test(t, "ShutDown may be called any number of times. client-go's delaying queue used to panic at the "+
		"second (#77170).", func(t *guard.T) {
		q := workqueue.NewTypedDelayingQueue[string]()
		t.Did("ShutDown, ShutDown")
		twice := start(t, func() string {
			q.ShutDown()
			q.ShutDown()
			return returned
		})
		require.Equal(t, returned, twice.result(), "the 2nd ShutDown")
	})
}

func TestTask3_ShutDown_leaves_no_goroutine(t *testing.T) {
	guard.Test(t, "After ShutDown no goroutine is left, and no timer.", func(t *guard.T) {
		t.Did("NewTypedDelayingQueue, AddAfter web, 1h, and ShutDown")
		q := workqueue.NewTypedDelayingQueue[string]()
		q.AddAfter("web", time.Hour)
		synctest.Wait()
		q.ShutDown() // guard sees what is left
	})
}

func TestTask3_Drain_leaves_no_goroutine(t *testing.T) {
	guard.Test(t, "After ShutDownWithDrain no goroutine is left, and no timer.", func(t *guard.T) {
		t.Did("NewTypedDelayingQueue, AddAfter web, 1h, ShutDownWithDrain; 1m0s pass")
		q := workqueue.NewTypedDelayingQueue[string]()
		q.AddAfter("web", time.Hour)
		synctest.Wait()
		q.ShutDownWithDrain()
		time.Sleep(time.Minute) // guard sees what is left then; client-go's takes up to 10s to notice
	})
}

func TestTask3_Drain_waits_for_hands_and_not_for_times(t *testing.T) {
	guard.Test(t, "ShutDownWithDrain waits for the items in hand, and drops those that "+
		"wait for their time.", func(t *guard.T) {
		q := newDelayingQueue(t)
		q.Add("web")
		require.Equal(t, "web", q.Get(), "Get")
		q.AddAfter("db", time.Hour)
		drain := q.DrainLater()
		require.Equal(t, waits, drain.result(), "ShutDownWithDrain with web in hand")
		q.Done("web")
		require.Equal(t, returned, drain.result(), "ShutDownWithDrain when only db waits for its time")
		q.pass(2 * time.Hour)
		require.Equal(t, 0, q.Len(), "Len two hours later")
	})
}

func TestTask3_Waiting_costs_no_goroutine(t *testing.T) {
	guard.Test(t, "Nothing is kept that the items do not account for: one goroutine waits for all items, and no "+
		"timers pile up (#83895).", func(t *guard.T) {
		q := newDelayingQueue(t)
		before := runtime.NumGoroutine()
		t.Did("AddAfter of 1000 items, 1h")
		for i := range 1_000 {
			q.TypedInterface.(clientgo.TypedDelayingInterface[string]).AddAfter(fmt.Sprint(i), time.Hour)
		}
		synctest.Wait()
		require.Equal(t, "few goroutines more", more(before), "goroutines after AddAfter of 1000 items")
		t.Did("1000 times: AddAfter web, 1s; 1s pass; Get and Done")
		for range 1_000 {
			q.TypedInterface.(clientgo.TypedDelayingInterface[string]).AddAfter("web", time.Second)
			time.Sleep(time.Second)
			synctest.Wait()
			item, _ := q.TypedInterface.Get()
			q.TypedInterface.Done(item)
		}
		require.Equal(t, "few goroutines more", more(before), "goroutines after 1000 rounds of one item")
	})
}

func TestTask3_Waiting_costs_one_timer(t *testing.T) {
	guard.Test(t, "One timer is enough for all items. A goroutine that is woken early stops its old timer before it "+
		"makes a new one (#83895).", func(t *guard.T) {
		clock := testclock.NewFakeClock(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
		q := delaying(t, clientgo.TypedDelayingQueueConfig[string]{Clock: clock})
		t.Did("NewTypedDelayingQueueWithConfig, with a Clock that stands still")
		t.Did("AddAfter of 200 items, each due before all the others")
		for i := range 200 {
			due := time.Hour - time.Duration(i)*time.Second
			q.TypedInterface.(clientgo.TypedDelayingInterface[string]).AddAfter(fmt.Sprint(i), due)
			synctest.Wait()
		}
		timers := "few timers on the Clock"
		if n := clock.Waiters(); n > 20 {
			timers = fmt.Sprint(n, " timers on the Clock")
		}
		require.Equal(t, "few timers on the Clock", timers, "timers after AddAfter of 200 items")
	})
}

// more counts the goroutines that have been added since before.
func more(before int) string {
	if n := runtime.NumGoroutine() - before; n > 20 {
		return fmt.Sprint(n, " goroutines more")
	}
	return "few goroutines more"
}

func TestTask3_Config_brings_the_clock(t *testing.T) {
	guard.Test(t, "The queue takes the time from config.Clock if there is one.", func(t *guard.T) {
		clock := testclock.NewFakeClock(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
		q := delaying(t, clientgo.TypedDelayingQueueConfig[string]{Clock: clock})
		t.Did("NewTypedDelayingQueueWithConfig, with a Clock that stands still")
		q.AddAfter("web", time.Minute)
		q.pass(time.Hour)
		require.Equal(t, 0, q.Len(), "Len before the Clock goes on")
		t.Did("the Clock goes on by 1m")
		clock.Step(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"web"}, q.All(), "the items in the queue after a minute of the Clock")
	})
}

func TestTask3_Config_chooses_the_queue_below(t *testing.T) {
	guard.Test(t, "The queue stands on config.Queue: Add, Get and ShutDown are its own, and AddAfter "+
		"adds to it.", func(t *guard.T) {
		below := clientgo.NewTyped[string]()
		q := delaying(t, clientgo.TypedDelayingQueueConfig[string]{Queue: below})
		t.Did("NewTypedDelayingQueueWithConfig, with client-go's own Typed as its Queue")
		q.AddAfter("web", time.Second)
		q.Add("db")
		q.pass(time.Second)
		t.Did("Len of the queue below")
		require.Equal(t, 2, below.Len(), "Len of config.Queue")
		require.Equal(t, []string{"db", "web"}, q.All(), "the items that Get returns")
		q.ShutDown()
		t.Did("ShuttingDown of the queue below")
		require.True(t, below.ShuttingDown(), "config.Queue is shutting down after ShutDown")
	})
}

func TestTask3_Clientgo_delays_on_top_of_yours(t *testing.T) {
	guard.Test(t, "Each layer fits on any other that has client-go's interface.", func(t *guard.T) {
		config := clientgo.TypedDelayingQueueConfig[string]{Queue: workqueue.NewTyped[string]()}
		q := loggedQueue{clientgo.NewTypedDelayingQueueWithConfig(config), t}
		t.Cleanup(q.TypedInterface.ShutDown)
		t.Did("client-go's NewTypedDelayingQueueWithConfig, with your Typed as its Queue")
		q.AddAfter("web", time.Second)
		q.Add("db")
		q.pass(time.Second)
		require.Equal(t, []string{"db", "web"}, q.All(), "the items in the queue after 1s")
		q.Done("db")
		q.ShutDown()
		require.Equal(t, shutdown, q.Get(), "Get after ShutDown")
	})
}

func TestTask3_Any_sequence_of_calls(t *testing.T) {
	guard.Test(t, "The delaying queue does the same as the model in model_test.go, whatever the "+
		"sequence of calls.", func(t *guard.T) {
		modeltest.Check(t, func(s *modeltest.T) {
			q := workqueue.NewTypedDelayingQueue[string]()
			defer q.ShutDown()
			m := newModel()
			s.Steps(map[string]func(){
				"":         func() { m.checkLen(s, q) },
				"add":      func() { m.add(s, q) },
				"after":    func() { m.addAfter(s, q) },
				"get":      func() { m.get(s, q) },
				"done":     func() { m.done(s, q) },
				"pass":     func() { m.pass(s) },
				"shutdown": func() { m.shutDown(s, q) },
			})
		})
	})
}

func TestTask3_Every_method_takes_the_lock(t *testing.T) {
	guard.Race(t, "AddAfter and the goroutine that waits use the same heap and map: "+
		"one lock guards both.", func(t *guard.T) {
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

// forEver is the longest delay.
const forEver = time.Duration(math.MaxInt64)

func TestTask3_For_ever_is_a_long_time(t *testing.T) {
	guard.Test(t, "The longest possible delay is far in the future: added to the time of day it does not overflow "+
		"into the past.", func(t *guard.T) {
		q := newDelayingQueue(t)
		q.AddAfter("web", forEver)
		q.AddAfter("db", time.Second)
		q.pass(time.Minute)
		require.Equal(t, []string{"db"}, q.All(), "the items in the queue after a minute")
	})
}
