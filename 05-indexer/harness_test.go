package indexer_test

// This file has the helpers of chapter 05's tests: Deployments in one line, a store that notes each call, and a reader
// in the middle of a write. Tests see exported names only, so they run over your code, the solution and client-go.

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	indexer "client-go-workshop/05-indexer"
	"client-go-workshop/internal/testkit/guard"
)

// deploy makes a Deployment from "namespace/name" and the images of its containers. An image that starts with "@" is
// its resourceVersion instead: deploy("default/web", "nginx", "@7").
func deploy(key string, images ...string) *appsv1.Deployment {
	d := &appsv1.Deployment{}
	d.Namespace, d.Name, _ = strings.Cut(key, "/")
	for _, image := range images {
		if version, ok := strings.CutPrefix(image, "@"); ok {
			d.ResourceVersion = version
			continue
		}
		d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Image: image})
	}
	return d
}

// images is the index function of most tests: which Deployments run this image? A Deployment has one value for each of
// its containers: none, one or several, and the same one twice if two containers run it.
func images(obj any) ([]string, error) {
	d, ok := obj.(*appsv1.Deployment)
	if !ok {
		return nil, fmt.Errorf("a %T runs no images", obj)
	}
	var values []string
	for _, c := range d.Spec.Template.Spec.Containers {
		values = append(values, c.Image)
	}
	return values, nil
}

// byImage returns the indexers that most tests start with.
func byImage() cache.Indexers { return cache.Indexers{"image": images} }

// notedStore is a cache.Indexer that notes each call as a step of the test.
type notedStore struct {
	cache.Indexer
	t *guard.T
}

// newStore makes an indexer keyed the way client-go keys its own, deletions included.
func newStore(t *guard.T, indexers cache.Indexers, objs ...any) notedStore {
	t.Helper()
	if indexers == nil {
		indexers = cache.Indexers{} // client-go keeps the map it is given, and writes to it
	}
	s := notedStore{indexer.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc, indexers), t}
	for _, obj := range objs {
		s.Add(obj)
	}
	return s
}

func (s notedStore) Add(obj any) error {
	s.t.Did("Add %s", describe(obj))
	return s.Indexer.Add(obj)
}

func (s notedStore) Update(obj any) error {
	s.t.Did("Update %s", describe(obj))
	return s.Indexer.Update(obj)
}

func (s notedStore) Delete(obj any) error {
	s.t.Did("Delete %s", describe(obj))
	return s.Indexer.Delete(obj)
}

func (s notedStore) Replace(list []any, version string) error {
	s.t.Did("Replace with %s at version %q", describe(list...), version)
	return s.Indexer.Replace(list, version)
}

func (s notedStore) AddIndexers(more cache.Indexers) error {
	s.t.Did("AddIndexers %v", sortedKeys(more))
	return s.Indexer.AddIndexers(more)
}

// requireRunning asserts that ByIndex finds the objects with these keys, and no others, under this image.
func (s notedStore) requireRunning(image string, keys ...string) {
	s.t.Helper()
	s.t.Did("ByIndex image=%s", image)
	objs, err := s.Indexer.ByIndex("image", image)
	require.NoError(s.t, err, "the error of ByIndex image="+image)
	require.Equal(s.t, append([]string{}, keys...), keysOf(objs), "keys under image="+image)
}

// requireValues asserts that some object runs each of these images, given in order, and none runs another.
func (s notedStore) requireValues(when string, images ...string) {
	s.t.Helper()
	found := append([]string{}, sorted(s.Indexer.ListIndexFuncValues("image"))...)
	require.Equal(s.t, append([]string{}, images...), found, "values of the index "+when)
}

// like returns the keys, sorted, of the objects that share an image with example.
func (s notedStore) like(example any) []string {
	s.t.Helper()
	s.t.Did("Index image, like %s", describe(example))
	objs, err := s.Indexer.Index("image", example)
	require.NoError(s.t, err, "the error of Index image, like "+describe(example))
	return keysOf(objs)
}

// requireLike asserts that Index finds the objects with these keys, and no others, for example.
func (s notedStore) requireLike(example any, keys ...string) {
	s.t.Helper()
	require.Equal(s.t, append([]string{}, keys...), s.like(example), "keys of Index image, like "+describe(example))
}

// keysOf returns the keys of objects, sorted, because a store has no order. A nil object stays visible, as "<nil>".
func keysOf(objs []any) []string {
	keys := []string{}
	for _, obj := range objs {
		key, err := cache.MetaNamespaceKeyFunc(obj)
		if err != nil {
			key = fmt.Sprintf("%v", obj)
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func describe(objs ...any) string {
	var all []string
	for _, obj := range objs {
		switch o := obj.(type) {
		case *appsv1.Deployment:
			values, _ := images(o)
			text := o.Name
			if o.Namespace != "" {
				text = o.Namespace + "/" + o.Name
			}
			if len(values) > 0 {
				text += " running " + strings.Join(values, " and ")
			}
			if o.ResourceVersion != "" {
				text += " @" + o.ResourceVersion
			}
			all = append(all, text)
		case *metav1.ObjectMeta:
			all = append(all, fmt.Sprintf("ObjectMeta{Namespace: %q}", o.Namespace))
		case cache.DeletedFinalStateUnknown:
			all = append(all, "tombstone of "+o.Key)
		default:
			all = append(all, fmt.Sprintf("%T(%v)", obj, obj))
		}
	}
	return strings.Join(all, ", ")
}

func sortedKeys[V any](m map[string]V) []string {
	keys := []string{}
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func sorted(in []string) []string {
	return slices.Sorted(slices.Values(in))
}

// midway is an index function that starts a reader in the middle of each write: the store calls it while it moves an
// object, so the map and the indexes are half done. A reader either has to wait for the writer, or finds the state
// before the write; saw holds the answers of the readers that did not wait. It uses one processor: then the turns that
// the writer gives up go to the reader, however busy the machine is.
type midway struct {
	read func() string // nil while there is no reader
	saw  []string
	late sync.WaitGroup // the readers that had to wait
}

func (m *midway) index(obj any) ([]string, error) {
	if d := obj.(*appsv1.Deployment); m.read == nil || d.Namespace == "example" {
		return images(obj)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	read, answer := m.read, make(chan string, 1)
	m.late.Go(func() { answer <- read() })
	for range 1_000 { // far more turns than an answer needs without a lock in its way
		select {
		case saw := <-answer:
			m.saw = append(m.saw, saw)
			return images(obj)
		default:
			runtime.Gosched()
		}
	}
	return images(obj)
}
