// A cache is at one version, and a write at another.
//
// Question: Which line says that the cache is behind?
//
// Wrong: compares-texts
//
// Story: As texts, "9" is newer than "10", because the first digit decides. A cache at 9 then counts as newer than the
// write at 10, and the controller creates its Pods again. It happens each time that the versions of a cluster get one
// more digit: a handful of times in its life.
package main

import (
	"fmt"

	ownwrites "client-go-workshop/labs/solutions/own-writes"
)

func main() {
	for _, versions := range [][2]string{{"9", "10"}, {"10", "10"}, {"100", "99"}} {
		order, _ := ownwrites.CompareResourceVersion(versions[0], versions[1])
		fmt.Printf("cache at %s, write at %s: behind is %v\n", versions[0], versions[1], order < 0)
	}
}
