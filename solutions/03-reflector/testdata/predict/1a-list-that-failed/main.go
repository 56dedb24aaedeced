// A store has one ConfigMap, and the next list fails.
//
// Question: What does each line print?
//
// Wrong: failed-list-empties-the-store
//
// Story: An error means that the server did not answer. It does not mean that there are no objects. A cache that takes
// an error for an empty list reports every object as deleted, and a controller that cleans up after deleted objects
// starts to clean up. One timeout of etcd is enough.
package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/solutions/03-reflector"
)

func main() {
	failures := []error{nil, errors.New("etcd is away")}
	lw := &source{}
	lw.ListWithContextFunc = func(context.Context, metav1.ListOptions) (runtime.Object, error) {
		err := failures[0]
		failures = failures[1:]
		items := []corev1.ConfigMap{*configMap("a", "5")}
		return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}, Items: items}, err
	}
	lw.WatchFuncWithContext = func(context.Context, metav1.ListOptions) (watch.Interface, error) {
		return watch.NewEmptyWatch(), nil // ends at once, so a list is due
	}
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	r := reflector.NewReflector(lw, nil, store, 0)
	for range 2 {
		err := r.ListAndWatchWithContext(context.Background())
		fmt.Println(store.ListKeys(), "error:", err != nil)
	}
}

func configMap(name, version string) *corev1.ConfigMap {
	m := metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: version}
	return &corev1.ConfigMap{ObjectMeta: m}
}

// source cannot stream lists.
type source struct{ cache.ListWatch }

func (*source) IsWatchListSemanticsUnSupported() bool { return true }
