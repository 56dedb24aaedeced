// Three items fail at once, and the bucket has one token for each hour.
//
// Question: How long does each item wait?
//
// Wrong: asks-the-bucket-and-takes-nothing
//
// Story: After an outage of the API server ten thousand keys fail together. A limiter that reads the bucket without
// taking a token gives all of them the same wait. So they all come back in the same second, and cause the next outage.
package main

import (
	"fmt"
	"time"

	"golang.org/x/time/rate"

	workqueue "client-go-workshop/solutions/06-workqueue"
)

func main() {
	limiter := &workqueue.TypedBucketRateLimiter[string]{Limiter: rate.NewLimiter(rate.Every(time.Hour), 1)}
	for _, item := range []string{"web", "db", "cdn"} {
		fmt.Println(item, limiter.When(item).Round(time.Minute))
	}
}
