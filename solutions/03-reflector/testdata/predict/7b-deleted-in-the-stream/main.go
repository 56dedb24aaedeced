// A ConfigMap is deleted while the server streams a list.
//
// Question: Which keys does the store have?
//
// Wrong: stream-keeps-only-additions
//
// Story: A stream of 100,000 objects takes a while, and the cluster does not stand still. Changes and deletions arrive
// between the initial objects. A Reflector that collects only ADDED puts a deleted object into its store. The deletion
// has been sent, so no later event removes the object: it stays until the next list.
package main

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/solutions/03-reflector"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	lw := &cache.ListWatch{}
	lw.WatchFuncWithContext = func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
		if options.SendInitialEvents == nil {
			stop() // the watch after the stream
		}
		w := watch.NewFakeWithChanSize(4, false)
		w.Add(configMap("a", "2"))
		w.Add(configMap("b", "3"))
		w.Delete(configMap("b", "4"))
		w.Action(watch.Bookmark, end("4"))
		w.Stop()
		return w, nil
	}
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	reflector.NewReflector(lw, nil, store, 0).ListAndWatchWithContext(ctx)
	keys := store.ListKeys()
	slices.Sort(keys)
	fmt.Println(keys)
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
