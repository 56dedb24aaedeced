// The process ended after the registry had the entry, and before the status did. Then a user deletes the network.
//
// Question: Does the next process remove the entry?
//
// Wrong: only-a-registered-network-is-removed
//
// Story: The status is a note of a process that may have ended before it wrote it. A controller that trusts the note at
// the end saves one request, and leaves an entry behind after one crash in a thousand.
package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	customresource "client-go-workshop/labs/solutions/custom-resource"
)

func main() {
	network := &customresource.BitcoinNetwork{}
	network.UID, network.Finalizers = "uid-1", []string{customresource.Finalizer}
	fmt.Printf("status: registered on %q\n", network.Status.RegisteredChain)

	err := newController().Finalize(context.Background(), network)
	fmt.Println("error:", err)
}

// world is the server and the registry. It prints each effect.
type world struct{ customresource.NetworkWriter }

func (world) Update(_ context.Context, n *customresource.BitcoinNetwork, _ metav1.UpdateOptions) (
	*customresource.BitcoinNetwork, error) {
	fmt.Println("server: finalizers", n.Finalizers)
	return n, nil
}

func (world) Register(context.Context, customresource.Entry) error { return nil }

func (world) Remove(_ context.Context, id types.UID) error {
	fmt.Println("registry: removes", id)
	return nil
}

func newController() *customresource.Controller {
	c, _ := customresource.New(customresource.Config{
		Networks:      cache.NewSharedIndexInformer(nil, &customresource.BitcoinNetwork{}, 0, nil),
		Deployments:   cache.NewSharedIndexInformer(nil, &appsv1.Deployment{}, 0, nil),
		NetworkWriter: func(string) customresource.NetworkWriter { return world{} },
		Registry:      world{},
		Workers:       1,
	})
	return c
}
