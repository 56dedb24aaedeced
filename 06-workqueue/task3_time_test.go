package workqueue_test

// Task 3: the clock of the config.

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask3_Config_brings_the_clock(t *testing.T) {
	guard.Test(t, "The queue measures all delays with config.Clock; nil means the real clock.", func(t *guard.T) {
		clock := testclock.NewFakeClock(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
		q := delaying(t, clientgo.TypedDelayingQueueConfig[string]{Clock: clock})
		t.Did("NewTypedDelayingQueueWithConfig, with a Clock that stands still")
		q.AddAfter("web", time.Minute)
		q.pass(time.Hour)
		require.Equal(t, 0, q.Len(), "Len before the Clock advances")
		t.Did("the Clock advances by 1m")
		clock.Step(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"web"}, q.All(), "the items in the queue after a minute of the Clock")
	})
}

func TestTask3_Delay_begins_with_the_call(t *testing.T) {
	guard.Test(t, "AddAfter adds item to the layer below when delay has passed. The delay begins when AddAfter is called: "+
		"a user's test may advance its clock at once.", func(t *guard.T) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // no other goroutine runs between the two calls
		clock := testclock.NewFakeClock(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
		q := delaying(t, clientgo.TypedDelayingQueueConfig[string]{Clock: clock})
		synctest.Wait()
		t.Did("NewTypedDelayingQueueWithConfig, with a Clock that stands still")
		q.AddAfter("web", time.Minute)
		t.Did("the Clock advances by 1m")
		clock.Step(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"web"}, q.All(), "the items in the queue after a minute of the Clock")
	})
}

func TestTask3_Clock_may_advance_before_the_timer_starts(t *testing.T) {
	guard.Test(t, "The queue measures all delays with config.Clock; nil means the real clock. The clock of a user's "+
		"test may advance just before the queue starts its timer, or just after a look at the time.", func(t *guard.T) {
		for looks, when := range []string{
			"just before the queue starts its timer", "just after the next call of Now", "just after the 2nd call of Now",
			"just after the 3rd call of Now",
		} {
			t.Story(8)
			clock := &hasty{FakeClock: testclock.NewFakeClock(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))}
			q := delaying(t, clientgo.TypedDelayingQueueConfig[string]{Clock: clock})
			t.Did("NewTypedDelayingQueueWithConfig, with a Clock that stands still")
			synctest.Wait()
			clock.looks.Store(int64(looks))
			clock.next.Store(int64(time.Minute))
			q.AddAfter("web", time.Minute)
			synctest.Wait()
			clock.advance() // if the queue has started no timer, or has not looked so often
			synctest.Wait()
			t.Did("the Clock advances by 1m %s", when)
			require.Equal(t, []string{"web"}, q.All(), "the items in the queue after a minute of the Clock")
		}
	})
}

func TestTask3_Clock_may_advance_by_a_part_of_the_delay(t *testing.T) {
	guard.Test(t, "The queue measures all delays with config.Clock: also if the Clock advances by a part of the delay "+
		"before the queue starts a timer.", func(t *guard.T) {
		for looks := range 4 {
			clock := &hasty{FakeClock: testclock.NewFakeClock(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))}
			q := delaying(t, clientgo.TypedDelayingQueueConfig[string]{Clock: clock})
			synctest.Wait()
			if looks == 0 {
				t.Did("the Clock will advance by 30s before the queue starts a timer")
			} else {
				t.Did("the Clock will advance by 30s after look number %d", looks)
			}
			clock.looks.Store(int64(looks))
			clock.next.Store(int64(30 * time.Second))
			q.AddAfter("web", time.Minute)
			synctest.Wait()
			clock.advance() // if nobody has looked so often
			synctest.Wait()
			t.Did("the Clock advances by another 30s")
			clock.Step(30 * time.Second)
			synctest.Wait()
			if looks == 1 { // another goroutine may have looked before AddAfter
				clock.Step(30 * time.Second)
				synctest.Wait()
			}
			require.Equal(t, []string{"web"}, q.All(), "the items in the queue")
		}
	})
}

// hasty is a clock that stands still. It advances once: after a number of looks, or before the next timer starts. Its
// timers fire at once if their time has come, as real ones do. Those of FakeClock wait for the next step.
type hasty struct {
	*testclock.FakeClock
	next  atomic.Int64 // the time by which it advances
	looks atomic.Int64 // how many calls of Now come first; 0 or less if it advances before a timer
}

func (c *hasty) Now() time.Time {
	now := c.FakeClock.Now()
	if c.looks.Add(-1) == 0 {
		c.advance()
	}
	return now
}

func (c *hasty) beforeTimer() {
	if c.looks.Load() <= 0 {
		c.advance()
	}
}

func (c *hasty) advance() {
	if d := c.next.Swap(0); d > 0 {
		c.Step(time.Duration(d))
	}
}

func (c *hasty) NewTimer(d time.Duration) clock.Timer {
	c.beforeTimer()
	timer := c.FakeClock.NewTimer(d)
	c.Step(0)
	return hastyTimer{timer, c}
}

func (c *hasty) After(d time.Duration) <-chan time.Time {
	c.beforeTimer()
	after := c.FakeClock.After(d)
	c.Step(0)
	return after
}

func (c *hasty) AfterFunc(d time.Duration, f func()) clock.Timer {
	c.beforeTimer()
	timer := c.FakeClock.AfterFunc(d, f)
	c.Step(0)
	return hastyTimer{timer, c}
}

// hastyTimer is a timer of a hasty clock.
type hastyTimer struct {
	clock.Timer
	clock *hasty
}

func (t hastyTimer) Reset(d time.Duration) bool {
	active := t.Timer.Reset(d)
	t.clock.Step(0)
	return active
}
