// A user removes the owner reference from the Deployment web, which the network coins controls.
//
// Question: Which networks does the update concern?
//
// Wrong: new-state-alone
//
// Story: The network coins has lost its Deployment. The new state does not name it any more. A handler that looks at the
// new state alone leaves it without nodes until its next change.
package main

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	customresource "client-go-workshop/labs/solutions/custom-resource"
)

func main() {
	coins := &customresource.BitcoinNetwork{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "coins"}}
	before := customresource.NewDeployment(coins)
	before.Name = "web"
	after := before.DeepCopy()
	after.OwnerReferences = nil

	for _, name := range customresource.Concerned(before, after) {
		fmt.Println("concerns", name)
	}
}
