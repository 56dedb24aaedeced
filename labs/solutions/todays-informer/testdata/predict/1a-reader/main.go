// A watch broke while a was deleted, b was changed and c was created, and now the list comes.
//
// Question: What does a reader of the store see after each write?
//
// Wrong: list-is-written-one-by-one
//
// Story: The server never had only b@9. A controller that counts objects, such as the Pods of a node, decides by a state
// that never existed. Since [#135462](https://github.com/kubernetes/kubernetes/pull/135462) an informer replaces the
// content of its store in one step.
package main

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	todaysinformer "client-go-workshop/labs/solutions/todays-informer"
)

func main() {
	store := watched{cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc)}
	_ = store.Store.Add(deployment("a", "1"))
	_ = store.Store.Add(deployment("b", "2"))

	list := []any{deployment("b", "9"), deployment("c", "8")}
	_ = todaysinformer.ReplaceAll(cache.ResourceEventHandlerFuncs{}, store,
		cache.ReplacedAllInfo{Objects: list, ResourceVersion: "9"}, false)
}

// watched shows its content after each write.
type watched struct{ cache.Store }

func (w watched) show(err error) error {
	names := []string{}
	for _, obj := range w.List() {
		d := obj.(*appsv1.Deployment)
		names = append(names, d.Name+"@"+d.ResourceVersion)
	}
	slices.Sort(names)
	fmt.Println(names)
	return err
}

func (w watched) Update(obj any) error                { return w.show(w.Store.Update(obj)) }
func (w watched) Delete(obj any) error                { return w.show(w.Store.Delete(obj)) }
func (w watched) Replace(list []any, rv string) error { return w.show(w.Store.Replace(list, rv)) }

func deployment(name, version string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: version}}
}
