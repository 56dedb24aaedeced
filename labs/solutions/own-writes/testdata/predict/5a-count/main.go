// A controller has created three Pods, and their events come one after the other.
//
// Question: When may it act again?
//
// Wrong: one-creation-is-enough
//
// Story: Expectations count events. After the first one, two Pods are still missing from the cache. A controller that
// acts now creates two Pods too many.
package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	ownwrites "client-go-workshop/labs/solutions/own-writes"
)

func main() {
	e := ownwrites.NewExpectations()
	web := types.NamespacedName{Namespace: "default", Name: "web"}
	e.ExpectCreations(web, 3)
	for n := range 3 {
		e.CreationObserved(web)
		fmt.Printf("after %d events: %v\n", n+1, e.SatisfiedExpectations(web))
	}
}
