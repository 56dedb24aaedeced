// A controller deletes Pods a and b. Pod a is reported when its end begins, and when it is gone.
//
// Question: What does the controller know after each report?
//
// Wrong: deletion-counts-twice
//
// Story: A Pod gets a deletion timestamp first, and disappears when its containers have ended. Both are events. A
// counter takes the second one for the deletion of b. So deletions are expected by UID.
package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	ownwrites "client-go-workshop/labs/solutions/own-writes"
)

func main() {
	e := ownwrites.NewExpectations()
	web := types.NamespacedName{Namespace: "default", Name: "web"}
	e.ExpectDeletions(web, "a", "b")
	for range 2 {
		e.DeletionObserved(web, "a")
		fmt.Println("satisfied:", e.SatisfiedExpectations(web))
	}
}
