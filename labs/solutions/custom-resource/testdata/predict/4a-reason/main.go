// A network waits for its nodes for an hour. Then a foreign Deployment has taken its name.
//
// Question: Has the network not been ready for an hour, or only since now?
//
// Wrong: transition-time-of-the-reason
//
// Story: An alert fires after a network was not ready for ten minutes. If each other reason starts the time again, a
// network that fails for many reasons never fires the alert.
package main

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	customresource "client-go-workshop/labs/solutions/custom-resource"
)

func main() {
	network := &customresource.BitcoinNetwork{}
	network.Status = customresource.NewStatus(network, customresource.Observed{})
	network.Status.Conditions[0].LastTransitionTime = metav1.NewTime(time.Now().Add(-time.Hour))

	taken := customresource.Observed{DeploymentError: &customresource.NameTakenError{Name: "demo"}}
	status := customresource.NewStatus(network, taken)

	ready := meta.FindStatusCondition(status.Conditions, customresource.ConditionReady)
	fmt.Println(ready.Status, ready.Reason, "since", time.Since(ready.LastTransitionTime.Time).Round(time.Minute))
}
