// A store asks for the version while it receives the first list.
//
// Question: Which two versions does the program print?
//
// Wrong: version-before-replace
//
// Story: A program often waits for a version: its cache has seen its own write when the version has reached it. If the
// version moves before the store has the list, the program goes on too early and reads an empty cache. If Replace then
// fails, the version never becomes true: the watch starts there, and the objects of the list are missing until the next
// list.
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
		return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}, nil
	}
	lw.WatchFuncWithContext = func(context.Context, metav1.ListOptions) (watch.Interface, error) {
		return watch.NewEmptyWatch(), nil // ends at once, so a list is due
	}
	store := &curious{Store: cache.NewStore(cache.MetaNamespaceKeyFunc)}
	store.r = reflector.NewReflector(lw, nil, store, 0)
	store.r.ListAndWatchWithContext(context.Background())
	fmt.Printf("after the list: %q\n", store.r.LastSyncResourceVersion())
}

type curious struct {
	cache.Store
	r *reflector.Reflector
}

func (s *curious) Replace(objs []any, version string) error {
	fmt.Printf("during Replace: %q\n", s.r.LastSyncResourceVersion())
	return s.Store.Replace(objs, version)
}

// source cannot stream lists.
type source struct{ cache.ListWatch }

func (*source) IsWatchListSemanticsUnSupported() bool { return true }
