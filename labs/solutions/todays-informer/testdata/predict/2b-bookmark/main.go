// A controller has listed the Deployments at version 40, and its cache of them is at version 9.
//
// Question: Is the cache as new as the list after the bookmark?
//
// Wrong: bookmark-is-dropped
//
// Story: Only other resources changed between the versions 9 and 40, so no event moves the version of the cache. The
// server sends bookmarks for this case. Without them, a controller that waits until its cache is as new as the list waits
// for the next change of a Deployment.
package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	todaysinformer "client-go-workshop/labs/solutions/todays-informer"
)

func main() {
	store := cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc)
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", ResourceVersion: "9"}}
	_ = store.Replace([]any{web}, "9")
	handler := cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, _ any) { fmt.Println("the handler is called") },
	}

	bookmark := cache.Deltas{{Type: cache.Bookmark, Object: cache.BookmarkInfo{ResourceVersion: "41"}}}
	_ = todaysinformer.ProcessDeltas(handler, store, bookmark, false)
	fmt.Println("version of the cache:", store.LastStoreSyncResourceVersion())
	fmt.Println("objects in the cache:", len(store.List()))
}
