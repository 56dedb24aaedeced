package layers

// This file gives access to the objects of any resource, for controllers of custom resources. Resource works with every
// type; Writer has the methods of client-go's typed clients for one type.

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// Resource reads and writes the objects of one resource.
type Resource interface {
	// ListerWatcher returns what a Reflector reads from. An empty namespace stands for all.
	ListerWatcher(namespace string) cache.ListerWatcher
	// Send sends a write and decodes the answer into an object. Without one, it ignores the answer.
	Send(ctx context.Context, write Write, answer runtime.Object) error
}

// Write is a request that writes.
type Write struct {
	// Verb is create, update, patch or delete. Patch is the type of a patch.
	Verb  string
	Patch types.PatchType
	// Name is empty for create.
	Namespace, Name string
	Subresources    []string
	// Body is an object, or the bytes of a patch. Options become the query; those of a deletion are its body.
	Body    any
	Options runtime.Object
}

// objects implements Resource on a REST client of any set.
type objects[C RESTClient[R], R Request[R, S], S Result] struct {
	rest      C
	resource  string
	codec     runtime.ParameterCodec
	listWatch func(c C, resource, namespace string) cache.ListerWatcher
}

func (o *objects[C, R, S]) ListerWatcher(namespace string) cache.ListerWatcher {
	return o.listWatch(o.rest, o.resource, namespace)
}

func (o *objects[C, R, S]) Send(ctx context.Context, write Write, answer runtime.Object) error {
	var request R
	switch write.Verb {
	case "create":
		request = o.rest.Post()
	case "update":
		request = o.rest.Put()
	case "patch":
		request = o.rest.Patch(write.Patch)
	default:
		request = o.rest.Delete()
	}
	request = request.Namespace(write.Namespace).Resource(o.resource)
	if write.Name != "" {
		request = request.Name(write.Name)
	}
	if len(write.Subresources) > 0 {
		request = request.SubResource(write.Subresources...)
	}
	if write.Options != nil {
		request = request.VersionedParams(write.Options, o.codec)
	}
	if write.Body != nil {
		request = request.Body(write.Body)
	}
	if answer == nil {
		return request.Do(ctx).Error()
	}
	return request.Do(ctx).Into(answer)
}

// Writer writes the objects of one type and namespace. Its methods are those of client-go's typed clients, so a
// generated client is a Writer, too.
type Writer[T runtime.Object] interface {
	Create(ctx context.Context, obj T, options metav1.CreateOptions) (T, error)
	Update(ctx context.Context, obj T, options metav1.UpdateOptions) (T, error)
	UpdateStatus(ctx context.Context, obj T, options metav1.UpdateOptions) (T, error)
	Patch(ctx context.Context, name string, patch types.PatchType, data []byte, options metav1.PatchOptions,
		subresources ...string) (T, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// WriterOf returns a Writer of the resource's objects in a namespace. NewObject returns an empty object.
func WriterOf[T runtime.Object](resource Resource, namespace string, newObject func() T) Writer[T] {
	return writer[T]{resource, namespace, newObject}
}

type writer[T runtime.Object] struct {
	resource  Resource
	namespace string
	newObject func() T
}

func (w writer[T]) Create(ctx context.Context, obj T, options metav1.CreateOptions) (T, error) {
	return w.send(ctx, Write{Verb: "create", Body: obj, Options: &options})
}

func (w writer[T]) Update(ctx context.Context, obj T, options metav1.UpdateOptions) (T, error) {
	return w.put(ctx, obj, options)
}

func (w writer[T]) UpdateStatus(ctx context.Context, obj T, options metav1.UpdateOptions) (T, error) {
	return w.put(ctx, obj, options, "status")
}

func (w writer[T]) put(ctx context.Context, obj T, options metav1.UpdateOptions, subresources ...string) (T, error) {
	about, err := meta.Accessor(obj)
	if err != nil {
		return w.newObject(), err
	}
	return w.send(ctx, Write{Verb: "update", Name: about.GetName(), Subresources: subresources, Body: obj,
		Options: &options})
}

func (w writer[T]) Patch(ctx context.Context, name string, patch types.PatchType, data []byte,
	options metav1.PatchOptions, subresources ...string) (T, error) {
	return w.send(ctx, Write{Verb: "patch", Patch: patch, Name: name, Subresources: subresources, Body: data,
		Options: &options})
}

func (w writer[T]) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	return w.resource.Send(ctx, Write{Verb: "delete", Namespace: w.namespace, Name: name, Body: &options}, nil)
}

func (w writer[T]) send(ctx context.Context, write Write) (T, error) {
	write.Namespace = w.namespace
	answer := w.newObject()
	return answer, w.resource.Send(ctx, write, answer)
}
