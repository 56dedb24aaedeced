// Two goroutines create Pods of web. The one with the older version reports it last.
//
// Question: Which version does the store remember?
//
// Wrong: last-write-counts
//
// Story: Two workers, or one worker with several requests under way, finish in any order. If the last report counts,
// the controller waits for version 9. The Pod of version 10 is not in the cache then, and is created again.
package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	ownwrites "client-go-workshop/labs/solutions/own-writes"
)

func main() {
	store := ownwrites.NewConsistencyStore(nil)
	web := types.NamespacedName{Namespace: "default", Name: "web"}
	store.WroteAt(web, "uid-1", ownwrites.Pods, "10")
	store.WroteAt(web, "uid-1", ownwrites.Pods, "9")
	fmt.Println("remembered:", store.Written(web, ownwrites.Pods))
}
