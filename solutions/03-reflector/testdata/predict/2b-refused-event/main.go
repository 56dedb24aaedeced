// A store refuses an event, and then the watch ends.
//
// Question: At which version does the second watch start?
//
// Wrong: refused-event-keeps-the-version-back
//
// Story: A store refuses an object for which it cannot compute a key, and it will refuse it again. If the version does
// not move, every later watch starts before that object and brings it again, with all events after it. After some
// minutes the server has forgotten the version, and answers 410. So one bad object causes a list of all objects every
// few minutes.
package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/solutions/03-reflector"
)

func main() {
	utilruntime.ErrorHandlers = nil // no log
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
		w.Add(configMap("a", "8"))
		w.Stop() // the watch ends after this event
		return w, nil
	}
	r := reflector.NewReflector(lw, nil, refusing{cache.NewStore(cache.MetaNamespaceKeyFunc)}, 0)
	r.ListAndWatchWithContext(ctx)
	fmt.Println(requests)
}

type refusing struct{ cache.Store }

func (refusing) Add(any) error { return errors.New("no key") }

func configMap(name, version string) *corev1.ConfigMap {
	m := metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: version}
	return &corev1.ConfigMap{ObjectMeta: m}
}

// source cannot stream lists.
type source struct{ cache.ListWatch }

func (*source) IsWatchListSemanticsUnSupported() bool { return true }
