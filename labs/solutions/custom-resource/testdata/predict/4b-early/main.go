// A controller has just changed the version in a Deployment. Its status still counts three ready Pods.
//
// Question: Is the network ready?
//
// Wrong: old-status-of-the-deployment
//
// Story: A pipeline changes the version, waits for Ready, and runs its tests. The status is about the Deployment before
// the change, so the tests run against the old version, and pass.
package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	customresource "client-go-workshop/labs/solutions/custom-resource"
)

func main() {
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Generation: 8},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: 7, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3},
	}
	status := customresource.NewStatus(&customresource.BitcoinNetwork{}, customresource.Observed{Deployment: deployment})
	ready := status.Conditions[0]
	fmt.Println(ready.Type, ready.Status, ready.Reason)
}
