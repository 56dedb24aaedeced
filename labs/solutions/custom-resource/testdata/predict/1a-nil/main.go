// A function returns the object that a cache has, or nil.
//
// Question: Does the check for nil notice that there is no network?
//
// Wrong: nil-object-has-a-type
//
// Story: An interface that holds a nil pointer is not nil. The check lets it pass, and the next access to the object
// panics, far away from the mistake.
package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	customresource "client-go-workshop/labs/solutions/custom-resource"
)

func main() {
	var missing *customresource.BitcoinNetwork
	report(missing.DeepCopyObject())
	report((&customresource.BitcoinNetwork{}).DeepCopyObject())
}

func report(obj runtime.Object) {
	if obj == nil {
		fmt.Println("there is no network")
		return
	}
	fmt.Println("there is a network")
}
