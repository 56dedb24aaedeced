package customresource

// This file reports the state of a network. A program waits for a condition ("kubectl wait --for=condition=Ready"), a
// person reads its message, and an alert looks at its transition time.

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Types of conditions, and their reasons. Programs compare them, so they do not change.
const (
	ConditionReady      = "Ready"
	ConditionRegistered = "Registered"

	ReasonNodesReady    = "NodesReady"    // Ready is True
	ReasonNodesStarting = "NodesStarting" // Ready is False: the Deployment has not finished
	ReasonNameTaken     = "NameTaken"     // Ready is False: see NameTakenError
	ReasonWriteFailed   = "WriteFailed"   // Ready is False: the server refused the Deployment

	ReasonRegistered          = "Registered"          // Registered is True
	ReasonRegistryUnavailable = "RegistryUnavailable" // Registered is False
)

// Observed is the state that a status reports.
type Observed struct {
	// Deployment is the network's, or nil if there is none or DeploymentError is set.
	Deployment      *appsv1.Deployment
	DeploymentError error
	// RegisteredChain is the chain under which the registry lists the network.
	RegisteredChain string
	RegistryError   error
}

// NewStatus returns the status of a network for an observed state.
//
// ObservedGeneration is the network's generation, in the status and in each condition. ReadyNodes is the number of
// ready replicas. RegisteredChain is the observed one.
//
// Ready is True if as many replicas are ready as the network has nodes, and the Deployment's controller has seen the
// newest Deployment and replaced all old Pods. Otherwise Ready is False with the reason NodesStarting. If there is a
// DeploymentError, Ready is False with the reason NameTaken for a NameTakenError, and WriteFailed for any other.
// Registered is False with the reason RegistryUnavailable if there is a RegistryError, and otherwise True.
//
// A condition keeps its transition time until its status changes. Conditions of other types stay. The message of an
// error's condition has no text that can differ at each attempt, as that of most errors can. NewStatus does not change
// the network.
//
//workshop:task 4
func NewStatus(network *BitcoinNetwork, observed Observed) BitcoinNetworkStatus {
	status := *network.Status.DeepCopy()
	status.ObservedGeneration = network.Generation
	status.RegisteredChain = observed.RegisteredChain
	status.ReadyNodes = 0
	if observed.Deployment != nil {
		status.ReadyNodes = observed.Deployment.Status.ReadyReplicas
	}
	for _, condition := range []metav1.Condition{readyCondition(network, observed), registeredCondition(observed)} {
		condition.ObservedGeneration = network.Generation
		// It sets the transition time to now if the status of the condition changes, and otherwise keeps it.
		meta.SetStatusCondition(&status.Conditions, condition)
	}
	return status
}

//workshop:omit
func readyCondition(network *BitcoinNetwork, observed Observed) metav1.Condition {
	wanted := nodes(network)
	var taken *NameTakenError
	switch {
	case errors.As(observed.DeploymentError, &taken):
		return newCondition(ConditionReady, false, ReasonNameTaken, taken.Error())
	case observed.DeploymentError != nil:
		return newCondition(ConditionReady, false, ReasonWriteFailed, "the Deployment cannot be written; see the log")
	case observed.Deployment == nil || !rolledOut(observed.Deployment, wanted):
		return newCondition(ConditionReady, false, ReasonNodesStarting, "the Deployment has not finished")
	}
	return newCondition(ConditionReady, true, ReasonNodesReady, fmt.Sprintf("%d of %d nodes are ready", wanted, wanted))
}

//workshop:omit
func registeredCondition(observed Observed) metav1.Condition {
	if observed.RegistryError != nil {
		return newCondition(ConditionRegistered, false, ReasonRegistryUnavailable,
			"the registry cannot be written; see the log")
	}
	return newCondition(ConditionRegistered, true, ReasonRegistered, "the registry lists the network")
}

// rolledOut reports whether a Deployment has its replicas, all of the newest template. The status is about an older
// Deployment until its controller has observed the newest generation.
//
//workshop:omit
func rolledOut(deployment *appsv1.Deployment, replicas int32) bool {
	s := deployment.Status
	return s.ObservedGeneration >= deployment.Generation && s.UpdatedReplicas == replicas && s.Replicas == replicas &&
		s.ReadyReplicas == replicas
}

//workshop:omit
func newCondition(kind string, holds bool, reason, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if holds {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

// SyncStatus writes the status of a network for an observed state. It does not write a status that is right. It writes
// the status alone, through the status subresource. It never changes a cached object. An error names the network and
// wraps the server's error.
//
//workshop:task 4
func (c *Controller) SyncStatus(ctx context.Context, network *BitcoinNetwork, observed Observed) error {
	status := NewStatus(network, observed)
	if equality.Semantic.DeepEqual(status, network.Status) {
		return nil
	}
	updated := network.DeepCopy()
	updated.Status = status
	if _, err := c.networkWriter(network.Namespace).UpdateStatus(ctx, updated, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("updating the status of BitcoinNetwork %s/%s: %w", network.Namespace, network.Name, err)
	}
	return nil
}
