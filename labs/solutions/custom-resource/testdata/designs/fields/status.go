package customresource

// In this design, the status is built from a table of facts, and a condition keeps its time by a comparison of our own.

import (
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Types of conditions, and their reasons.
const (
	ConditionReady      = "Ready"
	ConditionRegistered = "Registered"

	ReasonNodesReady    = "NodesReady"
	ReasonNodesStarting = "NodesStarting"
	ReasonNameTaken     = "NameTaken"
	ReasonWriteFailed   = "WriteFailed"

	ReasonRegistered          = "Registered"
	ReasonRegistryUnavailable = "RegistryUnavailable"
)

// Observed is the state that a status reports.
type Observed struct {
	Deployment      *appsv1.Deployment
	DeploymentError error
	RegisteredChain string
	RegistryError   error
}

// NewStatus returns the status of a network for an observed state.
func NewStatus(network *BitcoinNetwork, observed Observed) BitcoinNetworkStatus {
	status := BitcoinNetworkStatus{
		ObservedGeneration: network.Generation,
		RegisteredChain:    observed.RegisteredChain,
		Conditions:         slices.Clone(network.Status.Conditions),
	}
	ready := false
	if d := observed.Deployment; d != nil {
		status.ReadyNodes = d.Status.ReadyReplicas
		wanted := settingsOf(network).replicas
		counts := []int32{d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.ReadyReplicas}
		ready = d.Status.ObservedGeneration >= d.Generation &&
			!slices.ContainsFunc(counts, func(count int32) bool { return count != wanted })
	}
	reason, message := ReasonNodesStarting, "the Deployment has not finished"
	if ready {
		reason, message = ReasonNodesReady, "all nodes are ready"
	}
	if err := observed.DeploymentError; err != nil {
		ready, reason, message = false, ReasonWriteFailed, "the Deployment cannot be written; see the log"
		if _, taken := errors.AsType[*NameTakenError](err); taken {
			reason, message = ReasonNameTaken, "another Deployment has the name"
		}
	}
	status.set(network, ConditionReady, ready, reason, message)
	if observed.RegistryError == nil {
		status.set(network, ConditionRegistered, true, ReasonRegistered, "the registry lists the network")
	} else {
		status.set(network, ConditionRegistered, false, ReasonRegistryUnavailable, "the registry cannot be written")
	}
	return status
}

// set sets a condition. Its time changes with its status alone.
func (s *BitcoinNetworkStatus) set(network *BitcoinNetwork, kind string, holds bool, reason, message string) {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message,
		ObservedGeneration: network.Generation, LastTransitionTime: metav1.Now()}
	if holds {
		c.Status = metav1.ConditionTrue
	}
	i := slices.IndexFunc(s.Conditions, func(old metav1.Condition) bool { return old.Type == kind })
	if i < 0 {
		s.Conditions = append(s.Conditions, c)
		return
	}
	if s.Conditions[i].Status == c.Status {
		c.LastTransitionTime = s.Conditions[i].LastTransitionTime
	}
	s.Conditions[i] = c
}

// SyncStatus writes the status of a network for an observed state.
func (c *Controller) SyncStatus(ctx context.Context, network *BitcoinNetwork, observed Observed) error {
	changed := network.DeepCopy()
	changed.Status = NewStatus(network, observed)
	if equality.Semantic.DeepEqual(changed.Status, network.Status) {
		return nil
	}
	_, err := c.networkWriter(network.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("updating the status of BitcoinNetwork %s/%s: %w", network.Namespace, network.Name, err)
	}
	return nil
}
