package deltafifo_test

// This file has the helpers of chapter 04's tests: short names for Deployments, the consumer's store, and a queue that
// notes each call. Tests use exported names only, so they run over your code, the solution and client-go.

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	deltafifo "client-go-workshop/04-deltafifo"
	"client-go-workshop/internal/testkit/guard"
)

// TestMain removes the handler that slows down client-go's error reports: it compares a bubble's clock with the real
// one, and sleeps for years.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}

// deploy makes a Deployment from "namespace/name@resourceVersion".
func deploy(text string) *appsv1.Deployment {
	d := &appsv1.Deployment{}
	key, version, _ := strings.Cut(text, "@")
	d.Namespace, d.Name, _ = strings.Cut(key, "/")
	d.ResourceVersion = version
	return d
}

// deploys makes a list of Deployments, as a Reflector passes it to Replace.
func deploys(texts ...string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = deploy(text)
	}
	return list
}

// tombstone makes a tombstone; last is the last known state of the object, "" for none.
func tombstone(key, last string) cache.DeletedFinalStateUnknown {
	if last == "" {
		return cache.DeletedFinalStateUnknown{Key: key}
	}
	return cache.DeletedFinalStateUnknown{Key: key, Obj: deploy(last)}
}

// transformed is a transformer: it makes a copy with one more mark. show prints a "'" for each mark.
func transformed(obj any) (any, error) {
	d := obj.(*appsv1.Deployment).DeepCopy()
	d.Labels = map[string]string{"marks": d.Labels["marks"] + "'"}
	return d, nil
}

// show returns the object of a delta as text: "@7", with a "'" for each time it was transformed, or "tombstone(@7)".
func show(obj any) string {
	switch o := obj.(type) {
	case nil:
		return "nothing"
	case *appsv1.Deployment:
		return "@" + o.ResourceVersion + o.Labels["marks"]
	case cache.DeletedFinalStateUnknown:
		return "tombstone(" + show(o.Obj) + ")"
	case cache.ReplacedAllInfo:
		var all []string
		for _, listed := range o.Objects {
			all = append(all, describe(listed))
		}
		return fmt.Sprintf("[%s] at %s", strings.Join(all, " "), o.ResourceVersion)
	case cache.SyncAllInfo:
		return "of the known objects"
	case cache.BookmarkInfo:
		return "at " + o.ResourceVersion
	default:
		return fmt.Sprintf("%T", obj)
	}
}

// showDeltas returns the deltas that Pop returned as text: "default/web: Added @1, Updated @2".
func showDeltas(popped any) string {
	deltas, ok := popped.(cache.Deltas)
	if !ok {
		return fmt.Sprintf("%T, not cache.Deltas", popped)
	}
	if len(deltas) == 0 {
		return "no deltas"
	}
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(deltas[0].Object)
	if key += ": "; err != nil {
		key = "" // not about one object: the bonus has such deltas
	}
	var all []string
	for _, d := range deltas {
		all = append(all, string(d.Type)+" "+show(d.Object))
	}
	return key + strings.Join(all, ", ")
}

// describe names an object in a step.
func describe(obj any) string {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return o.Namespace + "/" + o.Name + show(o)
	case cache.DeletedFinalStateUnknown:
		return "tombstone of " + o.Key + " (" + show(o.Obj) + ")"
	default:
		return fmt.Sprintf("%T(%v)", obj, obj)
	}
}

// store is the consumer's cache, which holds the known objects. ListKeys calls during, unless it is nil. The queue
// calls ListKeys with its lock held.
type store struct {
	mu     sync.Mutex
	objs   map[string]any
	broken map[string]error // the errors that lookups of these keys return
	ghosts []string         // keys that are listed and cannot be found
	during func()
	asked  int // keys that ListKeys has returned, and calls of GetByKey
}

func storeOf(texts ...string) *store {
	s := &store{objs: map[string]any{}, broken: map[string]error{}}
	for _, text := range texts {
		key, _, _ := strings.Cut(text, "@")
		s.objs[key] = deploy(text)
	}
	return s
}

func (s *store) ListKeys() []string {
	if s.during != nil {
		s.during()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked += len(s.objs)
	return append(slices.Clone(s.ghosts), slices.Sorted(maps.Keys(s.objs))...)
}

func (s *store) GetByKey(key string) (any, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if err := s.broken[key]; err != nil {
		return s.objs[key], s.objs[key] != nil, err // an object that comes with an error must not be used
	}
	if slices.Contains(s.ghosts, key) {
		return deploy(key + "@0"), false, nil // nor one that does not exist
	}
	obj, exists := s.objs[key]
	return obj, exists, nil
}

// String lists the known objects: "default/a@1, default/b@2".
func (s *store) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, key := range slices.Sorted(maps.Keys(s.objs)) {
		all = append(all, describe(s.objs[key]))
	}
	for _, key := range slices.Sorted(maps.Keys(s.broken)) {
		all = append(all, "lookup of "+key+" fails")
	}
	for _, key := range s.ghosts {
		all = append(all, key+" without an object")
	}
	return strings.Join(all, ", ")
}

// take applies popped deltas to the store, as an informer does.
func (s *store) take(popped any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	deltas, _ := popped.(cache.Deltas)
	for _, d := range deltas {
		key, _ := cache.DeletionHandlingMetaNamespaceKeyFunc(d.Object)
		if d.Type == cache.Deleted {
			delete(s.objs, key)
		} else {
			s.objs[key] = d.Object
		}
	}
}

// keys returns the keys of the known objects, sorted.
func (s *store) keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.objs))
}

var errLookup = errors.New("the store is on fire")

// recordedQueue notes each call as a step of the test.
type recordedQueue struct {
	cache.Queue
	t *guard.T
}

// options is short for the options of a DeltaFIFO.
type options = cache.DeltaFIFOOptions

// newQueue makes a queue that uses Replaced for listed objects, as informers ask for, and that logs nothing.
func newQueue(t *guard.T, opts options) recordedQueue {
	t.Helper()
	silent := klog.New(nil)
	opts.Logger = &silent
	opts.EmitDeltaTypeReplaced = true
	if known, ok := opts.KnownObjects.(*store); ok {
		t.Did("known objects: [%s]", known)
	}
	return recordedQueue{deltafifo.NewDeltaFIFOWithOptions(opts), t}
}

func (q recordedQueue) Add(obj any) error {
	q.t.Did("Add %s", describe(obj))
	return q.Queue.Add(obj)
}

func (q recordedQueue) Update(obj any) error {
	q.t.Did("Update %s", describe(obj))
	return q.Queue.Update(obj)
}

func (q recordedQueue) Delete(obj any) error {
	q.t.Did("Delete %s", describe(obj))
	return q.Queue.Delete(obj)
}

func (q recordedQueue) Replace(list []any, version string) error {
	var all []string
	for _, obj := range list {
		all = append(all, describe(obj))
	}
	q.t.Did("Replace with [%s]", strings.Join(all, " "))
	return q.Queue.Replace(list, version)
}

func (q recordedQueue) Resync() error {
	q.t.Did("Resync")
	return q.Queue.Resync()
}

func (q recordedQueue) Close() {
	q.t.Did("Close")
	q.Queue.Close()
}

// pop pops the next key and returns its deltas as text.
func (q recordedQueue) pop() string {
	q.t.Helper()
	popped, _ := q.popInitial()
	return popped
}

// popInitial is pop that also returns whether the key belongs to the first list.
func (q recordedQueue) popInitial() (popped string, isInInitialList bool) {
	q.t.Helper()
	q.t.Did("Pop")
	return q.popSilently()
}

// popWaiting is pop that waits for a key as long as it takes.
func (q recordedQueue) popWaiting() (popped string) {
	q.t.Helper()
	q.t.Did("Pop")
	_, err := q.Pop(func(obj any, _ bool) error { popped = showDeltas(obj); return nil })
	require.NoError(q.t, err, "the error of Pop")
	return popped
}

// popSilently is popInitial that is not noted as a step. If no key is pending, it says so, instead of waiting.
func (q recordedQueue) popSilently() (popped string, isInInitialList bool) {
	q.t.Helper()
	var err error
	returned, ended := false, make(chan struct{})
	q.t.Go(func() {
		defer close(ended)
		_, err = q.Pop(func(obj any, initial bool) error {
			popped, isInInitialList = showDeltas(obj), initial
			return nil
		})
		returned = true
	})
	synctest.Wait()
	pending := true
	select {
	case <-ended:
	default:
		pending = false
		_ = q.Queue.Add(deploy("the/end")) // ends the Pop that waits
		<-ended
	}
	require.True(q.t, pending, "something is pending when Pop is called")
	if !returned { // guard has seen why
		q.t.FailNow()
	}
	require.NoError(q.t, err, "the error of Pop")
	return popped, isInInitialList
}

// drain pops every key in the queue. To know where they end, it adds a key of its own first.
func (q recordedQueue) drain() []string {
	q.t.Helper()
	q.t.Did("Pop until the queue is empty")
	require.NoError(q.t, q.Queue.Add(deploy("the/end")), "the error of Add, of the key that marks the end")
	var all []string
	for {
		popped, _ := q.popSilently()
		if strings.HasPrefix(popped, "the/end:") {
			return all
		}
		all = append(all, popped)
	}
}

// pendingObjects pops until the queue is empty, and returns the objects of the deltas.
func (q recordedQueue) pendingObjects() []any {
	q.t.Helper()
	q.t.Did("Pop until the queue is empty")
	require.NoError(q.t, q.Queue.Add(deploy("the/end")), "the error of Add, of the key that marks the end")
	var all []any
	for {
		popped, err := q.Pop(func(any, bool) error { return nil })
		require.NoError(q.t, err, "the error of Pop")
		deltas, _ := popped.(cache.Deltas)
		for _, d := range deltas {
			if strings.HasPrefix(describe(d.Object), "the/end@") {
				return all
			}
			all = append(all, d.Object)
		}
	}
}
