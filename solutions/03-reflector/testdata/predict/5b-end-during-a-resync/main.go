// The context ends in the middle of a resync.
//
// Question: In which order do the three lines come?
//
// Wrong: resync-is-left-running
//
// Story: The caller of `ListAndWatchWithContext` takes its return as a promise: the Reflector does not touch the store
// any more. It closes the queue behind the store, or starts the next call. If a resync is still running then, a closed
// queue receives objects, or two resyncs run at once. It happens only if the end comes during a resync, so it is rare
// and hard to find.
package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/solutions/03-reflector"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	lw := &source{}
	lw.ListWithContextFunc = func(context.Context, metav1.ListOptions) (runtime.Object, error) {
		return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}, nil
	}
	lw.WatchFuncWithContext = func(context.Context, metav1.ListOptions) (watch.Interface, error) {
		return watch.NewFake(), nil // brings nothing, and does not end
	}
	store := slow{cache.NewStore(cache.MetaNamespaceKeyFunc), stop}
	r := reflector.NewReflector(lw, nil, store, 10*time.Millisecond)
	r.ListAndWatchWithContext(ctx)
	fmt.Println("ListAndWatchWithContext has returned")
	time.Sleep(400 * time.Millisecond)
}

type slow struct {
	cache.Store
	stop func()
}

func (s slow) Resync() error {
	fmt.Println("the resync starts")
	s.stop()
	time.Sleep(200 * time.Millisecond)
	fmt.Println("the resync ends")
	return nil
}

// source cannot stream lists.
type source struct{ cache.ListWatch }

func (*source) IsWatchListSemanticsUnSupported() bool { return true }
