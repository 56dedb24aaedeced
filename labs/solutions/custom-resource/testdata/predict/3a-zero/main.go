// One user asks for 0 nodes, and another one for no number.
//
// Question: How many replicas do the Deployments have?
//
// Wrong: zero-nodes-are-three
//
// Story: A team stops its nodes over the weekend, and the controller starts them again. The field is a pointer so that
// 0 and no value differ. A function that treats both alike throws the difference away.
package main

import (
	"fmt"

	"k8s.io/utils/ptr"

	customresource "client-go-workshop/labs/solutions/custom-resource"
)

func main() {
	for _, nodes := range []*int32{nil, ptr.To[int32](0), ptr.To[int32](7)} {
		network := &customresource.BitcoinNetwork{}
		network.Spec.Nodes = nodes
		fmt.Println(*customresource.NewDeployment(network).Spec.Replicas)
	}
}
