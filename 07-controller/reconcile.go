package controller

// This file takes one step from the current state of a Deployment's budget to the desired one. It does not depend on
// the event that caused the step, so a lost, duplicated or late event can only delay it.
//
// It reads the current state from caches, which can be behind the server. The ReplicaSet controller asks the server
// again before it adopts an object without an owner. This controller does not; see adoption in the package comment.

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/todo"
)

// Reasons of the Events on a Deployment. Users select Events by them (kubectl get events --field-selector
// reason=BudgetConflict), so they do not change.
const (
	ReasonCreated  = "BudgetCreated"
	ReasonRepaired = "BudgetRepaired"
	ReasonRemoved  = "BudgetRemoved"
	ReasonConflict = "BudgetConflict"
	ReasonRefused  = "BudgetRefused"
)

// Reconcile corrects the budget of one Deployment with at most one write. It never changes a cached object. It may run
// for different keys at once. The caller never runs it twice at once for one key.
//
// A Deployment and the budget of its name:
//   - Reconcile creates a budget for a Deployment that wants one and has none.
//   - It repairs a budget of ours that is wrong, and does not write a budget that is right.
//   - It removes a budget of ours that the Deployment does not want.
//   - It does not write to a budget that is being deleted, and leaves the budget of an earlier Deployment to the
//     garbage collector.
//   - It writes nothing for a Deployment that is being deleted.
//   - For a Deployment that is gone, it removes a budget of ours that another owner keeps. Every other budget of a
//     Deployment that is gone stays.
//
// Reconcile never writes to a foreign budget. If a Deployment wants a budget, and a foreign one has its name, Reconcile
// records a BudgetConflict Event. If a foreign budget selects the Deployment's Pods under another name, Reconcile
// creates none and records a BudgetConflict Event. If ours exists beside such a budget, Reconcile removes ours.
//
// Each successful write records one Event. A failed write records no Event.
//
// A nil error means that there is nothing to do until the next event. An error means that the key has to be tried
// again. The error names the budget (namespace/name) and wraps the server's error. A namespace that is being deleted
// (corev1.NamespaceTerminatingCause) accepts no new budget, now or later: this is not an error. Every other failed
// write is an error, except the removal of a budget that is gone.
func (c *Controller) Reconcile(ctx context.Context, key cache.ObjectName) error {
	panic(todo.Task(6, "Controller.Reconcile"))
}

// repair updates a budget of ours to what Conform says, and changes nothing else in it. If the budget is right, it
// sends nothing. The server refuses the update if it has a version that the cache has not seen.
func (c *Controller) repair(
	ctx context.Context, deployment *appsv1.Deployment, cached *policyv1.PodDisruptionBudget,
) error {
	panic(todo.Task(6, "Controller.repair"))
}

// remove deletes this budget, and neither a newer version nor a successor of the same name. A budget that is already
// gone is not an error, and records no Event. The Event says why the budget was removed (what the Deployment's spec or
// annotation says, or which other object is the reason).
func (c *Controller) remove(
	ctx context.Context, deployment *appsv1.Deployment, budget *policyv1.PodDisruptionBudget, why string,
) error {
	panic(todo.Task(6, "Controller.remove"))
}

// budgetInTheWay returns a foreign budget that selects the Deployment's Pods under another name, or nil. The API server
// refuses to evict a Pod that two budgets select, so ours beside it would block every drain. Budgets that this
// controller made for other Deployments do not count: otherwise two Deployments with overlapping selectors would each
// lose their budget.
func (c *Controller) budgetInTheWay(deployment *appsv1.Deployment) (*policyv1.PodDisruptionBudget, error) {
	others, err := c.budgetIndexer.ByIndex(madeByOthersIndex, deployment.Namespace)
	if err != nil {
		return nil, fmt.Errorf("looking for other budgets of %s in the cache: %w", klog.KObj(deployment), err)
	}
	var found *policyv1.PodDisruptionBudget
	for _, obj := range others {
		other, ok := obj.(*policyv1.PodDisruptionBudget)
		if ok && other.Name != deployment.Name && selectsPodsOf(other, deployment) &&
			(found == nil || other.Name < found.Name) { // always the same one, or each look would be another Event
			found = other
		}
	}
	return found, nil
}

// deploymentsSelected returns the names of the Deployments in the cache whose Pods a foreign budget selects. For a
// budget that this controller made it returns none.
func (c *Controller) deploymentsSelected(budget *policyv1.PodDisruptionBudget) (names []cache.ObjectName) {
	if madeForDeployment(budget) {
		return nil
	}
	deployments, err := c.deployments.Deployments(budget.Namespace).List(labels.Everything())
	if err != nil {
		return nil // a lister reads a cache, and has no errors
	}
	for _, deployment := range deployments {
		if selectsPodsOf(budget, deployment) {
			names = append(names, cache.MetaObjectToName(deployment))
		}
	}
	return names
}

// formerDeployment returns a Deployment that is gone, as far as its budget describes it, for an Event.
func formerDeployment(budget *policyv1.PodDisruptionBudget) *appsv1.Deployment {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: budget.Namespace, Name: budget.Name}}
	if owner := metav1.GetControllerOfNoCopy(budget); owner != nil {
		deployment.UID = owner.UID
	}
	return deployment
}

// recordCreated, recordRepaired and recordRemoved report a successful write, in the log and as an Event of the
// Deployment. The changes of a repair are one text, separated by ", ".
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

func (c *Controller) recordRemoved(ctx context.Context, deployment *appsv1.Deployment, why string) {
	klog.FromContext(ctx).Info("Removed budget", "because", why)
	c.recorder.Eventf(deployment, corev1.EventTypeNormal, ReasonRemoved,
		"Removed PodDisruptionBudget %s: %s", deployment.Name, why)
}

// recordConflict reports a foreign budget to the Deployment's owner, as an Event. It returns no error, because a retry
// cannot help: when that budget changes or is deleted, its event brings the key back. The recorder counts repeated
// Events as one.
func (c *Controller) recordConflict(deployment *appsv1.Deployment, budget *policyv1.PodDisruptionBudget) {
	whose := "nothing controls it"
	if owner := metav1.GetControllerOfNoCopy(budget); owner != nil {
		whose = fmt.Sprintf("%s %s controls it", owner.Kind, owner.Name)
	}
	if budget.Name != deployment.Name {
		c.recorder.Eventf(deployment, corev1.EventTypeWarning, ReasonConflict,
			"PodDisruptionBudget %s selects this Deployment's Pods (%s), and a Pod with two budgets cannot be evicted, so "+
				"this Deployment gets none; delete it or narrow its selector, or set the annotation %s to %q",
			budget.Name, whose, OptOutAnnotation, OptOutValue)
		return
	}
	c.recorder.Eventf(deployment, corev1.EventTypeWarning, ReasonConflict,
		"PodDisruptionBudget %s is not this Deployment's (%s) and is left as it is; delete or rename it, or set the "+
			"annotation %s to %q",
		budget.Name, whose, OptOutAnnotation, OptOutValue)
}

// recordResult receives the result of each Reconcile. The first refusal after a success of the key is an Event of the
// Deployment. Further refusals are not.
func (c *Controller) recordResult(key cache.ObjectName, err error) {
	if err == nil {
		c.refused.Delete(key)
		return
	}
	if !isRefusal(err) {
		return
	}
	deployment, notFound := c.deployments.Deployments(key.Namespace).Get(key.Name)
	if notFound != nil {
		return
	}
	if _, known := c.refused.LoadOrStore(key, struct{}{}); !known {
		c.recorder.Eventf(deployment, corev1.EventTypeWarning, ReasonRefused,
			"The server refuses or does not answer, and is asked again: %v", err)
	}
}

// isRefusal reports whether the request fails until a person changes something: a role, a quota, an admission webhook.
// So does a request that hung until its deadline, as in a webhook that never answers. A busy or unreachable server is
// not a refusal, and neither is a conflict with a stale cache.
func isRefusal(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || apierrors.IsTimeout(err) {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	passing := []int32{http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests}
	return code >= 400 && code < 500 && !slices.Contains(passing, code)
}
