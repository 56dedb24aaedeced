package main

// This file watches any resource of a cluster with client-go's own informer, through its public options only: the
// transport, the ListerWatcher, metrics, a transform, the handler of errors, handlers and the Indexer. So the queue of
// deltas has a depth, but no keys.
//
// It asks for metadata only. So no data of an object, such as that of a Secret, reaches this program.

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
)

// observe starts an informer of a resource and shows it.
func (s *session) observe(ctx context.Context, config *rest.Config, resource string) error {
	rec := newRecorder()
	s.title = fmt.Sprintf("client-go's informer of %s on %s", resource, config.Host)
	s.show(rec)
	found, kind, err := resolve(config, resource)
	if err != nil {
		return err
	}
	rec.KindIn = func(string) string { return kind }
	recorded := rest.CopyConfig(config)
	recorded.Wrap(rec.Transport)
	client, err := metadata.NewForConfig(recorded)
	if err != nil {
		return fmt.Errorf("make a client for %s: %w", config.Host, err)
	}
	objects := client.Resource(found)
	lw := rec.ListerWatcher(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return objects.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return objects.Watch(ctx, options)
		},
	}, kind)
	name, err := cache.NewInformerName("workshop show " + resource) // client-go measures informers with names only
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, name.Release)
	informer := rec.Informer(cache.NewSharedIndexInformerWithOptions(lw, &metav1.PartialObjectMetadata{},
		cache.SharedIndexInformerOptions{
			Indexers:                cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
			Identifier:              name.WithResource(found),
			InformerMetricsProvider: rec.Metrics(func(string) string { return kind }),
		}), kind)
	_, joined := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
	if err := errors.Join(joined, rec.Observe(informer, kind), informer.SetTransform(withoutManagers)); err != nil {
		return fmt.Errorf("prepare the informer of %s: %w", resource, err)
	}
	go informer.RunWithContext(ctx)
	return nil
}

// withoutManagers removes the largest part of metadata, which nobody reads here.
func withoutManagers(obj any) (any, error) {
	if object, err := meta.Accessor(obj); err == nil {
		object.SetManagedFields(nil)
	}
	return obj, nil
}

// resolve finds a resource and its kind by a name, such as "pods" or "deployments.apps".
func resolve(config *rest.Config, resource string) (found schema.GroupVersionResource, kind string, err error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return found, "", fmt.Errorf("make a client for %s: %w", config.Host, err)
	}
	groups, err := restmapper.GetAPIGroupResources(client)
	if err != nil {
		return found, "", fmt.Errorf("ask %s for its resources: %w", config.Host, err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	of := schema.GroupVersionKind{}
	if found, err = mapper.ResourceFor(schema.ParseGroupResource(resource).WithVersion("")); err == nil {
		of, err = mapper.KindFor(found)
	}
	if err != nil {
		return found, "", fmt.Errorf("--resource %s: %w", resource, err)
	}
	return found, of.Kind, nil
}
