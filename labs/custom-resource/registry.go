package customresource

// This file has an effect outside of the cluster: a registry lists the networks, so that nodes elsewhere find them. The
// garbage collector cannot undo such an effect. A finalizer delays the end of the network until the controller has.

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"client-go-workshop/internal/testkit/todo"
)

// Finalizer is the controller's finalizer.
const Finalizer = "bitcoin.example.com/registry"

// RegistryTimeout limits one call of the registry. A registry that hangs leaves the rest of ReconcileTimeout to the
// other steps.
const RegistryTimeout = 10 * time.Second

// Registry is a list of networks outside of the cluster.
type Registry interface {
	// Register adds an entry, or replaces the entry of the same network.
	Register(ctx context.Context, entry Entry) error
	// Remove removes the entry of a network. It returns no error if there is none.
	Remove(ctx context.Context, id types.UID) error
}

// Entry is a network in the registry.
type Entry struct {
	// ID is the network's UID. A name can belong to another network later.
	ID              types.UID
	Namespace, Name string
	Chain           string
}

// AddFinalizer adds Finalizer to a network. It keeps the finalizers of other controllers. It writes nothing if the
// network has Finalizer, and nothing if it is being deleted. It never changes a cached object. An error names the
// network and wraps the server's error.
func (c *Controller) AddFinalizer(ctx context.Context, network *BitcoinNetwork) error {
	panic(todo.Task(5, "Controller.AddFinalizer"))
}

// Register makes the registry list a network, and returns the chain under which it is listed. It does not call the
// registry if the status has the right chain, and its condition Registered is True for the network's generation. It
// returns an error, and does not call the registry, for a network without Finalizer. If the registry fails, Register
// returns the status's chain and an error that wraps the registry's. The entry's ID is the network's UID. The call of
// the registry ends after RegistryTimeout, and Register returns after its end.
func (c *Controller) Register(ctx context.Context, network *BitcoinNetwork) (listed string, err error) {
	panic(todo.Task(5, "Controller.Register"))
}

// Finalize ends a network that is being deleted. It removes the network's entry from the registry, and then Finalizer.
// Finalizer stays until the registry has removed the entry. The finalizers of other controllers stay, in their order.
// Finalize does nothing for a network without Finalizer. A network that is gone is not an error. Finalize never changes
// a cached object. Any other error names the network and wraps the error of the registry or the server. The call of the
// registry ends after RegistryTimeout, and Finalize returns after its end.
func (c *Controller) Finalize(ctx context.Context, network *BitcoinNetwork) error {
	panic(todo.Task(5, "Controller.Finalize"))
}
