package todaysinformer_test

// This file has the helpers of the lab's tests: short names for Deployments, and a consumer, whose store and handler
// note each call. informer_test.go has the helpers for a whole informer. Tests use exported names only, so they run
// over your code, the solution and client-go.

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/layers/clientgo"
	"client-go-workshop/internal/testkit/layers/solutions"
	todaysinformer "client-go-workshop/labs/todays-informer"
	controller "client-go-workshop/solutions/07-controller"
)

var (
	on = flag.String("on", "solutions", "the layers below: solutions, client-go, or with -tags yours also yours; "+
		"LAYER=SET after a comma is for one of them")
	// sets are the layers that can be chosen.
	sets  = map[string]layers.Layers{"solutions": solutions.Layers, "client-go": clientgo.Layers}
	below layers.Layers
	// newChapter07 makes the informer that the lab's queue and consumer come under.
	newChapter07 layers.NewInformer = controller.NewSharedIndexInformerOn
)

// TestMain drops utilruntime's handlers of errors: one of them sleeps so that logs do not fill, and it measures that
// sleep from a moment outside the bubble.
func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if below, err = layers.Choose(*on, sets); err != nil {
		fmt.Fprintf(os.Stderr, "-on: %v\n", err)
		os.Exit(2)
	}
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}

// deploy makes a Deployment from "name@resourceVersion", or "namespace/name@resourceVersion".
func deploy(text string) *appsv1.Deployment {
	d := &appsv1.Deployment{}
	key, version, _ := strings.Cut(text, "@")
	namespace, name, qualified := strings.Cut(key, "/")
	if !qualified {
		namespace, name = "default", key
	}
	d.Namespace, d.Name, d.ResourceVersion = namespace, name, version
	return d
}

func deploys(texts ...string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = deploy(text)
	}
	return list
}

// listed is a list at a version.
func listed(version string, texts ...string) cache.ReplacedAllInfo {
	return cache.ReplacedAllInfo{ResourceVersion: version, Objects: deploys(texts...)}
}

// name returns an object as text: its name and version, with its namespace unless that is default.
func name(obj any) string {
	about, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Sprintf("%T", obj)
	}
	text := about.GetName() + "@" + about.GetResourceVersion()
	if about.GetNamespace() != "default" {
		text = about.GetNamespace() + "/" + text
	}
	return text
}

// show returns a delta as text: "Added a@1".
func show(d cache.Delta) string {
	switch obj := d.Object.(type) {
	case cache.ReplacedAllInfo:
		names := []string{}
		for _, listed := range obj.Objects {
			names = append(names, name(listed))
		}
		return fmt.Sprintf("%s %v at %s", d.Type, names, obj.ResourceVersion)
	case cache.SyncAllInfo:
		return string(d.Type)
	case cache.BookmarkInfo:
		return fmt.Sprintf("%s at %s", d.Type, obj.ResourceVersion)
	case cache.DeletedFinalStateUnknown:
		return fmt.Sprintf("%s tombstone of %s", d.Type, obj.Key)
	default:
		return fmt.Sprintf("%s %s", d.Type, name(obj))
	}
}

// calls notes each call of a handler. It implements cache.ResourceEventHandler.
type calls struct {
	lock  sync.Mutex
	notes []string
	// objects are those of the calls: of an update the old and the new one.
	objects []any
	// during is called in each call.
	during func()
}

func (c *calls) note(objects []any, format string, args ...any) {
	c.lock.Lock()
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
	c.objects = append(c.objects, objects...)
	c.lock.Unlock()
	if c.during != nil {
		c.during()
	}
}

func (c *calls) OnAdd(obj any, inInitialList bool) {
	if inInitialList {
		c.note([]any{obj}, "first %s", name(obj))
	} else {
		c.note([]any{obj}, "add %s", name(obj))
	}
}

func (c *calls) OnUpdate(old, new any) {
	if name(old) == name(new) {
		c.note([]any{old, new}, "again %s", name(new))
	} else {
		c.note([]any{old, new}, "update %s to %s", name(old), name(new))
	}
}

func (c *calls) OnDelete(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		c.note([]any{obj}, "tombstone of %s, last %s", tombstone.Key, name(tombstone.Obj))
	} else {
		c.note([]any{obj}, "delete %s", name(obj))
	}
}

// store is client-go's Indexer without transactions. It notes its content after each write, and refuses what the test
// asks it to refuse.
type store struct {
	cache.Indexer
	states []string
	// versions are those of the store after each write.
	versions []string
	// before has the version and the content before each write.
	before []string
	// refused are names of methods, or "METHOD NAME" for one object. "Transaction NAME" is any write of a transaction. See
	// refuses.
	refused []string
	// during is called in each write and in each Bookmark.
	during func()
}

var errRefused = errors.New("the store is on fire")

// storeOf makes a store with these Deployments.
func storeOf(t *guard.T, texts ...string) *store {
	s := &store{Indexer: cache.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc, cache.Indexers{})}
	require.NoError(t, s.Indexer.Replace(deploys(texts...), "1"), "the error of Replace of client-go's store")
	return s
}

// kindsOfStore wrap a store: a consumer has to work with both kinds.
var kindsOfStore = map[string]func(s *store) cache.Store{
	"with transactions":    func(s *store) cache.Store { return transactions{s} },
	"without transactions": func(s *store) cache.Store { return s },
}

// content returns the store's objects: "a@1 b@2".
func (s *store) content() string {
	names := []string{}
	for _, obj := range s.Indexer.List() {
		names = append(names, name(obj))
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// refuses reports whether the store refuses a method for one object, or for all if what is empty. Add and Update are
// the same write, so either name stands for both: a consumer may call the one or the other.
func (s *store) refuses(method, what string) bool {
	methods := []string{method}
	if method == "Add" || method == "Update" {
		methods = []string{"Add", "Update"}
	}
	return slices.ContainsFunc(methods, func(m string) bool {
		return slices.Contains(s.refused, strings.TrimSpace(m+" "+what))
	})
}

// write calls a method of the store, unless the store refuses it, and notes the content.
func (s *store) write(method string, obj any, do func() error) error {
	if s.refuses(method, "") || s.refuses(method, name(obj)) {
		return fmt.Errorf("%w: refused %s %s", errRefused, method, name(obj))
	}
	s.before = append(s.before, s.LastStoreSyncResourceVersion()+": "+s.content())
	s.notify()
	err := do()
	s.states, s.versions = append(s.states, s.content()), append(s.versions, s.LastStoreSyncResourceVersion())
	return err
}

func (s *store) notify() {
	if s.during != nil {
		s.during()
	}
}

func (s *store) Bookmark(version string) {
	s.notify()
	s.Indexer.Bookmark(version)
}

func (s *store) Add(obj any) error {
	return s.write("Add", obj, func() error { return s.Indexer.Add(obj) })
}

func (s *store) Update(obj any) error {
	return s.write("Update", obj, func() error { return s.Indexer.Update(obj) })
}

func (s *store) Delete(obj any) error {
	return s.write("Delete", obj, func() error { return s.Indexer.Delete(obj) })
}

func (s *store) Replace(list []any, version string) error {
	return s.write("Replace", nil, func() error { return s.Indexer.Replace(list, version) })
}

// transactions is a store with transactions. It leaves out of a transaction what it refuses.
type transactions struct{ *store }

func (s transactions) Transaction(writes ...cache.Transaction) *cache.TransactionError {
	failed := &cache.TransactionError{TotalTransactions: len(writes)}
	accepted := []cache.Transaction{}
	for i, w := range writes {
		_, err := cache.DeletionHandlingMetaNamespaceKeyFunc(w.Object)
		if s.refuses(string(w.Type), name(w.Object)) || s.refuses("Transaction", name(w.Object)) {
			err = fmt.Errorf("%w: refused %s", errRefused, name(w.Object))
		}
		if err != nil {
			failed.Errors = append(failed.Errors, err)
			continue
		}
		accepted = append(accepted, w)
		failed.SuccessfulIndices = append(failed.SuccessfulIndices, i)
	}
	s.notify()
	s.Indexer.(cache.TransactionStore).Transaction(accepted...)
	s.states, s.versions = append(s.states, s.content()), append(s.versions, s.LastStoreSyncResourceVersion())
	if len(failed.Errors) == 0 {
		return nil
	}
	return failed
}

// meanwhile runs call on a goroutine of its own, gives it far more turns than it needs if no lock is in its way, and
// reports whether it has ended. It does so on one processor, so that the goroutine gets every turn that is given up,
// however busy the machine is.
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

// fifoOptions are those of a RealFIFO under a BatchQueue.
var fifoOptions = cache.RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true, EmitDeltaTypeBookmark: true}

// newFIFO makes a RealFIFO of the layers below.
func newFIFO() layers.RealFIFO { return below.NewRealFIFO(fifoOptions) }

// newQueue makes a BatchQueue on the RealFIFO below.
func newQueue() *todaysinformer.BatchQueue { return todaysinformer.NewBatchQueue(newFIFO()) }
