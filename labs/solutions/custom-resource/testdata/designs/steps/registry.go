// registry.go, in another correct design: each Reconcile is a list of steps, and a step says whether to go on.
//
//   - Finalizers are a set, and one function changes it.
//   - The registry is wrapped in one that limits the time of each call.
//   - The copies in zz_generated.deepcopy.go are written by hand.
//   - controller.go runs the steps. Reconcile returns an Aggregate of apimachinery.
//
// It is correct because the order of the effects is the same, and each step decides from the cached network alone.

package customresource

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Finalizer is the controller's finalizer.
const Finalizer = "bitcoin.example.com/registry"

// RegistryTimeout limits one call of the registry.
const RegistryTimeout = 10 * time.Second

// Registry is a list of networks outside of the cluster.
type Registry interface {
	Register(ctx context.Context, entry Entry) error
	Remove(ctx context.Context, id types.UID) error
}

// Entry is a network in the registry.
type Entry struct {
	ID              types.UID
	Namespace, Name string
	Chain           string
}

// limited is a Registry that ends each call after RegistryTimeout.
type limited struct{ Registry }

func (r limited) Register(ctx context.Context, entry Entry) error {
	ctx, cancel := context.WithTimeout(ctx, RegistryTimeout)
	defer cancel()
	return r.Registry.Register(ctx, entry)
}

func (r limited) Remove(ctx context.Context, id types.UID) error {
	ctx, cancel := context.WithTimeout(ctx, RegistryTimeout)
	defer cancel()
	return r.Registry.Remove(ctx, id)
}

var errUnprotected = errors.New("the finalizer has to come first")

// about adds the network to an error.
func about(network *BitcoinNetwork, doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s network %q (namespace %q): %w", doing, network.Name, network.Namespace, err)
}

// protected reports whether a network has the finalizer.
func protected(network *BitcoinNetwork) bool { return sets.New(network.Finalizers...).Has(Finalizer) }

// protect writes the network with the finalizer, or without it.
func (c *Controller) protect(ctx context.Context, network *BitcoinNetwork, wanted bool) error {
	changed := *network
	changed.Finalizers = nil
	for _, name := range network.Finalizers {
		if name != Finalizer {
			changed.Finalizers = append(changed.Finalizers, name)
		}
	}
	if wanted {
		changed.Finalizers = append(changed.Finalizers, Finalizer)
	}
	_, err := c.networkWriter(network.Namespace).Update(ctx, &changed, metav1.UpdateOptions{})
	return about(network, "changing the finalizers of", err)
}

// AddFinalizer adds Finalizer to a network.
func (c *Controller) AddFinalizer(ctx context.Context, network *BitcoinNetwork) error {
	if protected(network) || !network.DeletionTimestamp.IsZero() {
		return nil
	}
	return c.protect(ctx, network, true)
}

// Register makes the registry list a network, and returns the chain under which it is listed.
func (c *Controller) Register(ctx context.Context, network *BitcoinNetwork) (string, error) {
	now, wanted := network.Status.RegisteredChain, chain(network)
	switch {
	case !protected(network):
		return now, about(network, "registering", errUnprotected)
	case now == wanted && upToDate(network):
		return now, nil
	}
	err := c.registry.Register(ctx, Entry{network.UID, network.Namespace, network.Name, wanted})
	if err != nil {
		return now, about(network, "registering", err)
	}
	return wanted, nil
}

// upToDate reports whether the last status is about this generation, and the registry has accepted it.
func upToDate(network *BitcoinNetwork) bool {
	for _, c := range network.Status.Conditions {
		if c.Type == ConditionRegistered {
			return c.Status == metav1.ConditionTrue && c.ObservedGeneration == network.Generation
		}
	}
	return false
}

// Finalize ends a network that is being deleted.
func (c *Controller) Finalize(ctx context.Context, network *BitcoinNetwork) error {
	if !protected(network) {
		return nil
	}
	if err := c.registry.Remove(ctx, network.UID); err != nil {
		return about(network, "removing from the registry", err)
	}
	if err := c.protect(ctx, network, false); !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}
