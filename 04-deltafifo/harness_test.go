package deltafifo_test

// This file is what the tests of chapter 04 are written with: Deployments in one word, a store that stands for what the
// consumer knows, and a queue that tells what was done to it. Tests see exported names only, so they run over your code,
// the solution and client-go.

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	deltafifo "client-go-workshop/04-deltafifo"
	"client-go-workshop/internal/testkit/guard"
)

// TestMain takes out the handler by which client-go slows itself down when it reports errors: it compares the clock of a
// bubble with that of the world, and sleeps for years.
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

// tombstone is what stands for an object that vanished unseen; last is what is known of it, "" for nothing.
func tombstone(key, last string) cache.DeletedFinalStateUnknown {
	if last == "" {
		return cache.DeletedFinalStateUnknown{Key: key}
	}
	return cache.DeletedFinalStateUnknown{Key: key, Obj: deploy(last)}
}

// transformed is a transformer: it makes a copy that carries one mark more. show puts a "'" for each mark.
func transformed(obj any) (any, error) {
	d := obj.(*appsv1.Deployment).DeepCopy()
	d.Labels = map[string]string{"marks": d.Labels["marks"] + "'"}
	return d, nil
}

// show says what a delta carries: "@7", with a "'" for each time it was transformed, or "tombstone(@7)".
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
		return "of what you know"
	case cache.BookmarkInfo:
		return "at " + o.ResourceVersion
	default:
		return fmt.Sprintf("%T", obj)
	}
}

// showDeltas says what Pop handed out: "default/web: Added @1, Updated @2".
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

// store stands for the cache behind the queue: what the consumer knows. during, if it is there, is called in the middle
// of every lookup of keys, which the queue makes under its lock.
type store struct {
	mu     sync.Mutex
	objs   map[string]any
	broken map[string]error // what lookups of these keys end with
	ghosts []string         // keys that are listed and cannot be found
	during func()
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
	return append(slices.Sorted(maps.Keys(s.objs)), s.ghosts...)
}

func (s *store) GetByKey(key string) (any, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.broken[key]; err != nil {
		return s.objs[key], false, err // what comes with an error is not to be used
	}
	obj, exists := s.objs[key]
	return obj, exists, nil
}

// take does with deltas what an informer does: it brings the store to the newest state.
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

// keys lists what the consumer knows, sorted.
func (s *store) keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.objs))
}

var errLookup = errors.New("the store is on fire")

// told is a queue that notes each call, so that a failing test can tell how it got there.
type told struct {
	cache.Queue
	t *guard.T
}

// options are those of an informer, but for what a test says otherwise.
type options = cache.DeltaFIFOOptions

// newQueue makes a queue that says Replaced of what is listed, as informers ask for, and keeps its log to itself.
func newQueue(t *guard.T, opts options) told {
	t.Helper()
	silent := klog.New(nil)
	opts.Logger = &silent
	opts.EmitDeltaTypeReplaced = true
	return told{deltafifo.NewDeltaFIFOWithOptions(opts), t}
}

func (q told) Add(obj any) error {
	q.t.Did("Add %s", describe(obj))
	return q.Queue.Add(obj)
}

func (q told) Update(obj any) error {
	q.t.Did("Update %s", describe(obj))
	return q.Queue.Update(obj)
}

func (q told) Delete(obj any) error {
	q.t.Did("Delete %s", describe(obj))
	return q.Queue.Delete(obj)
}

func (q told) Replace(list []any, version string) error {
	var all []string
	for _, obj := range list {
		all = append(all, describe(obj))
	}
	q.t.Did("Replace with [%s]", strings.Join(all, " "))
	return q.Queue.Replace(list, version)
}

func (q told) Resync() error {
	q.t.Did("Resync")
	return q.Queue.Resync()
}

func (q told) Close() {
	q.t.Did("Close")
	q.Queue.Close()
}

// pop takes the next key and says what there was of it.
func (q told) pop() string {
	q.t.Helper()
	popped, _ := q.popInitial()
	return popped
}

// popInitial also says whether it was part of the first list.
func (q told) popInitial() (popped string, isInInitialList bool) {
	q.t.Helper()
	q.t.Did("Pop")
	_, err := q.Pop(func(obj any, initial bool) error {
		popped, isInInitialList = showDeltas(obj), initial
		return nil
	})
	require.NoError(q.t, err, "the queue is open, and the process function returned no error")
	return popped, isInInitialList
}

// drain takes out all that is in the queue. To know where that ends, it adds a key of its own first.
func (q told) drain() []string {
	q.t.Helper()
	require.NoError(q.t, q.Queue.Add(deploy("the/end")), "an object with a name")
	var all []string
	for {
		popped := q.pop()
		if strings.HasPrefix(popped, "the/end:") {
			return all
		}
		all = append(all, popped)
	}
}

// meanwhile lets call run on a goroutine of its own for far more turns than it takes when nothing is in its way, and
// says whether it has ended. It is for the places where the queue holds its lock and calls the test. With one processor
// a turn that is given up goes to the other goroutine, and not, however busy the machine is, to nobody.
func meanwhile(t *guard.T, call func()) (ended bool) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	done := make(chan struct{})
	t.Go(func() {
		defer close(done)
		call()
	})
	for range 1_000 {
		select {
		case <-done:
			return true
		default:
			runtime.Gosched()
		}
	}
	return false
}
