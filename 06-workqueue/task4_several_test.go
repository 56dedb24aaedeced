package workqueue_test

// Task 4: limiters that are made of others, and the defaults.

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"

	workqueue "client-go-workshop/06-workqueue"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask4_MaxOf_is_the_strictest(t *testing.T) {
	guard.Test(t, "When returns the longest wait of all limiters, and each of them counts the failure.", func(t *guard.T) {
		for _, order := range [][]int{{0, 1}, {1, 0}} {
			t.Story(8)
			limiters := []clientgo.TypedRateLimiter[string]{
				exponential(time.Millisecond, time.Second), exponential(3*time.Millisecond, 4*time.Millisecond),
			}
			t.Did("NewTypedMaxOfRateLimiter of 0s, of 1ms, 2ms, 4ms … and 3ms, 4ms, 4ms …, and of 0s again")
			none, last := exponential(0, 0), exponential(0, 0)
			r := workqueue.NewTypedMaxOfRateLimiter(none, limiters[order[0]], limiters[order[1]], last)
			require.Equal(t, "3ms 4ms 4ms 8ms", when(t, r, "web", 4), "the waits of 4 failures of web")
			require.Equal(t, []int{4, 4}, []int{none.NumRequeues("web"), last.NumRequeues("web")},
				"failures that the first and the last limiter have counted")
			t.Did("When db of one limiter twice, and of another one once; NumRequeues of web and db")
			t.Rule("NumRequeues returns the largest number of failures that one of the limiters has counted, not their sum.")
			limiters[0].When("db")
			limiters[0].When("db")
			limiters[1].When("db")
			require.Equal(t, []int{4, 2}, []int{r.NumRequeues("web"), r.NumRequeues("db")}, "NumRequeues of web and db")
		}
		t.Story(8)
		first, second := &noCount{wait: forEver}, exponential(time.Millisecond, time.Second)
		t.Did("NewTypedMaxOfRateLimiter of %v, and of 1ms, 2ms, 4ms …", forEver)
		t.Rule("When returns the longest wait of all limiters, and each of them counts the failure, even if no wait can be " +
			"longer than the first one.")
		require.Equal(t, forEver.String(), when(t, workqueue.NewTypedMaxOfRateLimiter(first, second), "web", 1),
			"the wait of the 1st failure of web")
		require.Equal(t, 1, second.NumRequeues("web"), "failures that the second limiter has counted")
		t.Did("NewTypedMaxOfRateLimiter of none")
		t.Rule("Without limiters the wait is 0.")
		none := workqueue.NewTypedMaxOfRateLimiter[string]()
		require.Equal(t, "0s", when(t, none, "web", 1), "the wait of a limiter made of none")
		t.Did("Forget web; NumRequeues web")
		none.Forget("web")
		t.Rule("NumRequeues returns the largest number of failures that one of the limiters has counted. Without limiters it " +
			"is 0.")
		require.Equal(t, 0, none.NumRequeues("web"), "NumRequeues of a limiter made of none")
	})
}

func TestTask4_MaxOf_forgets_in_all(t *testing.T) {
	guard.Test(t, "Forget makes every limiter forget item.", func(t *guard.T) {
		first, second := exponential(time.Millisecond, time.Second), exponential(time.Millisecond, time.Second)
		silent := &noCount{}
		r := workqueue.NewTypedMaxOfRateLimiter(first, silent, second)
		when(t, r, "web", 3)
		t.Did("Forget web and db; NumRequeues of each limiter")
		r.Forget("web")
		r.Forget("db")
		require.Equal(t, []string{"web", "db"}, silent.forgotten, "Forget of a limiter whose NumRequeues is 0")
		require.Equal(t, []int{0, 0}, []int{first.NumRequeues("web"), second.NumRequeues("web")},
			"NumRequeues of each limiter after Forget")
		t.Rule("When returns the longest wait of all limiters: the longest of this failure, not of all failures.")
		require.Equal(t, "1ms", when(t, r, "web", 1), "the wait of the 1st failure of web after Forget")
	})
}

// noCount is a limiter that counts no failures, and notes what it shall forget. All waits are the same.
type noCount struct {
	wait      time.Duration
	forgotten []string
}

func (n *noCount) When(string) time.Duration { return n.wait }
func (n *noCount) NumRequeues(string) int    { return 0 }
func (n *noCount) Forget(item string)        { n.forgotten = append(n.forgotten, item) }

func TestTask4_WithMaxWait_cuts_the_wait(t *testing.T) {
	guard.Test(t, "When returns the wait of the inner limiter, or maxDelay if that is shorter.", func(t *guard.T) {
		inner := exponential(time.Millisecond, time.Second)
		r := workqueue.NewTypedWithMaxWaitRateLimiter(inner, 3*time.Millisecond)
		t.Did("NewTypedWithMaxWaitRateLimiter of 1ms, 2ms, 4ms …, at most 3ms")
		require.Equal(t, "1ms 2ms 3ms 3ms", when(t, r, "web", 4), "the waits of 4 failures of web, at most 3ms")
		require.Equal(t, "0s", when(t, workqueue.NewTypedWithMaxWaitRateLimiter(exponential(0, 0), time.Second), "web", 1),
			"the wait of an inner limiter that does not wait")
		require.Equal(t, "1.000001ms", when(t, workqueue.NewTypedWithMaxWaitRateLimiter(&noCount{wait: time.Millisecond + 1},
			time.Second), "web", 1), "the wait of an inner limiter that waits 1ms and a nanosecond")
		require.Equal(t, "1s", when(t, workqueue.NewTypedWithMaxWaitRateLimiter(&noCount{wait: forEver}, time.Second),
			"web", 1), "the wait of an inner limiter whose wait is the longest possible one, at most 1s")
		require.Equal(t, "0s", when(t, workqueue.NewTypedWithMaxWaitRateLimiter(inner, 0), "db", 1),
			"the wait of the 1st failure of db, at most 0s")
		require.Equal(t, 1, inner.NumRequeues("db"), "NumRequeues of db of the inner limiter, at most 0s")
		t.Did("NumRequeues web")
		t.Rule("NumRequeues returns the number of failures that the inner limiter has counted. A wait that " +
			"is cut is a failure too.")
		require.Equal(t, 4, r.NumRequeues("web"), "NumRequeues of web after 4 failures")
		t.Did("Forget web, NumRequeues web")
		r.Forget("web")
		t.Rule("Forget makes the inner limiter forget item.")
		require.Equal(t, 0, r.NumRequeues("web"), "NumRequeues of web after Forget")
	})
}

func TestTask4_Default_of_controllers(t *testing.T) {
	guard.Test(t, "DefaultTypedControllerRateLimiter returns the limiter of most controllers: for each item 5ms, "+
		"doubled up to 1000s, and for all items together 10 retries a second, with a hundred at once after a "+
		"pause.", func(t *guard.T) {
		r := workqueue.DefaultTypedControllerRateLimiter[string]()
		t.Did("DefaultTypedControllerRateLimiter")
		require.Equal(t, "5ms 10ms 20ms 40ms", when(t, r, "web", 4), "the waits of 4 failures of web")
		for i := range 96 {
			r.When(fmt.Sprint("item ", i))
		}
		t.Did("When of 96 other items, once each")
		require.Equal(t, "100ms 200ms", when(t, r, "db", 1)+" "+when(t, r, "cdn", 1), "the 101st and 102nd wait")
		t.Did("1h passes, in which the bucket fills")
		time.Sleep(time.Hour)
		for range 20 {
			r.When("web")
		}
		t.Did("When web, 20 times")
		require.Equal(t, "16m40s", when(t, r, "web", 1), "the wait of the 25th failure of web")
		t.Story(8)
		t.Did("When of 20000 other items, once each; DefaultTypedControllerRateLimiter again, for another controller")
		for i := range 20_000 {
			r.When(fmt.Sprint("other item ", i))
		}
		require.Greater(t, r.When("api"), 1900*time.Second, "the wait of the next item")
		require.Equal(t, "5ms", when(t, workqueue.DefaultTypedControllerRateLimiter[string](), "web", 1),
			"the wait of the 1st failure of web in another limiter")
	})
}

func TestTask4_Default_of_items(t *testing.T) {
	guard.Test(t, "DefaultTypedItemBasedRateLimiter returns a limiter that counts for each item alone: 1ms, doubled up "+
		"to 1000s.", func(t *guard.T) {
		r := workqueue.DefaultTypedItemBasedRateLimiter[string]()
		t.Did("DefaultTypedItemBasedRateLimiter")
		require.Equal(t, "1ms 2ms 4ms", when(t, r, "web", 3), "the waits of 3 failures of web")
		for range 20 {
			r.When("web")
		}
		t.Did("When web, 20 times")
		require.Equal(t, "16m40s", when(t, r, "web", 1), "the wait of the 24th failure of web")
		for i := range 200 {
			r.When(fmt.Sprint("item ", i))
		}
		t.Did("When of 200 other items, once each")
		require.Equal(t, "1ms", when(t, r, "db", 1), "the wait of the 1st failure of db")
	})
}
