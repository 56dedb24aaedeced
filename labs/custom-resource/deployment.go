package customresource

// This file keeps one Deployment for each network. The Deployment's controller creates the Pods.

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"

	"client-go-workshop/internal/testkit/todo"
)

// NetworkLabel is the label of a network's Deployment and Pods. Its value is the network's name.
const NetworkLabel = "bitcoin.example.com/network"

// container is the name of the container that the controller owns.
const container = "bitcoind"

// NameTakenError says that a Deployment of the network's name belongs to another owner, or to none.
type NameTakenError struct{ Name string }

func (e *NameTakenError) Error() string {
	return fmt.Sprintf("Deployment %s is not this network's, and is left as it is", e.Name)
}

// NewDeployment returns the Deployment that a network wants. It has the network's name and namespace. The network is
// its controlling owner. Its Pods have NetworkLabel, and its selector selects by NetworkLabel alone. It has as many
// replicas as the network has nodes, or 3 without a number. Its container bitcoind runs the image bitcoin/bitcoin with
// the network's version as the tag. The arguments are -chain=CHAIN, then -addnode=PEER for each peer in the network's
// order, then -NAME=VALUE for each option, sorted by name. Without a chain it is regtest. Two calls for one network
// return equal Deployments, which share nothing with each other or the network.
func NewDeployment(network *BitcoinNetwork) *appsv1.Deployment {
	panic(todo.Task(3, "NewDeployment"))
}

// SyncDeployment creates the Deployment of a network, or corrects it, with at most one write. It returns the Deployment
// as the server has it. It does not write a Deployment that is right, whatever other fields it has: defaults of the
// server, and labels, annotations and containers of other programs stay. It never writes to a Deployment that the
// network does not control: then the error is a NameTakenError. It returns the network's own Deployment without a write
// if that is being deleted. It never changes a cached object. Any other error names the Deployment and wraps the
// server's error. That includes AlreadyExists, because the cache may be behind the server.
func (c *Controller) SyncDeployment(ctx context.Context, network *BitcoinNetwork) (*appsv1.Deployment, error) {
	panic(todo.Task(3, "Controller.SyncDeployment"))
}
