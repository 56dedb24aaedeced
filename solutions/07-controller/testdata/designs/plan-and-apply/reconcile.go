// reconcile.go, in another correct design of one step: it is a plan, and its execution.
//
//   - look reads all that matters from the caches, decide is a pure function that returns the plan, and apply is the
//     only place that writes or records.
//   - Other budgets are found by a list of the namespace, without an index.
//
// It is correct because a step is the same for the same state of the caches, however it is divided.

package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Reasons of the Events that are recorded on a Deployment.
const (
	ReasonCreated  = "BudgetCreated"
	ReasonRepaired = "BudgetRepaired"
	ReasonRemoved  = "BudgetRemoved"
	ReasonConflict = "BudgetConflict"
	ReasonRefused  = "BudgetRefused"
)

// view is the state of the caches that a step decides on. A nil object is not there.
type view struct {
	deployment *appsv1.Deployment
	budget     *policyv1.PodDisruptionBudget
	other      *policyv1.PodDisruptionBudget // of another owner, for the same Pods
}

type action int

const (
	nothing action = iota
	creates
	repairs
	removes
	warns
)

// plan is one step.
type plan struct {
	action
	budget *policyv1.PodDisruptionBudget // to write, or to warn of
	why    string
}

// Reconcile looks, decides, and applies.
func (c *Controller) Reconcile(ctx context.Context, key cache.ObjectName) error {
	v, err := c.look(key)
	if err != nil {
		return fmt.Errorf("reading the caches for %s: %w", key, err)
	}
	return c.apply(ctx, v, decide(v))
}

func (c *Controller) look(key cache.ObjectName) (v view, err error) {
	v.deployment, err = c.deployments.Deployments(key.Namespace).Get(key.Name)
	if err != nil && !apierrors.IsNotFound(err) {
		return view{}, err
	}
	budgets, err := c.budgets.PodDisruptionBudgets(key.Namespace).List(labels.Everything())
	if err != nil {
		return view{}, err
	}
	for _, b := range budgets {
		switch {
		case b.Name == key.Name:
			v.budget = b
		case v.deployment != nil && !madeForDeployment(b) && selectsPodsOf(b, v.deployment) &&
			(v.other == nil || b.Name < v.other.Name):
			v.other = b
		}
	}
	return v, nil
}

// decide returns the step from what is there to what should be there.
func decide(v view) plan {
	switch {
	case v.budget != nil && v.budget.DeletionTimestamp != nil:
		return plan{}
	case v.deployment == nil && v.budget != nil && outlivesDeployment(v.budget):
		return plan{removes, v.budget, "its Deployment is gone, and it has another owner"}
	case v.deployment == nil, v.deployment.DeletionTimestamp != nil:
		return plan{}
	}
	whose, wanted := ours, wantsBudget(v.deployment)
	if v.budget != nil {
		whose = claimOn(v.budget, v.deployment)
	}
	switch {
	case whose == leftover:
		return plan{}
	case whose == foreign && wanted:
		return plan{action: warns, budget: v.budget}
	case whose == foreign:
		return plan{}
	case v.budget == nil && wanted && v.other != nil:
		return plan{action: warns, budget: v.other}
	case v.budget == nil && wanted:
		return plan{action: creates, budget: NewBudget(v.deployment)}
	case v.budget == nil:
		return plan{}
	case !wanted:
		return plan{removes, v.budget, whyUnwanted(v.deployment)}
	case v.other != nil:
		return plan{removes, v.budget, fmt.Sprintf("PodDisruptionBudget %s selects the same Pods", v.other.Name)}
	}
	repaired := v.budget.DeepCopy()
	if changes := Conform(repaired, v.deployment); len(changes) > 0 {
		return plan{repairs, repaired, strings.Join(changes, ", ")}
	}
	return plan{}
}

// apply writes, and records what it has written.
func (c *Controller) apply(ctx context.Context, v view, p plan) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing PodDisruptionBudget %s: %w", klog.KObj(p.budget), err)
		}
	}()
	switch p.action {
	case warns:
		c.recordConflict(v.deployment, p.budget)
	case creates:
		_, err = c.client(p.budget.Namespace).Create(ctx, p.budget, metav1.CreateOptions{})
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return nil
		}
		if err == nil {
			c.recordCreated(ctx, v.deployment, p.budget)
		}
	case repairs:
		if _, err = c.client(p.budget.Namespace).Update(ctx, p.budget, metav1.UpdateOptions{}); err == nil {
			c.recordRepaired(ctx, v.deployment, p.why)
		}
	case removes:
		return c.applyRemoval(ctx, v, p)
	}
	return err
}

func (c *Controller) applyRemoval(ctx context.Context, v view, p plan) error {
	err := c.client(p.budget.Namespace).Delete(ctx, p.budget.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &p.budget.UID, ResourceVersion: &p.budget.ResourceVersion},
	})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case v.deployment == nil:
		v.deployment = formerDeployment(p.budget)
	}
	c.recordRemoved(ctx, v.deployment, p.why)
	return nil
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
