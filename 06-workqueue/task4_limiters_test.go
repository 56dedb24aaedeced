package workqueue_test

// Task 4: how long a failed item waits.

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	clientgo "k8s.io/client-go/util/workqueue"

	workqueue "client-go-workshop/06-workqueue"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask4_Each_failure_doubles_the_wait(t *testing.T) {
	guard.Test(t, "the first failure may be an accident, so its wait is short; who fails again and again has a "+
		"trouble that takes longer", func(t *guard.T) {
		r := exponential(time.Millisecond, time.Second)
		require.Equal(t, "1ms 2ms 4ms 8ms 16ms", when(t, r, "web", 5))
	})
}

func TestTask4_Wait_has_an_upper_limit(t *testing.T) {
	guard.Test(t, "no wait is longer than maxDelay, and it stays there", func(t *guard.T) {
		r := exponential(time.Millisecond, 5*time.Millisecond)
		require.Equal(t, "1ms 2ms 4ms 5ms 5ms", when(t, r, "web", 5))
		r = exponential(time.Second, time.Millisecond)
		t.Rule("no wait is longer than maxDelay, also not the first")
		require.Equal(t, "1ms 1ms", when(t, r, "web", 2))
		r = exponential(1, 3)
		t.Rule("the base is doubled until it would be more than maxDelay, to the nanosecond")
		require.Equal(t, "1ns 2ns 3ns 3ns", when(t, r, "web", 4))
	})
}

func TestTask4_Wait_never_overflows(t *testing.T) {
	guard.Test(t, "doubled too often, a number leaves its 64 bits, and comes out negative, as 0, or just too "+
		"small: an item that had failed for long was tried again without any wait, and its controller "+
		"spun (#31396)", func(t *guard.T) {
		for _, c := range []struct{ base, most time.Duration }{{3 * time.Millisecond, time.Hour}, {time.Millisecond, math.MaxInt64}, {7, math.MaxInt64}} {
			t.Story(8)
			r := exponential(c.base, c.most)
			t.Did("NewTypedItemExponentialFailureRateLimiter, base %v, max %v", c.base, c.most)
			var last time.Duration
			for i := range 200 {
				wait := r.When("web")
				if wait < last {
					t.Did("When web, %d times; the last answers were %v and %v", i+1, last, wait)
				}
				require.GreaterOrEqual(t, wait, last)
				last = wait
			}
			t.Did("When web, 200 times")
			t.Rule("after 200 failures the wait is at its upper limit, or near to where doubling once more would " +
				"pass it")
			require.Greater(t, last, c.most/2)
		}
	})
}

func TestTask4_Each_item_counts_for_itself(t *testing.T) {
	guard.Test(t, "three failures of web", func(t *guard.T) {
		r := exponential(time.Millisecond, time.Second)
		require.Equal(t, "1ms 2ms 4ms", when(t, r, "web", 3))
		t.Rule("what web did wrong is no fault of db's")
		require.Equal(t, "1ms", when(t, r, "db", 1))
		t.Did("NumRequeues of web, db and cdn")
		t.Rule("a controller that gives up after some tries asks how many there were")
		require.Equal(t, []int{3, 1, 0}, []int{r.NumRequeues("web"), r.NumRequeues("db"), r.NumRequeues("cdn")})
	})
}

func TestTask4_Forget_starts_over_for_one_item(t *testing.T) {
	guard.Test(t, "two failures of web", func(t *guard.T) {
		r := exponential(time.Millisecond, time.Second)
		require.Equal(t, "1ms 2ms", when(t, r, "web", 2))
		t.Rule("two failures of db")
		require.Equal(t, "1ms 2ms", when(t, r, "db", 2))
		t.Did("Forget web; Forget cdn, which never failed")
		r.Forget("web")
		r.Forget("cdn")
		t.Rule("web has succeeded; its next failure is a first one again")
		require.Equal(t, "1ms 2ms", when(t, r, "web", 2))
		t.Rule("db has not succeeded, and its failures still count")
		require.Equal(t, "4ms", when(t, r, "db", 1))
	})
}

func TestTask4_Nothing_is_kept_of_what_was_forgotten(t *testing.T) {
	guard.Test(t, "an item without failures is not in the limiter; a count of 0 for each item that ever succeeded "+
		"is a leak, since that is every object there ever was", func(t *guard.T) {
		r := workqueue.NewTypedItemExponentialFailureRateLimiter[*payload](time.Millisecond, time.Second)
		t.Did("When of 100 items; Forget of these, and of 100 that never failed")
		var items []weak.Pointer[payload]
		start(t, func() string { // on a goroutine that ends, so that its stack holds none of them
			for i := range 200 {
				item := new(payload)
				items = append(items, weak.Make(item))
				if i < 100 {
					r.When(item)
				}
				r.Forget(item)
			}
			return returned
		}).result()
		require.Equal(t, "0 of 200 still in memory", stillHeld(items))
		runtime.KeepAlive(r)
	})
}

func TestTask4_Bucket_is_shared(t *testing.T) {
	guard.Test(t, "two tokens are there, and each later one is reserved: who asks next waits for the one after it", func(t *guard.T) {
		r := &workqueue.TypedBucketRateLimiter[string]{Limiter: rate.NewLimiter(10, 2)}
		t.Did("TypedBucketRateLimiter, 10 a second, 2 at once")
		require.Equal(t, "0s 0s 100ms 200ms", when(t, r, "web", 4))
		t.Rule("one bucket for all items: it protects the API server, which does not care whose requests they " +
			"are")
		require.Equal(t, "300ms", when(t, r, "db", 1))
		t.Did("Forget web, 1s passes")
		r.Forget("web")
		time.Sleep(time.Second)
		t.Rule("after a rest the bucket is full again, with no more than 2")
		require.Equal(t, "0s 0s 100ms", when(t, r, "web", 3))
		t.Rule("a bucket does not know who asks")
		require.Equal(t, 0, r.NumRequeues("web"))
	})
}

func TestTask4_MaxOf_is_the_strictest(t *testing.T) {
	guard.Test(t, "the longest of the waits, in whichever order the limiters are; and each has to be asked each "+
		"time, or it does not count", func(t *guard.T) {
		for _, order := range [][]int{{0, 1}, {1, 0}} {
			t.Story(8)
			limiters := []clientgo.TypedRateLimiter[string]{exponential(time.Millisecond, time.Second), exponential(3*time.Millisecond, 4*time.Millisecond)}
			t.Did("NewTypedMaxOfRateLimiter of 1ms, 2ms, 4ms … and 3ms, 4ms, 4ms …")
			r := workqueue.NewTypedMaxOfRateLimiter(limiters[order[0]], limiters[order[1]])
			require.Equal(t, "3ms 4ms 4ms 8ms", when(t, r, "web", 4))
			t.Did("When db of the first limiter alone, twice; NumRequeues of web and db")
			limiters[0].When("db")
			limiters[0].When("db")
			t.Rule("the largest number that one of them has counted, and not their sum: a failure is one failure, " +
				"however many count it")
			require.Equal(t, []int{4, 2}, []int{r.NumRequeues("web"), r.NumRequeues("db")})
		}
		t.Did("NewTypedMaxOfRateLimiter of none")
		t.Rule("nobody asks for a wait")
		require.Equal(t, "0s", when(t, workqueue.NewTypedMaxOfRateLimiter[string](), "web", 1))
	})
}

func TestTask4_MaxOf_forgets_in_all(t *testing.T) {
	guard.Test(t, "one limiter that remembers is enough to make the next failure wait as if nothing had been well", func(t *guard.T) {
		first, second := exponential(time.Millisecond, time.Second), exponential(time.Millisecond, time.Second)
		r := workqueue.NewTypedMaxOfRateLimiter(first, second)
		when(t, r, "web", 3)
		t.Did("Forget web; NumRequeues of each limiter")
		r.Forget("web")
		require.Equal(t, []int{0, 0}, []int{first.NumRequeues("web"), second.NumRequeues("web")})
	})
}

func TestTask4_WithMaxWait_cuts_the_wait(t *testing.T) {
	guard.Test(t, "what the limiter says, and no more than maxDelay", func(t *guard.T) {
		inner := exponential(time.Millisecond, time.Second)
		r := workqueue.NewTypedWithMaxWaitRateLimiter(inner, 3*time.Millisecond)
		t.Did("NewTypedWithMaxWaitRateLimiter of 1ms, 2ms, 4ms …, at most 3ms")
		require.Equal(t, "1ms 2ms 3ms 3ms", when(t, r, "web", 4))
		t.Did("NumRequeues web")
		t.Rule("the limiter inside counts, also when its answer is cut")
		require.Equal(t, 4, r.NumRequeues("web"))
		t.Did("Forget web, NumRequeues web")
		r.Forget("web")
		t.Rule("Forget is for the limiter inside, which has counted")
		require.Equal(t, 0, r.NumRequeues("web"))
	})
}

func TestTask4_Default_of_controllers(t *testing.T) {
	guard.Test(t, "for each item 5ms, doubled", func(t *guard.T) {
		r := workqueue.DefaultTypedControllerRateLimiter[string]()
		t.Did("DefaultTypedControllerRateLimiter")
		require.Equal(t, "5ms 10ms 20ms 40ms", when(t, r, "web", 4))
		for i := range 96 {
			r.When(fmt.Sprint("item ", i))
		}
		t.Did("When of 96 other items, once each")
		t.Rule("for all together 100 at once, and then 10 a second: a hundred tries are spent")
		require.Equal(t, "100ms 200ms", when(t, r, "db", 1)+" "+when(t, r, "cdn", 1))
		t.Did("1h passes, in which the bucket fills")
		time.Sleep(time.Hour)
		for range 20 {
			r.When("web")
		}
		t.Did("When web, 20 times")
		t.Rule("an item never waits longer than 1000s for its next try")
		require.Equal(t, "16m40s", when(t, r, "web", 1))
	})
}

func TestTask4_Default_of_items(t *testing.T) {
	guard.Test(t, "for each item 1ms, doubled", func(t *guard.T) {
		r := workqueue.DefaultTypedItemBasedRateLimiter[string]()
		t.Did("DefaultTypedItemBasedRateLimiter")
		require.Equal(t, "1ms 2ms 4ms", when(t, r, "web", 3))
		for range 20 {
			r.When("web")
		}
		t.Did("When web, 20 times")
		t.Rule("an item never waits longer than 1000s for its next try")
		require.Equal(t, "16m40s", when(t, r, "web", 1))
		for i := range 200 {
			r.When(fmt.Sprint("item ", i))
		}
		t.Did("When of 200 other items, once each")
		t.Rule("here nothing is shared")
		require.Equal(t, "1ms", when(t, r, "db", 1))
	})
}

func TestTask4_Every_method_takes_the_lock(t *testing.T) {
	guard.Race(t, "many workers share one limiter, so each method that touches the failures takes the lock", func(t *guard.T) {
		r := exponential(time.Millisecond, time.Second)
		t.Did("When by two goroutines, Forget and NumRequeues by one each")
		guard.Storm(
			func(i int) { r.When(fmt.Sprint(i % 10)) },
			func(i int) { r.When(fmt.Sprint(i % 10)) },
			func(i int) { r.Forget(fmt.Sprint(i % 10)) },
			func(i int) { r.NumRequeues(fmt.Sprint(i % 10)) },
		)
	})
}

func exponential(base, most time.Duration) clientgo.TypedRateLimiter[string] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[string](base, most)
}

// when asks n times how long item has to wait: "1ms 2ms 4ms".
func when(t *guard.T, r clientgo.TypedRateLimiter[string], item string, n int) string {
	text := ""
	for range n {
		t.Did("When %s", item)
		text += " " + r.When(item).String()
	}
	return text[1:]
}
