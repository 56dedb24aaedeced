// A program sets a transform to save memory, after it has started the informer.
//
// Question: What does SetTransform return, and how many labels has the cached object?
//
// Wrong: transform-after-the-start
//
// Story: The objects in the store have not passed through the transform, and unchanged objects never will. Without an
// error, the program believes that it saves memory. Its cache has transformed and full objects side by side.
package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"

	controller "client-go-workshop/solutions/07-controller"
)

func main() {
	server := fcache.NewFakeControllerSource()
	a := deployment("a")
	a.Labels = map[string]string{"app": "a", "team": "shop"}
	server.Add(a)
	informer := controller.NewSharedIndexInformer(source{server}, &appsv1.Deployment{}, 0, cache.Indexers{})
	go informer.Run(nil)
	cache.WaitForCacheSync(nil, informer.HasSynced)

	err := informer.SetTransform(func(obj any) (any, error) {
		obj.(*appsv1.Deployment).Labels = nil
		return obj, nil
	})
	cached := informer.GetStore().List()[0].(*appsv1.Deployment)
	fmt.Println("an error:", err != nil)
	fmt.Println("labels:", len(cached.Labels))
}

// source is an API server in memory, which cannot stream its first list.
type source struct{ *fcache.FakeControllerSource }

func (source) IsWatchListSemanticsUnSupported() bool { return true }

func deployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}
