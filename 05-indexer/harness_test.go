package indexer_test

// This file has the helpers of chapter 05's tests: Deployments in one line, and a store that notes each call. Tests see
// exported names only, so they run over your code, the solution and client-go.

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unsafe"
	"weak"

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

// images is the index function of most tests. A Deployment has one value for each of its containers: none, one or
// several, and the same one twice if two containers run it.
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

// onlyAccessor is an object whose metadata only meta.Accessor finds.
type onlyAccessor struct{ object metav1.Object }

func (o onlyAccessor) GetObjectMeta() metav1.Object { return o.object }

// onlyObject is an object whose metadata is the object itself. It has no method GetObjectMeta.
type onlyObject struct{ metav1.Object }

// withoutMetadata returns objects that meta.Accessor does not accept.
func withoutMetadata() []any {
	tombstone := cache.DeletedFinalStateUnknown{Key: "default/web", Obj: deploy("default/web", "@3")}
	return []any{"web", nil, tombstone, &tombstone, cache.NewObjectName("default", "web"), &appsv1.DeploymentList{}}
}

func newThreadSafe(indexers cache.Indexers) cache.ThreadSafeStore {
	return indexer.NewThreadSafeStore(indexers, cache.Indices{})
}

// notedStore is a cache.Indexer that notes each call as a step of the test.
type notedStore struct {
	cache.Indexer
	t *guard.T
}

// newStore returns an indexer with the key function of client-go's informers, which accepts tombstones.
func newStore(t *guard.T, indexers cache.Indexers, objs ...any) notedStore {
	t.Helper()
	if indexers == nil {
		indexers = cache.Indexers{} // client-go keeps this map and writes to it
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

// requireRunning asserts that ByIndex and IndexKeys find these keys, given in order, and no others, under this image.
func (s notedStore) requireRunning(image string, keys ...string) {
	s.t.Helper()
	s.t.Did("ByIndex image=%s", image)
	objs, err := s.Indexer.ByIndex("image", image)
	require.NoError(s.t, err, "the error of ByIndex image="+image)
	require.Equal(s.t, append([]string{}, keys...), keysOf(objs), "keys under image="+image)
	found, err := s.Indexer.IndexKeys("image", image)
	require.NoError(s.t, err, "the error of IndexKeys image="+image)
	require.Equal(s.t, append([]string{}, keys...), append([]string{}, found...), "IndexKeys image="+image)
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

// requireOwned asserts that no other caller of find sees a value that is appended to a result of it.
func requireOwned[V any](t *guard.T, name string, find func() []V) {
	t.Helper()
	mine, theirs := any("mine").(V), any("theirs").(V)
	t.Did("%s, twice, and append a value to each result", name)
	first, second := append(find(), mine), append(find(), theirs)
	require.Equal(t, []V{mine}, first, name+", with mine appended")
	require.Equal(t, []V{theirs}, second, name+", with theirs appended")
}

// keysOf returns the keys of objects, sorted, because a store has no order. A nil object is "<nil>".
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
		case *cache.DeletedFinalStateUnknown:
			all = append(all, "pointer to a tombstone of "+o.Key)
		case *appsv1.DeploymentList:
			all = append(all, "a DeploymentList")
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

// text returns a copy of s in memory of its own, and a weak pointer to that memory.
func text(s string) (string, weak.Pointer[byte]) {
	b := append(make([]byte, 0, 64), s...) // smaller ones would share their memory with others
	return unsafe.String(&b[0], len(b)), weak.Make(&b[0])
}

// both returns an answer, which has objects or strings, and its error as one text.
func both[V any](found []V, err error) string {
	var all []string
	for _, v := range found {
		if text, ok := any(v).(string); ok {
			all = append(all, text)
		} else {
			all = append(all, describe(v))
		}
	}
	text := strings.Join(sorted(all), ", ") // most answers have no order
	switch {
	case err != nil:
		return fmt.Sprintf("%s with the error %v", text, err)
	case text == "":
		return "nothing"
	}
	return text
}

func versions(objs []any) (all string) {
	for _, obj := range objs {
		d, there := obj.(*appsv1.Deployment)
		if !there { // an index names a key that is not in the store
			all += fmt.Sprintf("@%v", obj)
			continue
		}
		all += "@" + d.ResourceVersion
	}
	return all
}

// stillHeld collects garbage and returns how many of the pointers still have their target.
func stillHeld[V any](all []weak.Pointer[V]) string {
	held := 0
	for range 3 {
		runtime.GC()
		held = 0
		for _, p := range all {
			if p.Value() != nil {
				held++
			}
		}
	}
	if held <= 2 { // a register or a stack may hold one for a while
		held = 0
	}
	return fmt.Sprintf("%d of %d still in memory", held, len(all))
}

// panicked calls f and reports whether it panicked.
func panicked(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

// elsewhere runs f on a goroutine that ends, so that no stack holds the objects that f made.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}
