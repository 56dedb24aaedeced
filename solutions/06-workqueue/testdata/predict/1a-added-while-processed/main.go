// A Deployment changes while a worker reconciles it.
//
// Question: How many items are in the queue before and after Done?
//
// Wrong: two-workers-one-item
//
// Story: If the queue returns a key that a worker already has, two workers reconcile one object at the same time. Both
// read that a Pod is missing, and both create one. Most controllers rely on the queue here and have no lock of their
// own for a key.
package main

import (
	"fmt"

	workqueue "client-go-workshop/solutions/06-workqueue"
)

func main() {
	q := workqueue.NewTyped[string]()
	q.Add("web")
	key, _ := q.Get()

	q.Add("web") // the Deployment changes
	fmt.Println("before Done:", q.Len())
	q.Done(key)
	fmt.Println("after Done:", q.Len())
}
