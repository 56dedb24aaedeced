// A caller makes the Deployment of a cached network, and scales it to 9 before it sends it.
//
// Question: How many nodes does the cached network have then?
//
// Wrong: replicas-are-the-cached-number
//
// Story: The number of nodes in the cache becomes 9, although no user has asked for it. The next Reconcile finds a
// Deployment with 9 replicas right. An informer corrects its cache only at the next event of the network.
package main

import (
	"fmt"

	"k8s.io/utils/ptr"

	customresource "client-go-workshop/labs/solutions/custom-resource"
)

func main() {
	cached := &customresource.BitcoinNetwork{}
	cached.Spec.Nodes = ptr.To[int32](2)

	deployment := customresource.NewDeployment(cached)
	*deployment.Spec.Replicas = 9

	fmt.Println("nodes:", *cached.Spec.Nodes)
}
