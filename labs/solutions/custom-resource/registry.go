package customresource

// This file has an effect outside of the cluster: a registry lists the networks, so that nodes elsewhere find them. The
// garbage collector cannot undo such an effect. A finalizer delays the end of the network until the controller has.

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
//
//workshop:task 5
func (c *Controller) AddFinalizer(ctx context.Context, network *BitcoinNetwork) error {
	if slices.Contains(network.Finalizers, Finalizer) || network.DeletionTimestamp != nil {
		return nil
	}
	updated := network.DeepCopy()
	updated.Finalizers = append(updated.Finalizers, Finalizer)
	return c.update(ctx, updated, "adding the finalizer to")
}

// Register makes the registry list a network, and returns the chain under which it is listed. It does not call the
// registry if the status has the right chain, and its condition Registered is True for the network's generation. It
// returns an error, and does not call the registry, for a network without Finalizer. If the registry fails, Register
// returns the status's chain and an error that wraps the registry's. The entry's ID is the network's UID. The call of
// the registry ends after RegistryTimeout, and Register returns after its end.
//
//workshop:task 5
func (c *Controller) Register(ctx context.Context, network *BitcoinNetwork) (listed string, err error) {
	if !slices.Contains(network.Finalizers, Finalizer) {
		return network.Status.RegisteredChain, fmt.Errorf("registering BitcoinNetwork %s/%s: it lacks the finalizer %s",
			network.Namespace, network.Name, Finalizer)
	}
	wanted := chain(network)
	if upToDate(network, wanted) {
		return wanted, nil
	}
	entry := Entry{ID: network.UID, Namespace: network.Namespace, Name: network.Name, Chain: wanted}
	call, cancel := context.WithTimeout(ctx, RegistryTimeout)
	defer cancel()
	if err := c.registry.Register(call, entry); err != nil {
		return network.Status.RegisteredChain, fmt.Errorf("registering BitcoinNetwork %s/%s: %w", network.Namespace,
			network.Name, err)
	}
	return wanted, nil
}

// upToDate reports whether the status proves that the registry lists the network on a chain. A status about an older
// generation does not prove it: a user may have changed the chain and changed it back, while a status write failed.
//
//workshop:omit
func upToDate(network *BitcoinNetwork, chain string) bool {
	c := meta.FindStatusCondition(network.Status.Conditions, ConditionRegistered)
	return network.Status.RegisteredChain == chain && c != nil && c.Status == metav1.ConditionTrue &&
		c.ObservedGeneration == network.Generation
}

// Finalize ends a network that is being deleted. It removes the network's entry from the registry, and then Finalizer.
// Finalizer stays until the registry has removed the entry. The finalizers of other controllers stay, in their order.
// Finalize does nothing for a network without Finalizer. A network that is gone is not an error. Finalize never changes
// a cached object. Any other error names the network and wraps the error of the registry or the server. The call of the
// registry ends after RegistryTimeout, and Finalize returns after its end.
//
//workshop:task 5
func (c *Controller) Finalize(ctx context.Context, network *BitcoinNetwork) error {
	if !slices.Contains(network.Finalizers, Finalizer) {
		return nil
	}
	// Always, even if the status says that the network is not registered: a crash may have prevented that status.
	call, cancel := context.WithTimeout(ctx, RegistryTimeout)
	defer cancel()
	if err := c.registry.Remove(call, network.UID); err != nil {
		return fmt.Errorf("removing BitcoinNetwork %s/%s from the registry: %w", network.Namespace, network.Name, err)
	}
	updated := network.DeepCopy()
	updated.Finalizers = slices.DeleteFunc(updated.Finalizers, func(name string) bool { return name == Finalizer })
	err := c.update(ctx, updated, "removing the finalizer from")
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// update writes a network, except for its status.
//
//workshop:omit
func (c *Controller) update(ctx context.Context, network *BitcoinNetwork, doing string) error {
	if _, err := c.networkWriter(network.Namespace).Update(ctx, network, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("%s BitcoinNetwork %s/%s: %w", doing, network.Namespace, network.Name, err)
	}
	return nil
}
