// A strict limiter and a mild one are combined, and web fails three times.
//
// Question: How many failures has each of the two counted?
//
// Wrong: asks-until-the-first-wait
//
// Story: A combined limiter that stops at the first wait looks like a harmless optimization. But `When` also counts.
// The default limiter has a bucket behind the exponential one, so the bucket would only be charged when the exponential
// wait is zero, which is never. Ten thousand failing keys would no longer share a limit.
package main

import (
	"fmt"
	"time"

	workqueue "client-go-workshop/solutions/06-workqueue"
)

func main() {
	strict := workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute)
	mild := workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Millisecond, time.Minute)
	both := workqueue.NewTypedMaxOfRateLimiter(strict, mild)
	for range 3 {
		fmt.Println("wait:", both.When("web"))
	}
	fmt.Println("failures:", strict.NumRequeues("web"), mild.NumRequeues("web"))
}
