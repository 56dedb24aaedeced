// A watch brings a bookmark of version 20, and ends.
//
// Question: At which version does the second watch start?
//
// Wrong: bookmarks-are-left-out
//
// Story: An informer of a quiet resource sees no event for hours, while the rest of the cluster moves the version on.
// The server remembers changes for some minutes only. Without bookmarks every watch of that informer starts at a
// forgotten version, receives 410, and causes a list.
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
	ctx, stop := context.WithCancel(context.Background())
	var requests []string
	lw := &source{}
	lw.ListWithContextFunc = func(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
		requests = append(requests, "list@"+options.ResourceVersion)
		return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}, nil
	}
	lw.WatchFuncWithContext = func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
		if requests = append(requests, "watch@"+options.ResourceVersion); len(requests) == 3 {
			stop()
		}
		w := watch.NewFakeWithChanSize(1, false)
		w.Action(watch.Bookmark, configMap("", "20"))
		w.Stop() // the watch ends after the bookmark
		return w, nil
	}
	r := reflector.NewReflector(lw, nil, cache.NewStore(cache.MetaNamespaceKeyFunc), 0)
	r.ListAndWatchWithContext(ctx)
	fmt.Println(requests)
}

func configMap(name, version string) *corev1.ConfigMap {
	m := metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: version}
	return &corev1.ConfigMap{ObjectMeta: m}
}

// source cannot stream lists.
type source struct{ cache.ListWatch }

func (*source) IsWatchListSemanticsUnSupported() bool { return true }
