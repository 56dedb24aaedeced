// The last Pod of a namespace is deleted while the watch is down, so the next list is empty.
//
// Question: What does the Pop return?
//
// Wrong: real-fifo-empty-list-is-no-item
//
// Story: With AtomicEvents the consumer compares the list with its store. If an empty list is not an item, the consumer
// does not learn that all its objects are gone, and the Pod stays in the cache.
package main

import (
	"fmt"

	"k8s.io/client-go/tools/cache"

	deltafifo "client-go-workshop/solutions/04-deltafifo"
)

func main() {
	q := deltafifo.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true})

	_ = q.Replace(nil, "9")
	fmt.Println("synced:", q.HasSynced())
	q.Close()

	popped, err := q.Pop(func(any, bool) error { return nil })
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	delta := popped.(cache.Deltas)[0]
	fmt.Println(delta.Type, "at", delta.Object.(cache.ReplacedAllInfo).ResourceVersion)
}
