// Two events ask for a look at web, after one second and after two.
//
// Question: Which item does Get return at which time?
//
// Wrong: waits-twice
//
// Story: If an item is delayed twice, each reconcile that asks for the next one starts a chain of its own. Each event
// adds another chain, and none of them ever ends. The load of such a controller grows with every event until a restart.
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

	q.AddAfter("web", time.Second)
	q.AddAfter("web", 2*time.Second)
	q.AddAfter("db", 3*time.Second)
	for _, step := range []time.Duration{time.Second, 2 * time.Second} {
		clock.Step(step)
		item, _ := q.Get()
		fmt.Println("after another", step, "Get returns", item)
		q.Done(item)
	}
}
