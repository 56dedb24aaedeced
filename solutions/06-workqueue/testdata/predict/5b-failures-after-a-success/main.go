// A key fails three times, succeeds, and fails once more.
//
// Question: How many failures does each line print?
//
// Wrong: forget-forgets-nothing
//
// Story: A controller that never forgets failures works well for days. After some weeks of short network problems a key
// has failed fifteen times, although each retry succeeded. One more failure costs it almost three minutes, and the
// nineteenth costs 1000s, the longest wait of the default limiter.
package main

import (
	"fmt"
	"time"

	workqueue "client-go-workshop/solutions/06-workqueue"
)

func main() {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Hour, time.Hour)
	q := workqueue.NewTypedRateLimitingQueue(limiter)
	defer q.ShutDown()
	for range 3 {
		q.AddRateLimited("web")
	}
	fmt.Println("after three failures:", q.NumRequeues("web"))
	q.Forget("web")
	q.AddRateLimited("web")
	fmt.Println("after a success and a failure:", q.NumRequeues("web"))
}
