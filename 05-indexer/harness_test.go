package indexer_test

// This file is what the tests of chapter 05 are written with: Deployments in one line, a store that tells what was done
// to it, and a storm of goroutines. Tests see exported names only, so they run over your code, the solution and client-go.

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

// deploy makes a Deployment from "namespace/name" and the images of its containers. What starts with "@" is its
// resourceVersion: deploy("default/web", "nginx", "@7").
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

// images is the index function of most tests: which Deployments run this image? A Deployment has as many values as it
// has containers, so often one, sometimes several, and the same one twice if two containers run it.
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

// byImage is the indexers most tests start with.
func byImage() cache.Indexers { return cache.Indexers{"image": images} }

// told is a cache.Indexer that notes each call, so that a failing test can tell how it got there.
type told struct {
	cache.Indexer
	t *guard.T
}

// newStore makes an indexer keyed the way client-go keys its own, deletions included.
func newStore(t *guard.T, indexers cache.Indexers, objs ...any) told {
	t.Helper()
	if indexers == nil {
		indexers = cache.Indexers{} // client-go keeps the map it is given, and writes to it
	}
	s := told{indexer.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc, indexers), t}
	for _, obj := range objs {
		s.Add(obj)
	}
	return s
}

func (s told) Add(obj any) error {
	s.t.Did("Add %s", describe(obj))
	return s.Indexer.Add(obj)
}

func (s told) Update(obj any) error {
	s.t.Did("Update %s", describe(obj))
	return s.Indexer.Update(obj)
}

func (s told) Delete(obj any) error {
	s.t.Did("Delete %s", describe(obj))
	return s.Indexer.Delete(obj)
}

func (s told) Replace(list []any, version string) error {
	s.t.Did("Replace with %s at version %q", describe(list...), version)
	return s.Indexer.Replace(list, version)
}

func (s told) AddIndexers(more cache.Indexers) error {
	s.t.Did("AddIndexers %v", sortedKeys(more))
	return s.Indexer.AddIndexers(more)
}

// running asks the index "image", and returns the keys of what it finds, sorted.
func (s told) running(image string) []string {
	s.t.Helper()
	s.t.Did("ByIndex image=%s", image)
	objs, err := s.Indexer.ByIndex("image", image)
	require.NoError(s.t, err, "the store was made with this index")
	return keysOf(objs)
}

// like asks which objects share an image with example.
func (s told) like(example any) []string {
	s.t.Helper()
	s.t.Did("Index image, like %s", describe(example))
	objs, err := s.Indexer.Index("image", example)
	require.NoError(s.t, err, "the store was made with this index")
	return keysOf(objs)
}

// keysOf names objects by their keys, sorted, because a store has no order. A nil among them stays visible.
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

// midway is an index function that lets a reader loose in the middle of each write: the store calls it while it moves
// an object, so the map and the indexes are half done. A reader either has to wait for the writer, or finds everything
// as it was before; what the ones that did not wait have found is in saw. It does so on one processor: then a turn that
// is given up goes to the reader, and not, however busy the machine is, to nobody.
type midway struct {
	read func() string // nil as long as nobody is to read
	saw  []string
	late sync.WaitGroup // those that had to wait
}

func (m *midway) index(obj any) ([]string, error) {
	if d := obj.(*appsv1.Deployment); m.read == nil || d.Namespace == "example" {
		return images(obj)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	read, answer := m.read, make(chan string, 1)
	m.late.Go(func() { answer <- read() })
	for range 1_000 { // far more turns than an answer takes, when nothing is in its way
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
