// reconcile.go is the one idea of a controller: look at what is there now, look at
// what should be there, and take one step from the first to the second. It never
// asks which event brought it here; therefore a lost, doubled or late event can
// delay it and nothing else.
//
// What is there comes from the caches, which may be behind the server. So each write
// names the version it was decided on, and the server refuses it if there is a newer one.
//
// Left out: asking the server once more before a budget without an owner is adopted, as
// the ReplicaSet controller does; see adoption in the package documentation.

package controller

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/todo"
)

// Reasons of the Events that are recorded on a Deployment. People select by them
// (kubectl get events --field-selector reason=BudgetConflict), so they do not change.
const (
	ReasonCreated  = "BudgetCreated"
	ReasonRepaired = "BudgetRepaired"
	ReasonRemoved  = "BudgetRemoved"
	ReasonConflict = "BudgetConflict"
)

// Reconcile brings the budget of one Deployment to what it should be, by at most one write. A nil error means that
// there is nothing to do until the next event; any other means try again later, names the budget (namespace/name) and
// wraps what the server said. It may run for different keys at once, never twice for one.
//
//   - Both objects come from the caches, and are not changed.
//   - Of a Deployment that is gone, or on its way out, and of a budget on its way out, nothing is done: the garbage
//
// collector
//
//	  follows the owner reference, and the deletion brings the key back.
//	- wantsBudget says whether there should be one, claimOn whose the one is that is there. A foreign one is never
//
// written to;
//
//	  if it is in the way, recordConflict. A leftover is about to be collected, and left alone.
//	- Whatever was done is told, by recordCreated, recordRepaired or recordRemoved; nothing else is.
//	- In a namespace that is being deleted (corev1.NamespaceTerminatingCause) nothing can be created, now or later: no
//
// error.
func (c *Controller) Reconcile(ctx context.Context, key cache.ObjectName) error {
	panic(todo.Task(6, "Controller.Reconcile"))
}

// repair updates a budget of ours that is not as it should be. It changes a copy, by Conform, and if that finds nothing
// to change it sends nothing. The server refuses an update with a conflict if somebody has written since the cached
// version.
func (c *Controller) repair(
	ctx context.Context, deployment *appsv1.Deployment, cached *policyv1.PodDisruptionBudget,
) error {
	panic(todo.Task(6, "Controller.repair"))
}

// remove deletes a budget of ours that is not wanted any more: the very one that was judged, by its UID and version. If
// there is none any more, that is what was wanted, but it was not done by us.
func (c *Controller) remove(
	ctx context.Context, deployment *appsv1.Deployment, budget *policyv1.PodDisruptionBudget,
) error {
	panic(todo.Task(6, "Controller.remove"))
}

// recordCreated, recordRepaired and recordRemoved write down what was done, in the log and as an Event of the
// Deployment. The changes of a repair are one text, with ", " between them.
func (c *Controller) recordCreated(
	ctx context.Context, deployment *appsv1.Deployment, budget *policyv1.PodDisruptionBudget,
) {
	klog.FromContext(ctx).Info("Created budget", "minAvailable", budget.Spec.MinAvailable)
	c.recorder.Eventf(deployment, corev1.EventTypeNormal, ReasonCreated,
		"Created PodDisruptionBudget %s with minAvailable %s", budget.Name, budget.Spec.MinAvailable)
}

func (c *Controller) recordRepaired(ctx context.Context, deployment *appsv1.Deployment, changes string) {
	klog.FromContext(ctx).Info("Repaired budget", "set", changes)
	c.recorder.Eventf(deployment, corev1.EventTypeNormal, ReasonRepaired,
		"Repaired PodDisruptionBudget %s: set %s", deployment.Name, changes)
}

func (c *Controller) recordRemoved(ctx context.Context, deployment *appsv1.Deployment) {
	why := fmt.Sprintf("spec.replicas is %d", desiredReplicas(deployment))
	if deployment.Annotations[OptOutAnnotation] == OptOutValue {
		why = fmt.Sprintf("the annotation %s is %q", OptOutAnnotation, OptOutValue)
	}
	klog.FromContext(ctx).Info("Removed budget", "because", why)
	c.recorder.Eventf(deployment, corev1.EventTypeNormal, ReasonRemoved,
		"Removed PodDisruptionBudget %s: %s", deployment.Name, why)
}

// recordConflict tells the Deployment's owner that a budget is in the way. It returns
// no error because trying again cannot help: when the other budget changes or goes, its
// event brings the key back. Repeated Events are counted up into one by the recorder.
func (c *Controller) recordConflict(deployment *appsv1.Deployment, budget *policyv1.PodDisruptionBudget) {
	whose := "nothing controls it"
	if owner := metav1.GetControllerOfNoCopy(budget); owner != nil {
		whose = fmt.Sprintf("%s %s controls it", owner.Kind, owner.Name)
	}
	c.recorder.Eventf(deployment, corev1.EventTypeWarning, ReasonConflict,
		"PodDisruptionBudget %s is not this Deployment's (%s) and is left as it is; delete or rename it, or set the "+
			"annotation %s to %q",
		budget.Name, whose, OptOutAnnotation, OptOutValue)
}
