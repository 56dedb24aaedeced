// A worker calls Forget after a success, but not Done, and the key changes again.
//
// Question: How many items are in the queue?
//
// Wrong: forget-gives-back
//
// Story: Forget and Done come one after the other in every controller, so it seems that one of them could do both. If
// Forget gave the key back, a second worker could get it between Forget and Done. In client-go, a missing Done is
// silent: later changes of this key never reach a worker, and all other keys go on.
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
	q.Add("web")
	key, _ := q.Get()
	q.Forget(key)

	q.Add("web") // the Deployment changes
	fmt.Println("queued:", q.Len())
}
