// Package podapp has what a controller of Pods needs around it, for the lab own-writes: an API server with Pods,
// clients, and informers. A watch may be late.
package podapp

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/layers"
)

// ServePods makes a server serve Pods. It stores them as maps, and checks nothing in them.
func ServePods(api *fakeapi.Server) {
	api.Serve(fakeapi.Custom{
		Kind: corev1.SchemeGroupVersion.WithKind("Pod"), Plural: "pods", Singular: "pod", Status: true,
		Prune:    func(map[string]any) []string { return nil },
		Default:  func(map[string]any) {},
		Validate: func(map[string]any) field.ErrorList { return nil },
		Cells:    func(map[string]any) []any { return nil },
	})
}

// Late makes the watches of a server late from now on.
func Late(api *fakeapi.Server, delay func() time.Duration) {
	api.Script("watch", fakeapi.Times(1_000, fakeapi.Late(delay))...)
}

// CreatePod stores a Pod on a server, as another client would.
func CreatePod(api *fakeapi.Server, pod *corev1.Pod) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
	utilruntime.Must(err)
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	api.Create(u)
}

// StoredPods returns the Pods of a server.
func StoredPods(api *fakeapi.Server) ([]*corev1.Pod, error) {
	var pods []*corev1.Pod
	for _, obj := range api.Objects("pods") {
		pod := &corev1.Pod{}
		content := obj.(*unstructured.Unstructured).Object
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, pod); err != nil {
			return nil, fmt.Errorf("read Pod %s: %w", obj.GetName(), err)
		}
		pods = append(pods, pod)
	}
	return pods, nil
}

// Clients read and write Deployments and Pods.
type Clients struct{ Deployments, Pods layers.Resource }

// Connect makes clients on layers.
func Connect(below layers.Layers, config *rest.Config) (Clients, error) {
	config.QPS = -1
	client, err := below.NewClient(config)
	if err != nil {
		return Clients{}, err
	}
	deployments, err := client.Resource(appsv1.SchemeGroupVersion.WithResource("deployments"), layers.Scheme)
	if err != nil {
		return Clients{}, err
	}
	pods, err := client.Resource(corev1.SchemeGroupVersion.WithResource("pods"), layers.Scheme)
	return Clients{deployments, pods}, err
}

// NewInformer makes an informer on layers.
type NewInformer = layers.NewInformer

// Informers returns an informer of Deployments and one of Pods, with these indexes. They have a RealFIFO below: only
// with atomic lists a store's version is always one that it has reached.
func (c Clients) Informers(newInformer NewInformer, below layers.Layers,
	ofPods cache.Indexers) (deployments, pods cache.SharedIndexInformer) {
	if below.Pop == nil {
		below = below.Today(below)
	}
	return newInformer(below, c.Deployments.ListerWatcher(""), &appsv1.Deployment{}, cache.SharedIndexInformerOptions{}),
		newInformer(below, c.Pods.ListerWatcher(""), &corev1.Pod{}, cache.SharedIndexInformerOptions{Indexers: ofPods})
}

// PodClient reads and writes the Pods of one namespace, on the server.
type PodClient struct {
	layers.Writer[*corev1.Pod]
	reader cache.ListerWatcher
}

// In returns the client for the Pods of one namespace. An empty one stands for all.
func (c Clients) In(namespace string) PodClient {
	return PodClient{
		layers.WriterOf(c.Pods, namespace, func() *corev1.Pod { return &corev1.Pod{} }),
		c.Pods.ListerWatcher(namespace),
	}
}

// List returns the Pods of the namespace.
func (c PodClient) List(ctx context.Context, options metav1.ListOptions) (*corev1.PodList, error) {
	list, err := cache.ToListerWithContext(c.reader).ListWithContext(ctx, options)
	if err != nil {
		return nil, err
	}
	return list.(*corev1.PodList), nil
}
