// A streamed list breaks after its first object, and the second attempt is complete.
//
// Question: Which calls does the store receive?
//
// Wrong: stream-reaches-the-store-at-once
//
// Story: A streamed list looks like a watch, and it is tempting to pass its objects on as they come. Then a controller
// starts to work with half of its objects: it sees a Deployment without its budget, and creates a second one. The store
// must receive all of the list, or nothing.
package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/solutions/03-reflector"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	streams := 0
	lw := &cache.ListWatch{}
	lw.WatchFuncWithContext = func(context.Context, metav1.ListOptions) (watch.Interface, error) {
		w := watch.NewFakeWithChanSize(3, false)
		w.Add(configMap("a", "2"))
		if streams++; streams == 2 {
			w.Add(configMap("b", "3"))
			w.Action(watch.Bookmark, end("3"))
		}
		w.Stop() // the connection breaks
		return w, nil
	}
	store := printing{cache.NewStore(cache.MetaNamespaceKeyFunc), stop}
	reflector.NewReflector(lw, nil, store, 0).ListAndWatchWithContext(ctx)
}

type printing struct {
	cache.Store
	stop func()
}

func (s printing) Add(obj any) error {
	fmt.Println("Add", obj.(*corev1.ConfigMap).Name)
	return nil
}

func (s printing) Replace(objs []any, version string) error {
	fmt.Println("Replace with", len(objs), "objects, at version", version)
	s.stop()
	return nil
}

func configMap(name, version string) *corev1.ConfigMap {
	m := metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: version}
	return &corev1.ConfigMap{ObjectMeta: m}
}

// end is the bookmark that ends a streamed list.
func end(version string) *corev1.ConfigMap {
	annotations := map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version, Annotations: annotations}}
}
