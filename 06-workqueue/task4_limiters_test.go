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
	guard.Test(t, "When counts a failure of item and returns its wait: baseDelay after the first failure, doubled by "+
		"each further one, and never more than maxDelay.", func(t *guard.T) {
		r := exponential(time.Millisecond, time.Second)
		require.Equal(t, "1ms 2ms 4ms 8ms 16ms", when(t, r, "web", 5), "the waits of 5 failures, base 1ms, max 1s")
	})
}

func TestTask4_Wait_has_an_upper_limit(t *testing.T) {
	guard.Test(t, "When counts a failure of item and returns its wait: baseDelay after the first failure, "+
		"doubled by each further one, and never more than maxDelay. That includes the first "+
		"wait.", func(t *guard.T) {
		r := exponential(time.Millisecond, 5*time.Millisecond)
		require.Equal(t, "1ms 2ms 4ms 5ms 5ms", when(t, r, "web", 5), "the waits of 5 failures, base 1ms, max 5ms")
		t.Story(8)
		r = exponential(time.Second, time.Millisecond)
		require.Equal(t, "1ms 1ms", when(t, r, "web", 2), "the waits of 2 failures, base 1s, max 1ms")
		t.Story(8)
		r = exponential(1, 3)
		require.Equal(t, "1ns 2ns 3ns 3ns", when(t, r, "web", 4), "the waits of 4 failures, base 1ns, max 3ns")
		t.Story(8)
		r = exponential(time.Millisecond, 0)
		require.Equal(t, "0s 0s", when(t, r, "web", 2), "the waits of 2 failures, base 1ms, max 0s")
		t.Story(8)
		r = exponential(0, time.Second)
		require.Equal(t, "0s 0s", when(t, r, "web", 2), "the waits of 2 failures, base 0s, max 1s")
	})
}

func TestTask4_Wait_never_overflows(t *testing.T) {
	guard.Test(t, "When never overflows, however often it is called. An overflow once made a controller retry "+
		"without any wait (#31396).", func(t *guard.T) {
		for _, c := range []struct{ base, most time.Duration }{
			{3 * time.Millisecond, time.Hour}, {time.Millisecond, math.MaxInt64}, {7, math.MaxInt64},
			{time.Millisecond + 1, time.Hour},
		} {
			t.Story(8)
			r := exponential(c.base, c.most)
			t.Did("NewTypedItemExponentialFailureRateLimiter, base %v, max %v", c.base, c.most)
			var last time.Duration
			var waits []time.Duration
			for i := range 300 {
				wait := r.When("web")
				if wait < last {
					t.Did("When web, %d times; the last answers were %v and %v", i+1, last, wait)
				}
				require.GreaterOrEqual(t, wait, last, "wait number %d, base %v, max %v", i+1, c.base, c.most)
				last, waits = wait, append(waits, wait)
			}
			t.Did("When web, 300 times")
			t.Rule("When counts a failure of item and returns its wait: baseDelay after the first failure, doubled by each " +
				"further one, and never more than maxDelay.")
			requireDoubled(t, waits, c.base, c.most)
			t.Rule("When never overflows, however often it is called.")
		}
	})
}

func TestTask4_Wait_never_overflows_for_any_base(t *testing.T) {
	guard.Test(t, "When never overflows, however often it is called, and for any base.", func(t *guard.T) {
		r := exponential(1, math.MaxInt64)
		t.Did("NewTypedItemExponentialFailureRateLimiter, base 1ns, max %v", forEver)
		var last time.Duration
		var waits []time.Duration
		for i := range 100 {
			wait := r.When("web")
			require.GreaterOrEqual(t, wait, last, "wait number %d, base 1ns", i+1)
			last, waits = wait, append(waits, wait)
		}
		t.Did("When web, 100 times")
		t.Rule("When counts a failure of item and returns its wait: baseDelay after the first failure, doubled by each " +
			"further one, and never more than maxDelay.")
		requireDoubled(t, waits, 1, forEver)
	})
}

// requireDoubled requires that the first wait is base, and each further one twice the one before it, or most.
func requireDoubled(t *guard.T, waits []time.Duration, base, most time.Duration) {
	t.Helper()
	wanted := base
	for i, wait := range waits {
		require.Equal(t, wanted, wait, "wait number %d, base %v, max %v", i+1, base, most)
		if wanted > most-wanted {
			wanted = most
		} else {
			wanted *= 2
		}
	}
}

func TestTask4_Each_item_counts_for_itself(t *testing.T) {
	guard.Test(t, "The failures of other items do not count.", func(t *guard.T) {
		r := exponential(time.Millisecond, time.Second)
		require.Equal(t, "1ms 2ms 4ms", when(t, r, "web", 3), "the waits of 3 failures of web")
		require.Equal(t, "1ms", when(t, r, "db", 1), "the wait of the 1st failure of db")
		t.Did("NumRequeues of web, db and cdn")
		t.Rule("NumRequeues returns how many failures of item were counted since the last Forget.")
		require.Equal(t, []int{3, 1, 0}, []int{r.NumRequeues("web"), r.NumRequeues("db"), r.NumRequeues("cdn")},
			"NumRequeues of web, db and cdn")
		t.Story(8)
		t.Rule("The failures of other items do not count, however many there are.")
		many := workqueue.NewTypedItemExponentialFailureRateLimiter[int](time.Millisecond, time.Second)
		both := workqueue.NewTypedItemExponentialFailureRateLimiter[any](time.Millisecond, time.Second)
		t.Did("When of the number 1 and of the text 1")
		require.Equal(t, []time.Duration{time.Millisecond, time.Millisecond}, []time.Duration{both.When(1), both.When("1")},
			"the waits of the number 1 and of the text 1")
		t.Did("When of the items 0 to 149999; Forget 1; When 0, 1 and 2")
		for i := range 150_000 {
			many.When(i)
		}
		many.Forget(1)
		require.Equal(t, []time.Duration{2 * time.Millisecond, time.Millisecond, 2 * time.Millisecond},
			[]time.Duration{many.When(0), many.When(1), many.When(2)}, "the waits of 0, 1 and 2")
	})
}

func TestTask4_Forget_starts_over_for_one_item(t *testing.T) {
	guard.Test(t, "Forget drops the failures of item, so its next wait is baseDelay. The failures of other items "+
		"still count.", func(t *guard.T) {
		r := exponential(time.Millisecond, time.Second)
		require.Equal(t, "1ms 2ms", when(t, r, "web", 2), "the waits of 2 failures of web")
		require.Equal(t, "1ms 2ms", when(t, r, "db", 2), "the waits of 2 failures of db")
		t.Did("Forget web; Forget cdn, which never failed")
		r.Forget("web")
		r.Forget("cdn")
		require.Equal(t, "1ms 2ms", when(t, r, "web", 2), "the waits of 2 failures of web after Forget")
		require.Equal(t, "4ms", when(t, r, "db", 1), "the wait of the 3rd failure of db")
	})
}

func TestTask4_Nothing_is_kept_of_items_without_failures(t *testing.T) {
	guard.Test(t, "Each layer uses memory only for the items that it has: a limiter has no item without "+
		"failures.", func(t *guard.T) {
		exponential := workqueue.NewTypedItemExponentialFailureRateLimiter[*payload]
		bucket := &workqueue.TypedBucketRateLimiter[*payload]{Limiter: rate.NewLimiter(10, 2)}
		for name, r := range guard.InOrder(map[string]clientgo.TypedRateLimiter[*payload]{
			"TypedItemExponentialFailureRateLimiter": exponential(time.Millisecond, time.Second),
			"TypedBucketRateLimiter":                 bucket,
			"TypedMaxOfRateLimiter":                  workqueue.NewTypedMaxOfRateLimiter(exponential(1, 2), bucket),
			"TypedWithMaxWaitRateLimiter":            workqueue.NewTypedWithMaxWaitRateLimiter(exponential(1, 2), 1),
		}) {
			t.Story(8)
			t.Did("%s: When of 100 items; Forget and NumRequeues of these, and of 100 that never failed", name)
			var items []weak.Pointer[payload]
			start(t, func() string { // on a goroutine that ends, so that its stack holds none of them
				for i := range 200 {
					item := new(payload)
					items = append(items, weak.Make(item))
					if i < 100 {
						r.When(item)
					}
					r.Forget(item)
					r.NumRequeues(item)
				}
				return returned
			}).result()
			require.Equal(t, "0 of 200 still in memory", stillHeld(items), "the items that have no failures")
			runtime.KeepAlive(r)
		}
	})
}

func TestTask4_Bucket_keeps_no_item(t *testing.T) {
	guard.Test(t, "Each layer uses memory only for the items that it has: a bucket counts no items, so it keeps none.",
		func(t *guard.T) {
			r := &workqueue.TypedBucketRateLimiter[*payload]{Limiter: rate.NewLimiter(10, 2)}
			t.Did("TypedBucketRateLimiter: When of 100 items, without Forget")
			var items []weak.Pointer[payload]
			start(t, func() string {
				for range 100 {
					item := new(payload)
					items = append(items, weak.Make(item))
					r.When(item)
				}
				return returned
			}).result()
			require.Equal(t, "0 of 100 still in memory", stillHeld(items), "the items that the bucket was asked for")
			runtime.KeepAlive(r)
		})
}

func TestTask4_Failures_are_counted_without_end(t *testing.T) {
	guard.Test(t, "NumRequeues returns how many failures of item were counted since the last Forget, without an "+
		"upper limit.", func(t *guard.T) {
		r := workqueue.NewTypedWithMaxWaitRateLimiter(workqueue.NewTypedMaxOfRateLimiter(
			exponential(time.Millisecond, time.Second)), time.Minute)
		t.Did("TypedWithMaxWaitRateLimiter of a TypedMaxOfRateLimiter of an exponential one: When web, 100000 times")
		for range 100_000 {
			r.When("web")
		}
		require.Equal(t, 100_000, r.NumRequeues("web"), "NumRequeues of web")
		t.Did("Forget web")
		r.Forget("web")
		t.Rule("Forget drops the failures of item, so its next wait is baseDelay, however many failures there were.")
		require.Equal(t, "1ms", when(t, r, "web", 1), "the wait of the next failure of web")
	})
}

func TestTask4_When_counts_every_failure(t *testing.T) {
	guard.Test(t, "Every method may be called from any goroutine: each failure is counted.", func(t *guard.T) {
		r := workqueue.NewTypedItemExponentialFailureRateLimiter[any](time.Millisecond, time.Second)
		t.Did("When of an item by four goroutines at once; NumRequeues")
		inLine(t, func(other any) { r.When(other) }, func(int) { r.When("web") })
		require.Equal(t, 4, r.NumRequeues("web"), "NumRequeues after 4 failures")
	})
}

func TestTask4_Bucket_is_shared(t *testing.T) {
	guard.Test(t, "When takes the next token of the bucket, which all items share, and returns the time until "+
		"that token exists.", func(t *guard.T) {
		r := &workqueue.TypedBucketRateLimiter[string]{Limiter: rate.NewLimiter(10, 2)}
		t.Did("TypedBucketRateLimiter, 10 a second, 2 at once")
		require.Equal(t, "0s 0s 100ms 200ms", when(t, r, "web", 4), "the waits of 4 failures of web")
		require.Equal(t, "300ms", when(t, r, "db", 1), "the wait of the 1st failure of db")
		t.Did("Forget web, 1s passes")
		r.Forget("web")
		time.Sleep(time.Second)
		t.Rule("When takes the next token of the bucket. After a pause the bucket is full again, with no " +
			"more tokens than fit.")
		require.Equal(t, "0s 0s 100ms", when(t, r, "web", 3), "the waits of 3 failures of web after 1s")
		for range 1_000 {
			r.When("web")
		}
		t.Did("When web, 1000 times")
		t.Rule("When takes the next token of the bucket, and returns the time until that token exists, however long " +
			"that is.")
		require.Equal(t, "1m40.2s 1m40.3s", when(t, r, "web", 2), "the waits of the next 2 failures of web")
		for _, c := range []struct {
			limit rate.Limit
			burst int
			waits string
		}{
			{rate.Every(time.Hour), 1, "0s 1h0m0s 2h0m0s"},
			{3, 1, "0s 333.333333ms 666.666666ms"},
			{10, 0, fmt.Sprint(forEver, " ", forEver, " ", forEver)}, // no token ever exists
		} {
			r := &workqueue.TypedBucketRateLimiter[string]{Limiter: rate.NewLimiter(c.limit, c.burst)}
			t.Did("TypedBucketRateLimiter, %v a second, %d at once", c.limit, c.burst)
			require.Equal(t, c.waits, when(t, r, "web", 3), "the waits of 3 failures of web")
		}
		t.Rule("A bucket does not know the items, so NumRequeues is always 0.")
		require.Equal(t, 0, r.NumRequeues("web"), "NumRequeues of web")
	})
}

func TestTask4_Every_method_takes_the_lock(t *testing.T) {
	guard.Race(t, "Every method may be called from any goroutine: each takes the lock that guards the "+
		"failures.", func(t *guard.T) {
		for name, r := range guard.InOrder(map[string]clientgo.TypedRateLimiter[string]{
			"TypedItemExponentialFailureRateLimiter": exponential(time.Millisecond, time.Second),
			"DefaultTypedControllerRateLimiter":      workqueue.DefaultTypedControllerRateLimiter[string](),
		}) {
			t.Did("%s: When by two goroutines, Forget and NumRequeues by one each", name)
			guard.Storm(
				func(i int) { r.When(fmt.Sprint(i % 10)) },
				func(i int) { r.When(fmt.Sprint(i % 10)) },
				func(i int) { r.Forget(fmt.Sprint(i % 10)) },
				func(i int) { r.NumRequeues(fmt.Sprint(i % 10)) },
			)
		}
	})
}

func exponential(base, most time.Duration) clientgo.TypedRateLimiter[string] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[string](base, most)
}

// when returns the results of n calls of When for item, such as "1ms 2ms 4ms".
func when(t *guard.T, r clientgo.TypedRateLimiter[string], item string, n int) string {
	text := ""
	for range n {
		t.Did("When %s", item)
		text += " " + r.When(item).String()
	}
	return text[1:]
}
