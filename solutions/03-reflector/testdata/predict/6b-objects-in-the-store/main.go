// The store has one ConfigMap, and a watch brings a bookmark.
//
// Question: How many objects does the store have?
//
// Wrong: bookmarks-are-objects
//
// Story: A bookmark carries an object of the watched type, so it passes every check of the type. In a cache it becomes
// an object without a name and without a spec. Handlers receive it, and a controller that expects a spec panics or
// creates something for it.
package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/solutions/03-reflector"
)

func main() {
	lw := &source{}
	lw.ListWithContextFunc = func(context.Context, metav1.ListOptions) (runtime.Object, error) {
		items := []corev1.ConfigMap{*configMap("a", "5")}
		return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}, Items: items}, nil
	}
	ctx, stop := context.WithCancel(context.Background())
	watches := 0
	lw.WatchFuncWithContext = func(context.Context, metav1.ListOptions) (watch.Interface, error) {
		if watches++; watches == 2 {
			stop()
		}
		w := watch.NewFakeWithChanSize(1, false)
		w.Action(watch.Bookmark, configMap("", "20"))
		w.Stop() // the watch ends after the bookmark
		return w, nil
	}
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	reflector.NewReflector(lw, nil, store, 0).ListAndWatchWithContext(ctx)
	fmt.Println("objects:", len(store.List()))
}

func configMap(name, version string) *corev1.ConfigMap {
	m := metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: version}
	return &corev1.ConfigMap{ObjectMeta: m}
}

// source cannot stream lists.
type source struct{ cache.ListWatch }

func (*source) IsWatchListSemanticsUnSupported() bool { return true }
