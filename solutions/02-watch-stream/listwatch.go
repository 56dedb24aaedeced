package watchstream

// This file is the other end of the chapter: what a Reflector takes is something that can list and watch one resource,
// and does not know of clients. It mirrors client-go's tools/cache/listwatch.go.

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// ListWatch lists and watches by two functions. It implements cache.ListerWatcher and cache.ListerWatcherWithContext.
// Mirrors cache.ListWatch.
type ListWatch struct {
	ListWithContextFunc  func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error)
	WatchFuncWithContext func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

var (
	_ cache.ListerWatcher            = (*ListWatch)(nil)
	_ cache.ListerWatcherWithContext = (*ListWatch)(nil)
)

// Getter is the part of a REST client that a ListWatch needs. The methods of client-go's client return its own types,
// and those of chapter 01 return theirs, so no plain interface fits both. Type parameters do, and the compiler infers
// them from the client: NewListWatchFromClient is called as in client-go.
type Getter[R any] interface{ Get() R }

// Request is the part of a request that a ListWatch needs.
type Request[R any, S Result] interface {
	Namespace(namespace string) R
	Resource(resource string) R
	VersionedParams(obj runtime.Object, codec runtime.ParameterCodec) R
	Do(ctx context.Context) S
	Watch(ctx context.Context) (watch.Interface, error)
}

// Result is the part of a result that a ListWatch needs.
type Result interface {
	Get() (runtime.Object, error)
}

// NewListWatchFromClient returns a ListWatch of the objects of a resource in a namespace, or in all if it is empty,
// that the field selector selects. Mirrors cache.NewListWatchFromClient.
//
//workshop:task 5
func NewListWatchFromClient[R Request[R, S], S Result](
	c Getter[R], resource, namespace string, fieldSelector fields.Selector,
) *ListWatch {
	return NewFilteredListWatchFromClient(c, resource, namespace, func(options *metav1.ListOptions) {
		options.FieldSelector = fieldSelector.String()
	})
}

// NewFilteredListWatchFromClient returns a ListWatch whose options, on each list and watch, are those that it is called
// with, changed by modify. A watch says Watch before that, whether or not the caller has. Options are query parameters,
// as metav1.ParameterCodec writes them. Mirrors cache.NewFilteredListWatchFromClient.
//
//workshop:task 5
func NewFilteredListWatchFromClient[R Request[R, S], S Result](
	c Getter[R], resource, namespace string, modify func(options *metav1.ListOptions),
) *ListWatch {
	request := func(options *metav1.ListOptions) R {
		modify(options)
		return c.Get().Namespace(namespace).Resource(resource).VersionedParams(options, metav1.ParameterCodec)
	}
	return &ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return request(&options).Do(ctx).Get()
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch = true
			return request(&options).Watch(ctx)
		},
	}
}

// ListWithContext calls ListWithContextFunc.
func (lw *ListWatch) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return lw.ListWithContextFunc(ctx, options)
}

// WatchWithContext calls WatchFuncWithContext.
func (lw *ListWatch) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return lw.WatchFuncWithContext(ctx, options)
}

// List is for callers that have no context.
func (lw *ListWatch) List(options metav1.ListOptions) (runtime.Object, error) {
	return lw.ListWithContext(context.Background(), options)
}

// Watch is for callers that have no context.
func (lw *ListWatch) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return lw.WatchWithContext(context.Background(), options)
}
