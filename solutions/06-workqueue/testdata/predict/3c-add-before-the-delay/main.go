// A controller wants to look at web in a minute, and web changes before that.
//
// Question: Which item does each Get return?
//
// Wrong: add-cancels-the-delay
//
// Story: A controller of leases asks for a look at the moment when a lease expires. If an Add before that moment
// cancels the look, the lease expires unnoticed, and the object changes hands only after some other event. Add reports
// that something has changed. It does not say that the controller no longer needs its timer.
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

	q.AddAfter("web", time.Minute)
	q.AddAfter("db", 2*time.Minute)
	q.Add("web") // it has changed
	item, _ := q.Get()
	fmt.Println("now:", item)
	q.Done(item)

	clock.Step(2 * time.Minute)
	item, _ = q.Get()
	fmt.Println("first after two minutes:", item)
}
