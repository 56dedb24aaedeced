// A controller wants to look at web in an hour, and then web fails and is retried in a second.
//
// Question: Which item does Get return first?
//
// Wrong: first-time-wins
//
// Story: Many controllers ask for a routine look at each object in some minutes or hours. If the first time wins, the
// routine look swallows every retry: a Deployment that fails once stays broken for an hour, although the log says
// "retry in 1s".
package main

import (
	"fmt"
	"time"

	clientgo "k8s.io/client-go/util/workqueue"
	testclock "k8s.io/utils/clock/testing"

	workqueue "client-go-workshop/solutions/06-workqueue"
)

func main() {
	clock := testclock.NewFakeClock(time.Now())
	q := workqueue.NewTypedDelayingQueueWithConfig(clientgo.TypedDelayingQueueConfig[string]{Clock: clock})
	defer q.ShutDown()

	q.AddAfter("web", time.Hour)
	q.AddAfter("web", time.Second)
	q.AddAfter("db", 2*time.Second)
	clock.Step(2 * time.Second)
	first, _ := q.Get()
	fmt.Println("first:", first)
}
