// A worker calls Done twice, and the key is added in between.
//
// Question: How many items does the last line count?
//
// Wrong: stray-done-queues
//
// Story: A worker with a deferred Done and another one on an early return calls it twice. client-go then queues the key
// a second time, so two workers get it at once. The rule that a controller needs no lock for a key no longer holds, and
// nothing in a log says why.
package main

import (
	"fmt"

	workqueue "client-go-workshop/solutions/06-workqueue"
)

func main() {
	q := workqueue.NewTyped[string]()
	q.Add("web")
	key, _ := q.Get()
	q.Done(key)

	q.Add("web")
	q.Done(key) // a mistake of the worker
	fmt.Println("queued:", q.Len())
}
