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

	"client-go-workshop/internal/todo"
)

// Reasons of the Events that are recorded on a Deployment. People select by them
// (kubectl get events --field-selector reason=BudgetConflict), so they do not change.
const (
	ReasonCreated  = "BudgetCreated"
	ReasonRepaired = "BudgetRepaired"
	ReasonRemoved  = "BudgetRemoved"
	ReasonConflict = "BudgetConflict"
)

// Reconcile brings the budget of one Deployment to what it should be, by at most one
// write. A nil error means there is nothing to do until the next event; any other
// means try again later. It may run for different keys at once, never twice for one.
func (c *Controller) Reconcile(ctx context.Context, key cache.ObjectName) error {
	panic(todo.Task(6, "Controller.Reconcile"))
}

// repair updates a budget of ours that is not as it should be.
func (c *Controller) repair(ctx context.Context, deployment *appsv1.Deployment, cached *policyv1.PodDisruptionBudget) error {
	panic(todo.Task(6, "Controller.repair"))
}

// remove deletes a budget of ours that is not wanted any more.
func (c *Controller) remove(ctx context.Context, deployment *appsv1.Deployment, budget *policyv1.PodDisruptionBudget) error {
	panic(todo.Task(6, "Controller.remove"))
}

// reportConflict tells the Deployment's owner that a budget is in the way. It returns
// no error because trying again cannot help: when the other budget changes or goes, its
// event brings the key back. Repeated Events are counted up into one by the recorder.
func (c *Controller) reportConflict(deployment *appsv1.Deployment, budget *policyv1.PodDisruptionBudget) {
	whose := "nothing controls it"
	if owner := metav1.GetControllerOfNoCopy(budget); owner != nil {
		whose = fmt.Sprintf("%s %s controls it", owner.Kind, owner.Name)
	}
	c.recorder.Eventf(deployment, corev1.EventTypeWarning, ReasonConflict,
		"PodDisruptionBudget %s is not this Deployment's (%s) and is left as it is; delete or rename it, or set the annotation %s to %q",
		budget.Name, whose, OptOutAnnotation, OptOutValue)
}
