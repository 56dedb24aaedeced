// Three versions are compared with 8.
//
// Question: Which of them can be compared?
//
// Wrong: zero-is-a-version
//
// Story: A list or a watch at version 0 means: any version that the server has. No object ever has it. A cache that
// reports 0 has not seen anything, so there is nothing to compare.
package main

import (
	"fmt"

	ownwrites "client-go-workshop/labs/solutions/own-writes"
)

func main() {
	for _, version := range []string{"7", "0", "etag-7"} {
		_, err := ownwrites.CompareResourceVersion(version, "8")
		fmt.Println(version, "can be compared:", err == nil)
	}
}
