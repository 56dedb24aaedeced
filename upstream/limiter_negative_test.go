package upstream

import (
	"runtime"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// Promise: "The backoff is capped such that 'calculated' value never overflows."
// (util/workqueue/default_rate_limiters.go:123)
//
// Defect: float64(math.MaxInt64) is 2^63, so a back-off of exactly 2^63 ns passes `backoff > math.MaxInt64` (line
// 125). On amd64 the conversion makes it the smallest integer, which is below the maximum. A base delay of a power of
// two in nanoseconds gets there. So does a base delay of 0 after 1,024 failures: 0 × +Inf is not a number.
//
// Impact: one retry without a wait, in the middle of long ones: a negative delay means "at once" to AddAfter. Delays
// of whole milliseconds never hit it.
//
// Upstream: no report found; https://github.com/kubernetes/kubernetes/pull/31396 fixed its older form.
//
// Repair: `if !(backoff < math.MaxInt64)`.
func TestExponentialLimiter_returns_a_negative_wait(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the conversion of 2^63 to an integer gives another value here")
	}
	negative := func(base time.Duration) bool {
		limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](base, time.Hour)
		for range 2000 {
			if limiter.When("a") < 0 {
				return true
			}
		}
		return false
	}
	present(t, negative(1<<20), "a base delay of a power of two is capped")
	present(t, negative(0), "a base delay of 0 stays 0")
}
