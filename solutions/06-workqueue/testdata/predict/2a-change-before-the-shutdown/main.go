// A key is added while a worker has it, and then the program shuts the queue down.
//
// Question: What does each Get return?
//
// Wrong: drops-the-second-round
//
// Story: The last change before a restart is lost if Done drops the key during a shutdown. The handler has received the
// event and has passed it on, so no other part of the program will add the key again. The new process finds the change
// in its first list, perhaps minutes later.
package main

import (
	"fmt"

	workqueue "client-go-workshop/solutions/06-workqueue"
)

func main() {
	q := workqueue.NewTyped[string]()
	q.Add("web")
	key, _ := q.Get()
	q.Add("web")
	q.ShutDown()
	q.Done(key)

	for range 2 {
		key, shutdown := q.Get()
		fmt.Printf("%q shutdown=%v\n", key, shutdown)
		q.Done(key)
	}
}
