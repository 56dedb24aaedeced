// A program drains a queue of two items, and its worker is slow to start.
//
// Question: What does each line print?
//
// Wrong: drain-ignores-the-queue
//
// Story: client-go's ShutDownWithDrain looks only at the items that workers have. If no worker has one at that moment,
// it returns, and the program ends with keys in the queue
// ([#141079](https://github.com/kubernetes/kubernetes/pull/141079)). A busy controller passes through such a moment
// after each Done.
package main

import (
	"fmt"
	"time"

	workqueue "client-go-workshop/solutions/06-workqueue"
)

func main() {
	q := workqueue.NewTyped[string]()
	q.Add("web")
	q.Add("db")
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		q.ShutDownWithDrain()
	}()
	select {
	case <-drained:
		fmt.Println("drained before the worker starts")
	case <-time.After(time.Second):
		fmt.Println("not drained before the worker starts")
	}
	for range 2 { // the worker
		key, _ := q.Get()
		q.Done(key)
	}
	<-drained
	fmt.Println("drained")
}
