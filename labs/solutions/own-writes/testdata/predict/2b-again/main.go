// A Deployment wrote at 50, was deleted, and was created again under its name. The new one writes at 40.
//
// Question: Which version does the store remember?
//
// Wrong: uid-is-ignored
//
// Story: An object that was deleted and created again has its old name and another UID. It is another object, and what
// the old one wrote is not its concern. Here the lower version shows it: etcd was restored from a copy in between.
package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	ownwrites "client-go-workshop/labs/solutions/own-writes"
)

func main() {
	store := ownwrites.NewConsistencyStore(nil)
	web := types.NamespacedName{Namespace: "default", Name: "web"}
	store.WroteAt(web, "uid-1", ownwrites.Pods, "50")
	store.WroteAt(web, "uid-2", ownwrites.Pods, "40")
	fmt.Println("remembered:", store.Written(web, ownwrites.Pods))
}
