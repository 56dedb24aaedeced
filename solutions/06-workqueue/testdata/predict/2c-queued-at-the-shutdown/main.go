// Two keys are queued when the program calls ShutDown.
//
// Question: What does the worker print?
//
// Wrong: leaves-the-rest
//
// Story: A Get that returns shutdown first leaves every queued key behind. At each restart of the controller, some
// changes wait for the first list of the next process. If another replica has to become the leader first, they wait
// longer.
package main

import (
	"fmt"

	workqueue "client-go-workshop/solutions/06-workqueue"
)

func main() {
	q := workqueue.NewTyped[string]()
	q.Add("web")
	q.Add("db")
	q.ShutDown()
	q.Add("cdn")
	for {
		key, shutdown := q.Get()
		if shutdown {
			fmt.Println("the worker ends")
			return
		}
		fmt.Println("reconcile", key)
		q.Done(key)
	}
}
