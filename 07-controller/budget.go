// budget.go says what the right PodDisruptionBudget for a Deployment is, and to
// whom an existing one belongs. Pure functions: no cache, no network, no clock.
//
// Left out: percentages, a rule other than "one Pod may go at a time", and
// budgets for anything but Deployments.

package controller

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

const (
	// OptOutAnnotation on a Deployment, with the value OptOutValue, says that it
	// must have no budget. Any other value means nothing.
	OptOutAnnotation = "client-go-workshop/pdb"
	OptOutValue      = "disabled"

	// ManagedByLabel, with the value ManagedByValue, marks a budget as made by this
	// controller, so that it can be recognized after its owner reference was cut.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	ManagedByValue = "pdb-controller"
)

// deploymentKind goes into owner references. It is spelled out because objects
// that come out of an informer have an empty TypeMeta.
var deploymentKind = appsv1.SchemeGroupVersion.WithKind("Deployment")

// wantsBudget reports whether the Deployment should have a budget. With a single
// replica it should not: minAvailable 0 protects nothing, and 1 would block each
// node drain for good.
func wantsBudget(deployment *appsv1.Deployment) bool {
	return desiredReplicas(deployment) >= 2 && deployment.Annotations[OptOutAnnotation] != OptOutValue
}

// desiredReplicas is spec.replicas; nil means 1, as the API server would fill in.
func desiredReplicas(deployment *appsv1.Deployment) int32 {
	return ptr.Deref(deployment.Spec.Replicas, 1)
}

// NewBudget returns the budget to create for the Deployment. It shares no memory with it.
func NewBudget(deployment *appsv1.Deployment) *policyv1.PodDisruptionBudget {
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{
		Namespace: deployment.Namespace,
		Name:      deployment.Name,
	}}
	Conform(budget, deployment)
	return budget
}

// Conform changes budget, which the caller must own, to what the Deployment needs
// and says what it changed; no changes means that the budget was right. Creating
// and repairing both come through here, so they cannot disagree.
//
// Only what this controller set itself is compared. All else, such as other labels
// and unhealthyPodEvictionPolicy, belongs to others; comparing the whole object
// would also start an endless repair once the API server fills in a new default.
//
// maxUnavailable: 1 would say the same and never need an update on scaling.
// minAvailable is chosen because the number in `kubectl get pdb` then follows the
// Deployment before one's eyes. The price: after growing, until the repair lands,
// more Pods may be evicted than should be.
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

// ownedBy returns owners with the Deployment among them as the controlling one.
// Owners that others added stay, each in its place: only a change is a repair.
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

// claim says what an existing budget with a Deployment's name is to that Deployment.
type claim int

const (
	foreign  claim = iota // somebody else's: must never be touched
	leftover              // of an earlier Deployment with this name: the garbage collector's
	ours                  // to repair or to remove
)

// claimOn finds out whose the budget is. Owners count by UID: a name comes back when a
// Deployment is deleted and created again, and the new one must not inherit what is
// about to be garbage collected. A budget without a controlling owner is ours if it has
// our label: then somebody cut the reference. One that lost both is no longer ours.
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

// isDeployment compares group and kind only: the version in an owner reference is
// whatever its writer used.
func isDeployment(owner *metav1.OwnerReference) bool {
	return schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind() == deploymentKind.GroupKind()
}
