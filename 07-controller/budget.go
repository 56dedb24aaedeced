package controller

// This file knows which PodDisruptionBudget is right for a Deployment, and who owns an existing one. Its functions are
// pure: they use no cache, no network and no clock.
//
// Left out: percentages, rules other than "one Pod at a time", budgets for objects other than Deployments, and two
// Deployments whose selectors overlap.

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

const (
	// OptOutAnnotation on a Deployment, with the value OptOutValue, means that it must have no budget. Any other value
	// means nothing.
	OptOutAnnotation = "client-go-workshop/pdb"
	OptOutValue      = "disabled"

	// ManagedByLabel, with the value ManagedByValue, marks a budget of this controller, so that it can be recognized
	// after a user has cut its owner reference.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	ManagedByValue = "pdb-controller"
)

// deploymentKind goes into owner references. Objects from an informer have an empty TypeMeta, so it is a constant.
var deploymentKind = appsv1.SchemeGroupVersion.WithKind("Deployment")

// wantsBudget reports whether the Deployment should have a budget. A Deployment of one replica should not: minAvailable
// 0 protects nothing, and 1 would block every drain of its node.
func wantsBudget(deployment *appsv1.Deployment) bool {
	return desiredReplicas(deployment) >= 2 && deployment.Annotations[OptOutAnnotation] != OptOutValue
}

// whyUnwanted returns the reason why wantsBudget reports false.
func whyUnwanted(deployment *appsv1.Deployment) string {
	if deployment.Annotations[OptOutAnnotation] == OptOutValue {
		return fmt.Sprintf("the annotation %s is %q", OptOutAnnotation, OptOutValue)
	}
	return fmt.Sprintf("spec.replicas is %d", desiredReplicas(deployment))
}

// desiredReplicas returns spec.replicas. Nil means 1, as in the API server.
func desiredReplicas(deployment *appsv1.Deployment) int32 {
	return ptr.Deref(deployment.Spec.Replicas, 1)
}

// NewBudget returns the budget to create for the Deployment. It shares no memory with the Deployment.
func NewBudget(deployment *appsv1.Deployment) *policyv1.PodDisruptionBudget {
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{
		Namespace: deployment.Namespace,
		Name:      deployment.Name,
	}}
	Conform(budget, deployment)
	return budget
}

// Conform changes budget, which the caller must own, to what the Deployment needs, and returns what it changed. No
// changes mean that the budget was right. Creating and repairing both use it, so they cannot disagree.
//
// Conform compares only the fields that this controller sets. Other labels and unhealthyPodEvictionPolicy belong to
// other programs. A comparison of the whole object would also start an endless repair after the API server fills in a
// new default.
//
// maxUnavailable: 1 would mean the same and never need an update after scaling. minAvailable is chosen because the
// number in `kubectl get pdb` then follows the Deployment visibly. The price: after the Deployment grows, too many Pods
// can be evicted until the repair.
func Conform(budget *policyv1.PodDisruptionBudget, deployment *appsv1.Deployment) (changes []string) {
	minAvailable := intstr.FromInt32(desiredReplicas(deployment) - 1)
	if budget.Spec.MinAvailable == nil || *budget.Spec.MinAvailable != minAvailable {
		budget.Spec.MinAvailable = &minAvailable
		changes = append(changes, "minAvailable to "+minAvailable.String())
	}
	if budget.Spec.MaxUnavailable != nil { // the API allows only one of the two
		budget.Spec.MaxUnavailable = nil
		changes = append(changes, "maxUnavailable to none")
	}
	if !equality.Semantic.DeepEqual(budget.Spec.Selector, deployment.Spec.Selector) {
		budget.Spec.Selector = deployment.Spec.Selector.DeepCopy()
		changes = append(changes, "selector to "+metav1.FormatLabelSelector(deployment.Spec.Selector))
	}
	if owners := ownedBy(deployment, budget.OwnerReferences); !equality.Semantic.DeepEqual(budget.OwnerReferences,
		owners) {
		budget.OwnerReferences = owners
		changes = append(changes, "owner to Deployment "+deployment.Name)
	}
	if budget.Labels[ManagedByLabel] != ManagedByValue {
		metav1.SetMetaDataLabel(&budget.ObjectMeta, ManagedByLabel, ManagedByValue)
		changes = append(changes, "label "+ManagedByLabel+" to "+ManagedByValue)
	}
	return changes
}

// ownedBy returns owners with the Deployment among them as the controlling one. Owners that other programs added keep
// their places, so that only a difference causes a repair.
func ownedBy(deployment *appsv1.Deployment, owners []metav1.OwnerReference) []metav1.OwnerReference {
	controller := *metav1.NewControllerRef(deployment, deploymentKind)
	owners = slices.Clone(owners)
	i := slices.IndexFunc(owners, func(owner metav1.OwnerReference) bool { return owner.UID == deployment.UID })
	if i < 0 {
		return append(owners, controller)
	}
	owners[i] = controller
	return owners
}

// claim is the relation of an existing budget to the Deployment of its name.
type claim int

const (
	foreign  claim = iota // of another owner: never write to it
	leftover              // of an earlier Deployment of this name: the garbage collector deletes it
	ours                  // to repair or to remove
)

// claimOn returns the claim of the Deployment on the budget. Owners count by UID: if a Deployment is deleted and
// created again, the new one must not inherit a budget that the garbage collector is about to delete. A budget without
// a controlling owner is ours if it has our label: then a user cut the reference. One that lost both is no longer ours.
func claimOn(budget *policyv1.PodDisruptionBudget, deployment *appsv1.Deployment) claim {
	owner := metav1.GetControllerOfNoCopy(budget)
	switch {
	case owner == nil && budget.Labels[ManagedByLabel] == ManagedByValue:
		return ours
	case owner == nil:
		return foreign
	case owner.UID == deployment.UID:
		return ours
	case isDeployment(owner) && owner.Name == deployment.Name:
		return leftover
	default:
		return foreign
	}
}

// isDeployment compares group and kind only, since the version in an owner reference depends on its writer.
func isDeployment(owner *metav1.OwnerReference) bool {
	return schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind() == deploymentKind.GroupKind()
}

// madeForDeployment reports whether this controller made the budget, for a Deployment that still controls it: it has
// our label, and its controlling owner is the Deployment of its name. A copy under another name has neither.
func madeForDeployment(budget *policyv1.PodDisruptionBudget) bool {
	owner := metav1.GetControllerOfNoCopy(budget)
	return budget.Labels[ManagedByLabel] == ManagedByValue &&
		owner != nil && isDeployment(owner) && owner.Name == budget.Name
}

// selectsPodsOf reports whether the budget selects the Deployment's Pods. As in the API server, a budget without a
// selector selects none, and an empty selector selects all Pods of the namespace.
func selectsPodsOf(budget *policyv1.PodDisruptionBudget, deployment *appsv1.Deployment) bool {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	return err == nil && budget.Namespace == deployment.Namespace &&
		selector.Matches(labels.Set(deployment.Spec.Template.Labels))
}

// outlivesDeployment reports whether a budget of ours stays although its Deployment is gone. The garbage collector
// deletes an object after its last owner is gone, and this budget has another owner. A budget without any owner was
// orphaned on purpose (kubectl delete --cascade=orphan).
func outlivesDeployment(budget *policyv1.PodDisruptionBudget) bool {
	owner := metav1.GetControllerOfNoCopy(budget)
	if budget.Labels[ManagedByLabel] != ManagedByValue {
		return false
	}
	if owner != nil && !(isDeployment(owner) && owner.Name == budget.Name) {
		return false
	}
	return slices.ContainsFunc(budget.OwnerReferences, func(o metav1.OwnerReference) bool {
		return owner == nil || o.UID != owner.UID
	})
}
