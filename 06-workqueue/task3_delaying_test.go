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
	guard.Test(t, "who waits for a moment in the future is not in the queue yet", func(t *guard.T) {
		q := newDelayingQueue(t)
		q.AddAfter("web", 10*time.Second)
		require.Equal(t, 0, q.Len())
		worker := q.GetLater()
		q.pass(10*time.Second - 1)
		t.Rule("one nanosecond is missing")
		require.Equal(t, waits, worker.result())
		q.pass(1)
		t.Rule("the delay has passed, and the item is added, which wakes a worker")
		require.Equal(t, "web", worker.result())
		q.Done("web")
		q.pass(time.Minute)
		t.Rule("one AddAfter, one item")
		require.Equal(t, 0, q.Len())
	})
}

func TestTask3_No_delay_is_at_once(t *testing.T) {
	guard.Test(t, "a moment that is over is now: when a deadline was missed by a second, the item must not be "+
		"lost, or wait", func(t *guard.T) {
		q := newDelayingQueue(t)
		q.AddAfter("web", 0)
		q.AddAfter("db", -time.Second)
		synctest.Wait()
		require.ElementsMatch(t, []string{"web", "db"}, q.All())
	})
}

func TestTask3_Earliest_time_stays(t *testing.T) {
	for _, c := range []struct{ first, second time.Duration }{{time.Second, 10 * time.Second}, {10 * time.Second, time.Second}} {
		guard.Test(t, "two reasons to look at web: the look after 1s is early enough for both", func(t *guard.T) {
			q := newDelayingQueue(t)
			q.AddAfter("web", c.first)
			q.AddAfter("web", c.second)
			q.pass(time.Second)
			require.Equal(t, []string{"web"}, q.All())
			q.Done("web")
			q.pass(time.Minute)
			t.Rule("an item waits once, like it is queued once; the look after 1s was the answer to both")
			require.Equal(t, []string{}, q.All())
		})
	}
}

func TestTask3_Earlier_time_moves_it_to_the_front(t *testing.T) {
	guard.Test(t, "an earlier time changes who is next; if they are kept in some order, that has to be mended, "+
		"and whoever sleeps has to be woken", func(t *guard.T) {
		q := newDelayingQueue(t)
		for i, item := range []string{"web", "db", "cdn", "job"} {
			q.AddAfter(item, time.Duration(i+1)*10*time.Second)
		}
		synctest.Wait() // until whoever waits for the first does so
		q.AddAfter("job", time.Second)
		q.AddAfter("cdn", 2*time.Second)
		q.pass(2 * time.Second)
		require.Equal(t, []string{"job", "cdn"}, q.All())
		q.pass(18 * time.Second)
		t.Rule("the others still come when they are due")
		require.Equal(t, []string{"web", "db"}, q.All())
	})
}

func TestTask3_Items_come_in_the_order_of_their_times(t *testing.T) {
	guard.Test(t, "who is due first is added first", func(t *guard.T) {
		q := newDelayingQueue(t)
		wanted := []string{}
		for i := range 50 {
			second := i * 37 % 50 // each from 0 to 49, in no order
			q.AddAfter(fmt.Sprint("item due at ", second), time.Duration(second)*time.Second+1)
			wanted = append(wanted, fmt.Sprint("item due at ", i))
		}
		q.pass(time.Minute)
		require.Equal(t, wanted, q.All())
	})
}

func TestTask3_Earlier_item_does_not_wait_for_a_later_one(t *testing.T) {
	guard.Test(t, "db is due; whoever sleeps until web is due has to be woken when somebody earlier comes", func(t *guard.T) {
		q := newDelayingQueue(t)
		q.AddAfter("web", time.Hour)
		synctest.Wait() // until whoever waits for web does so
		q.AddAfter("db", time.Second)
		q.pass(time.Second)
		require.Equal(t, []string{"db"}, q.All())
	})
}

func TestTask3_Item_that_comes_while_the_timer_is_set_is_seen(t *testing.T) {
	guard.Test(t, "a message must be there for who looks a moment later: db came when whoever sleeps until web is "+
		"due had looked what is first, and was not asleep yet", func(t *guard.T) {
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
		require.Equal(t, []string{"db"}, q.All())
	})
}

// meddled is the real clock, with something that is done while a timer is made.
type meddled struct {
	clock.RealClock
	lock sync.Mutex
	do   func()
}

// once says what to do while the next timer is made.
func (c *meddled) once(f func()) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.do = f
}

// meddle waits for f, but not for ever: it may wait for this very goroutine.
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
	guard.Test(t, "each round is a new one; what was known of the last one is over", func(t *guard.T) {
		q := newDelayingQueue(t)
		for range 3 {
			q.AddAfter("web", time.Second)
			q.pass(time.Second)
			require.Equal(t, []string{"web"}, q.All())
			q.Done("web")
		}
	})
}

func TestTask3_Due_items_are_merged_like_any_other(t *testing.T) {
	guard.Test(t, "when its time has come an item is added, and it was in the queue already", func(t *guard.T) {
		q := newDelayingQueue(t)
		q.Add("web")
		q.AddAfter("web", time.Second)
		q.pass(time.Second)
		require.Equal(t, []string{"web"}, q.All())
		q.AddAfter("web", time.Second)
		q.pass(time.Second)
		t.Rule("when its time has come an item is added; web is in hand, so it has to wait for Done")
		require.Equal(t, 0, q.Len())
		q.Done("web")
		t.Rule("and then it comes once more")
		require.Equal(t, []string{"web"}, q.All())
	})
}

func TestTask3_Add_leaves_the_time_alone(t *testing.T) {
	guard.Test(t, "Add is now, and so is a delay of 0", func(t *guard.T) {
		for _, add := range []func(q told){
			func(q told) { q.Add("web") },
			func(q told) { q.AddAfter("web", 0) },
		} {
			t.Story(8)
			q := newDelayingQueue(t)
			q.AddAfter("web", 10*time.Second)
			synctest.Wait()
			add(q)
			synctest.Wait()
			require.Equal(t, []string{"web"}, q.All())
			q.Done("web")
			q.pass(10 * time.Second)
			t.Rule("somebody asked for a look in 10s, and one before that does not answer it: perhaps a lease runs " +
				"out then")
			require.Equal(t, []string{"web"}, q.All())
		}
	})
}

func TestTask3_ShutDown_drops_what_waits(t *testing.T) {
	guard.Test(t, "what is queued is handed out; what waits for its time is dropped, or a shutdown could take "+
		"hours", func(t *guard.T) {
		q := newDelayingQueue(t)
		q.Add("db")
		q.AddAfter("web", time.Second)
		q.ShutDown()
		q.pass(time.Minute)
		require.Equal(t, []string{"db"}, q.All())
		t.Rule("shut down and empty: the worker is to end")
		require.Equal(t, shutdown, q.Get())
	})
}

func TestTask3_AddAfter_after_ShutDown_does_nothing(t *testing.T) {
	guard.Test(t, "a worker that fails at the very end calls AddAfter, and nobody listens any more; if the call "+
		"waited, the worker would never end", func(t *guard.T) {
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
		require.Equal(t, returned, late.result())
		q.pass(time.Minute)
		t.Rule("after ShutDown nothing new comes")
		require.Equal(t, 0, q.Len())
	})
}

func TestTask3_ShutDown_twice_is_fine(t *testing.T) {
	guard.Test(t, "a controller has several ways to its end, and some call ShutDown twice; client-go's delaying "+
		"queue used to panic then (#77170)", func(t *guard.T) {
		q := workqueue.NewTypedDelayingQueue[string]()
		t.Did("ShutDown, ShutDown")
		twice := start(t, func() string {
			q.ShutDown()
			q.ShutDown()
			return returned
		})
		require.Equal(t, returned, twice.result())
	})
}

func TestTask3_ShutDown_leaves_no_goroutine(t *testing.T) {
	guard.Test(t, "", func(t *guard.T) {
		t.Did("NewTypedDelayingQueue, AddAfter web, 1h, and ShutDown")
		q := workqueue.NewTypedDelayingQueue[string]()
		q.AddAfter("web", time.Hour)
		synctest.Wait()
		q.ShutDown() // guard sees what is left
	})
}

func TestTask3_Drain_leaves_no_goroutine(t *testing.T) {
	guard.Test(t, "", func(t *guard.T) {
		t.Did("NewTypedDelayingQueue, AddAfter web, 1h, ShutDownWithDrain; 1m0s pass")
		q := workqueue.NewTypedDelayingQueue[string]()
		q.AddAfter("web", time.Hour)
		synctest.Wait()
		q.ShutDownWithDrain()
		time.Sleep(time.Minute) // guard sees what is left then; client-go's takes up to 10s to notice
	})
}

func TestTask3_Drain_waits_for_hands_and_not_for_times(t *testing.T) {
	guard.Test(t, "it was added", func(t *guard.T) {
		q := newDelayingQueue(t)
		q.Add("web")
		require.Equal(t, "web", q.Get())
		q.AddAfter("db", time.Hour)
		drain := q.DrainLater()
		t.Rule("web is in hand")
		require.Equal(t, waits, drain.result())
		q.Done("web")
		t.Rule("db waits for its time, which is neither queued nor in hand: a drain that waited for it could " +
			"take hours")
		require.Equal(t, returned, drain.result())
		q.pass(2 * time.Hour)
		t.Rule("a drain is a shutdown: what waits for its time is dropped")
		require.Equal(t, 0, q.Len())
	})
}

func TestTask3_Waiting_costs_no_goroutine(t *testing.T) {
	guard.Test(t, "one goroutine can wait for all: it sleeps until the first is due. Whatever is started for each "+
		"item, or each round, and not ended piles up: client-go's timers did, a year's worth of them "+
		"(#83895)", func(t *guard.T) {
		q := newDelayingQueue(t)
		before := runtime.NumGoroutine()
		t.Did("AddAfter of 1000 items, 1h")
		for i := range 1_000 {
			q.TypedInterface.(clientgo.TypedDelayingInterface[string]).AddAfter(fmt.Sprint(i), time.Hour)
		}
		synctest.Wait()
		require.Equal(t, "few goroutines more", more(before))
		t.Did("1000 times: AddAfter web, 1s; 1s pass; Get and Done")
		for range 1_000 {
			q.TypedInterface.(clientgo.TypedDelayingInterface[string]).AddAfter("web", time.Second)
			time.Sleep(time.Second)
			synctest.Wait()
			item, _ := q.TypedInterface.Get()
			q.TypedInterface.Done(item)
		}
		require.Equal(t, "few goroutines more", more(before))
	})
}

func TestTask3_Waiting_costs_one_timer(t *testing.T) {
	guard.Test(t, "who is woken before the time has come needs a new timer, and has to stop the old one: not "+
		"every Clock takes back a timer that nobody looks at any more, as Go's own has done since 1.23 "+
		"(#83895)", func(t *guard.T) {
		clock := testclock.NewFakeClock(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
		q := delaying(t, clientgo.TypedDelayingQueueConfig[string]{Clock: clock})
		t.Did("NewTypedDelayingQueueWithConfig, with a Clock that stands still")
		t.Did("AddAfter of 200 items, each due before all the others")
		for i := range 200 {
			q.TypedInterface.(clientgo.TypedDelayingInterface[string]).AddAfter(fmt.Sprint(i), time.Hour-time.Duration(i)*time.Second)
			synctest.Wait()
		}
		timers := "few timers on the Clock"
		if n := clock.Waiters(); n > 20 {
			timers = fmt.Sprint(n, " timers on the Clock")
		}
		require.Equal(t, "few timers on the Clock", timers)
	})
}

// more says how many goroutines there are more than before.
func more(before int) string {
	if n := runtime.NumGoroutine() - before; n > 20 {
		return fmt.Sprint(n, " goroutines more")
	}
	return "few goroutines more"
}

func TestTask3_Config_brings_the_clock(t *testing.T) {
	guard.Test(t, "by config.Clock no time has passed; whoever puts a clock in wants to have it asked", func(t *guard.T) {
		clock := testclock.NewFakeClock(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
		q := delaying(t, clientgo.TypedDelayingQueueConfig[string]{Clock: clock})
		t.Did("NewTypedDelayingQueueWithConfig, with a Clock that stands still")
		q.AddAfter("web", time.Minute)
		q.pass(time.Hour)
		require.Equal(t, 0, q.Len())
		t.Did("the Clock goes on by 1m")
		clock.Step(time.Minute)
		synctest.Wait()
		t.Rule("by config.Clock the minute is over")
		require.Equal(t, []string{"web"}, q.All())
	})
}

func TestTask3_Config_chooses_the_queue_below(t *testing.T) {
	guard.Test(t, "what is due goes to config.Queue, and Add goes there at once", func(t *guard.T) {
		below := clientgo.NewTyped[string]()
		q := delaying(t, clientgo.TypedDelayingQueueConfig[string]{Queue: below})
		t.Did("NewTypedDelayingQueueWithConfig, with client-go's own Typed as its Queue")
		q.AddAfter("web", time.Second)
		q.Add("db")
		q.pass(time.Second)
		t.Did("Len of the queue below")
		require.Equal(t, 2, below.Len())
		t.Rule("Get takes from config.Queue")
		require.Equal(t, []string{"db", "web"}, q.All())
		q.ShutDown()
		t.Did("ShuttingDown of the queue below")
		t.Rule("ShutDown is passed on: the workers wait down there")
		require.True(t, below.ShuttingDown())
	})
}

func TestTask3_Clientgo_delays_on_top_of_yours(t *testing.T) {
	guard.Test(t, "one interface, so it does not matter whose layer is below, and whose is above", func(t *guard.T) {
		q := told{clientgo.NewTypedDelayingQueueWithConfig(clientgo.TypedDelayingQueueConfig[string]{Queue: workqueue.NewTyped[string]()}), t}
		t.Cleanup(q.TypedInterface.ShutDown)
		t.Did("client-go's NewTypedDelayingQueueWithConfig, with your Typed as its Queue")
		q.AddAfter("web", time.Second)
		q.Add("db")
		q.pass(time.Second)
		require.Equal(t, []string{"db", "web"}, q.All())
		q.Done("db")
		q.ShutDown()
		require.Equal(t, shutdown, q.Get())
	})
}

func TestTask3_Any_sequence_of_calls(t *testing.T) {
	guard.Test(t, "", func(t *guard.T) {
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
	guard.Race(t, "AddAfter, and whoever waits for the items, meet in what keeps the times: one lock for all of it", func(t *guard.T) {
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

// A delay that is meant to be for ever.
const forEver = time.Duration(math.MaxInt64)

func TestTask3_For_ever_is_a_long_time(t *testing.T) {
	guard.Test(t, "a limiter may answer with the longest duration there is; added to the time of day it must not "+
		"come out in the past", func(t *guard.T) {
		q := newDelayingQueue(t)
		q.AddAfter("web", forEver)
		q.AddAfter("db", time.Second)
		q.pass(time.Minute)
		require.Equal(t, []string{"db"}, q.All())
	})
}
