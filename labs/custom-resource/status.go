package customresource

// This file reports the state of a network. A program waits for a condition ("kubectl wait --for=condition=Ready"), a
// person reads its message, and an alert looks at its transition time.

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"

	"client-go-workshop/internal/testkit/todo"
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
func NewStatus(network *BitcoinNetwork, observed Observed) BitcoinNetworkStatus {
	panic(todo.Task(4, "NewStatus"))
}

// SyncStatus writes the status of a network for an observed state. It does not write a status that is right. It writes
// the status alone, through the status subresource. It never changes a cached object. An error names the network and
// wraps the server's error.
func (c *Controller) SyncStatus(ctx context.Context, network *BitcoinNetwork, observed Observed) error {
	panic(todo.Task(4, "Controller.SyncStatus"))
}
