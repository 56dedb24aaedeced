// A registered network is being deleted.
//
// Question: In which order do the two effects happen?
//
// Wrong: finalizer-before-the-effect
//
// Story: If the process ends between the two lines, the next process has to find the work. While the finalizer is there,
// it finds the network. Without the finalizer the network is gone, and its entry stays in the registry forever.
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
	network.UID, network.Finalizers = "uid-1", []string{"example.com/audit", customresource.Finalizer}
	network.Status.RegisteredChain = "regtest"

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
