// A store fails each resync. The context ends after half a second.
//
// Question: Why does the call return: because of the resync, or because of the context?
//
// Wrong: resync-error-is-ignored
//
// Story: A store that cannot go over its own objects has lost track of them. Only a list can repair it. If the
// Reflector ignores the error, the watch goes on, the store stays broken, and no log mentions it. With the error, the
// Reflector lists within seconds.
package main

import (
	"context"
	"errors"
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
	ctx, stop := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer stop()
	lw := &source{}
	lw.ListWithContextFunc = func(context.Context, metav1.ListOptions) (runtime.Object, error) {
		return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}, nil
	}
	lw.WatchFuncWithContext = func(context.Context, metav1.ListOptions) (watch.Interface, error) {
		return watch.NewFake(), nil // brings nothing, and does not end
	}
	store := confused{cache.NewStore(cache.MetaNamespaceKeyFunc)}
	r := reflector.NewReflector(lw, nil, store, 10*time.Millisecond)
	err := r.ListAndWatchWithContext(ctx)
	fmt.Println("error of the call:", err)
	fmt.Println("error of the context:", ctx.Err())
}

type confused struct{ cache.Store }

func (confused) Resync() error { return errors.New("the store is confused") }

// source cannot stream lists.
type source struct{ cache.ListWatch }

func (*source) IsWatchListSemanticsUnSupported() bool { return true }
