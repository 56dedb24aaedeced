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
	guard.Test(t, "AddAfter adds item to the layer below when delay has passed.", func(t *guard.T) {
		q := newDelayingQueue(t)
		q.AddAfter("web", 10*time.Second)
		require.Equal(t, 0, q.Len(), "Len after AddAfter")
		worker := q.GetLater()
		q.pass(10*time.Second - 1)
		require.Equal(t, waits, worker.result(), "Get one nanosecond too early")
		q.pass(1)
		require.Equal(t, "web", worker.result(), "Get when the delay has passed")
		q.Done("web")
		for _, delay := range []time.Duration{1, time.Millisecond + 2, 20 * 24 * time.Hour} {
			q.AddAfter("web", delay)
			q.pass(delay - 1)
			require.Equal(t, 0, q.Len(), "Len one nanosecond before %v", delay)
			q.pass(1)
			require.Equal(t, []string{"web"}, q.All(), "the items in the queue after %v", delay)
			q.Done("web")
		}
		q.pass(time.Minute)
		t.Rule("AddAfter adds item to the layer below when delay has passed, and adds it once.")
		require.Equal(t, 0, q.Len(), "Len a minute after Done")
		q.AddAfter("", time.Second)
		q.pass(time.Second)
		t.Rule("AddAfter adds item to the layer below when delay has passed. The zero value is an item like any other.")
		require.Equal(t, []string{""}, q.All(), "the items in the queue after 1s")
		t.Story(8)
		t.Rule("AddAfter adds item to the layer below when delay has passed. The number 1 and the text 1 are two items.")
		of := workqueue.NewTypedDelayingQueue[any]()
		t.Cleanup(of.ShutDown)
		t.Did("NewTypedDelayingQueue of any: AddAfter of the number 1 and of the text 1, 1s; 1s passes; Len")
		of.AddAfter(1, time.Second)
		of.AddAfter("1", time.Second)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, 2, of.Len(), "Len after 1s")
	})
}

func TestTask3_No_delay_is_at_once(t *testing.T) {
	guard.Test(t, "If delay is 0 or less, AddAfter does the same as Add.", func(t *guard.T) {
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
		guard.Test(t, "A delayed item has one due time, the earliest that it was given.", func(t *guard.T) {
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
	guard.Test(t, "A delayed item has one due time, the earliest that it was given. An earlier time moves it to "+
		"the front, so the queue must wait less long.", func(t *guard.T) {
		q := newDelayingQueue(t)
		for i, item := range []string{"web", "db", "cdn", "job", "api", "app", "log"} {
			q.AddAfter(item, time.Duration(i+1)*10*time.Second)
		}
		synctest.Wait() // until the goroutine waits for the first
		q.AddAfter("job", time.Second)
		q.AddAfter("cdn", 2*time.Second)
		q.pass(2 * time.Second)
		require.Equal(t, []string{"job", "cdn"}, q.All(), "the items in the queue after 2s")
		q.pass(18 * time.Second)
		t.Rule("AddAfter adds item to the layer below when delay has passed. The other items still come when they " +
			"are due.")
		require.Equal(t, []string{"web", "db"}, q.All(), "the items in the queue after 20s")
	})
}

func TestTask3_Items_come_in_the_order_of_their_times(t *testing.T) {
	guard.Test(t, "Items are added in the order of their due times.", func(t *guard.T) {
		q := newDelayingQueue(t)
		wanted := addInNoOrder(q)
		q.pass(time.Minute)
		require.Equal(t, wanted, q.All(), "the items in the queue after a minute")
	})
}

func TestTask3_Items_that_are_due_together_come_in_order(t *testing.T) {
	guard.Test(t, "Items are added in the order of their due times, even if the queue sees several due items at "+
		"once.", func(t *guard.T) {
		clock := testclock.NewFakeClock(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
		q := delaying(t, clientgo.TypedDelayingQueueConfig[string]{Clock: clock})
		t.Did("NewTypedDelayingQueueWithConfig, with a Clock that stands still")
		wanted := addInNoOrder(q)
		synctest.Wait()
		t.Did("the Clock advances by 1m")
		clock.Step(time.Minute)
		synctest.Wait()
		items := q.All()
		t.Story(8) // 100 steps explain less than these
		t.Did("AddAfter of 50 items, most of them twice, due after 0s to 49s; the Clock advances by 1m at once; Get " +
			"of all")
		require.Equal(t, wanted, items, "the items in the queue after a minute of the Clock")
	})
}

// addInNoOrder delays 50 items and returns them in the order of their due times. Most get an earlier time later.
func addInNoOrder(q loggedQueue) (wanted []string) {
	for _, later := range []time.Duration{25, 0} {
		for i := range 50 {
			second := i * 37 % 50 // each from 0 to 49, in no order
			if later > 0 && i%3 == 0 {
				continue
			}
			delay := time.Duration(second)*time.Second + later*time.Duration(i%7)*time.Second + 1
			q.AddAfter(fmt.Sprint("item due at ", second), delay)
		}
	}
	for i := range 50 {
		wanted = append(wanted, fmt.Sprint("item due at ", i))
	}
	return wanted
}

func TestTask3_Earlier_item_does_not_wait_for_a_later_one(t *testing.T) {
	guard.Test(t, "Items are added in the order of their due times: db is due before web, so it must not wait "+
		"for web.", func(t *guard.T) {
		q := newDelayingQueue(t)
		q.AddAfter("web", time.Hour)
		synctest.Wait() // until the goroutine waits for web
		q.AddAfter("db", time.Second)
		q.pass(time.Second)
		require.Equal(t, []string{"db"}, q.All(), "the items in the queue after 1s")
	})
}

func TestTask3_Item_that_comes_while_the_timer_is_set_is_seen(t *testing.T) {
	guard.Test(t, "Every method may be called from any goroutine: the queue notices an earlier item even if "+
		"AddAfter comes while it sets the timer.", func(t *guard.T) {
		meddler := &meddled{}
		q := delaying(t, clientgo.TypedDelayingQueueConfig[string]{Clock: meddler})
		synctest.Wait()
		added := false
		meddler.once(func() { // on the goroutine that sets a timer
			added = true
			q.AddAfter("db", time.Second)
		})
		q.AddAfter("web", time.Hour)
		synctest.Wait()
		if !added { // the queue has made no new timer, and must notice db without one
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

// meddle calls f and waits for it, but not forever: f may wait for the current goroutine.
func (c *meddled) meddle() {
	c.lock.Lock()
	f := c.do
	c.do = nil
	c.lock.Unlock()
	if f == nil {
		return
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // f's goroutine gets every turn, however busy the machine is
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	for range 1_000 {
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
	guard.Test(t, "An item that has come can be delayed again.", func(t *guard.T) {
		q := newDelayingQueue(t)
		for range 3 {
			q.AddAfter("web", time.Second)
			q.pass(time.Second)
			require.Equal(t, []string{"web"}, q.All(), "the items in the queue after 1s")
			q.Done("web")
		}
		t.Rule("An item that has come can be delayed again. A later time that it was given before does not count.")
		q.AddAfter("web", 3*time.Second)
		q.AddAfter("web", time.Second)
		q.pass(time.Second)
		require.Equal(t, []string{"web"}, q.All(), "the items in the queue after 1s")
		q.Done("web")
		q.AddAfter("web", 3*time.Second)
		q.pass(2 * time.Second)
		require.Equal(t, []string{}, q.All(), "the items in the queue after 2s of the new delay")
		q.pass(time.Second)
		require.Equal(t, []string{"web"}, q.All(), "the items in the queue after 3s of the new delay")
	})
}

func TestTask3_Due_items_are_merged_like_any_other(t *testing.T) {
	guard.Test(t, "AddAfter adds item to the layer below when delay has passed. If it is already queued, it "+
		"comes once.", func(t *guard.T) {
		q := newDelayingQueue(t)
		q.Add("web")
		q.AddAfter("web", time.Second)
		q.pass(time.Second)
		require.Equal(t, []string{"web"}, q.All(), "the items in the queue when the delay has passed")
		q.AddAfter("web", time.Second)
		q.pass(time.Second)
		t.Rule("AddAfter adds item to the layer below when delay has passed. It is being processed, so it " +
			"comes once more after Done.")
		require.Equal(t, 0, q.Len(), "Len when the delay has passed, with web being processed")
		q.Done("web")
		require.Equal(t, []string{"web"}, q.All(), "the items in the queue after Done")
	})
}

func TestTask3_Add_leaves_the_time_alone(t *testing.T) {
	guard.Test(t, "Add does not change the due time of a delayed item: it comes now, and once more when it is "+
		"due.", func(t *guard.T) {
		for i, add := range []func(q loggedQueue){
			func(q loggedQueue) { q.Add("web") },
			func(q loggedQueue) { q.AddAfter("web", 0) },
		} {
			t.Story(8)
			if i == 1 {
				t.Rule("If delay is 0 or less, AddAfter does the same as Add. It does not change the due time of a " +
					"delayed item: it comes now, and once more when it is due.")
			}
			q := newDelayingQueue(t)
			q.AddAfter("web", 10*time.Second)
			synctest.Wait()
			add(q)
			synctest.Wait()
			require.Equal(t, []string{"web"}, q.All(), "the items in the queue after Add")
			q.Done("web")
			q.pass(10 * time.Second)
			require.Equal(t, []string{"web"}, q.All(), "the items in the queue when web is due")
		}
	})
}

func TestTask3_Config_chooses_the_queue_below(t *testing.T) {
	guard.Test(t, "NewTypedDelayingQueueWithConfig returns a queue on top of config.Queue; nil means a new "+
		"Typed. Add, Get and ShutDown are those of config.Queue, and AddAfter adds to it.", func(t *guard.T) {
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

func TestTask3_Any_sequence_of_calls(t *testing.T) {
	guard.Test(t, "The delaying queue does the same as the model in model_test.go for every sequence of "+
		"calls.", func(t *guard.T) {
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

// forEver is the longest delay.
const forEver = time.Duration(math.MaxInt64)

func TestTask3_Longest_delay_does_not_overflow(t *testing.T) {
	guard.Test(t, "AddAfter adds item to the layer below when delay has passed. The longest possible delay is "+
		"far in the future, and the sum with the current time must not overflow.", func(t *guard.T) {
		q := newDelayingQueue(t)
		q.AddAfter("web", forEver)
		q.AddAfter("db", time.Second)
		q.pass(time.Minute)
		require.Equal(t, []string{"db"}, q.All(), "the items in the queue after a minute")
	})
}
