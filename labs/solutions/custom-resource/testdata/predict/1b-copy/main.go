// A controller copies a network, and sets an option in the copy.
//
// Question: Which options does the original have?
//
// Wrong: copy-shares-the-options
//
// Story: The original is in the cache of an informer. All controllers of the program read an option there that no user
// has set. If two goroutines write to such a map at once, the Go runtime ends the program.
package main

import (
	"fmt"

	customresource "client-go-workshop/labs/solutions/custom-resource"
)

func main() {
	original := &customresource.BitcoinNetwork{}
	original.Spec.Options = map[string]string{"txindex": "1"}

	network := original.DeepCopy()
	network.Spec.Options["dbcache"] = "450"

	fmt.Println("copy:", network.Spec.Options)
	fmt.Println("original:", original.Spec.Options)
}
