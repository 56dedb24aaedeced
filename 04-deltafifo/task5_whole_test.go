package deltafifo_test

// Task 5, the last tests: the whole queue, in any sequence of calls, and under client-go's own controller.

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"
	"k8s.io/klog/v2"

	deltafifo "client-go-workshop/04-deltafifo"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/modeltest"
)

// model is a simple and slow DeltaFIFO for one goroutine.
type model struct {
	known   map[string]string // the objects that the consumer has
	pending map[string]string // the deltas of a key, as showDeltas prints them
	order   [][]string        // keys; those in one group may come in any order
	begun   bool              // a list or an event has come
	initial int               // keys of the first list that are not popped
	mark    string            // the mark of the transformer
}

func (m *model) put(key, delta string, group *[]string) {
	deltas := m.pending[key]
	switch last := deltas[strings.LastIndex(deltas, " ")+1:]; {
	case deltas == "":
		m.pending[key] = delta
		*group = append(*group, key)
	case !strings.HasPrefix(delta, "Deleted") || !strings.HasSuffix(deltas, "Deleted "+last):
		m.pending[key] = deltas + ", " + delta
	case strings.HasPrefix(last, "tombstone"):
		m.pending[key] = strings.TrimSuffix(deltas, "Deleted "+last) + delta
	}
}

func (m *model) event(change, key, version string) {
	var group []string
	m.begun = true
	if m.pending[key] != "" || m.known[key] != "" || change != "Deleted" {
		m.put(key, change+" @"+version+m.mark, &group)
		m.order = append(m.order, group)
	}
}

func (m *model) replace(listed []string, version string) {
	var vanished []string
	for _, key := range listed {
		var group []string
		m.put(key, "Replaced @"+version+m.mark, &group)
		m.order = append(m.order, group)
	}
	for _, key := range slices.Sorted(maps.Keys(m.known)) {
		if m.pending[key] == "" {
			m.put(key, "Deleted tombstone("+m.known[key]+")", &vanished)
		}
	}
	for key, deltas := range m.pending {
		if !slices.Contains(listed, key) {
			last := deltas[strings.LastIndex(deltas, " ")+1:]
			last = strings.TrimSuffix(strings.TrimPrefix(last, "tombstone("), ")")
			m.put(key, "Deleted tombstone("+last+")", nil)
		}
	}
	m.order = append(m.order, vanished)
	if !m.begun {
		m.begun, m.initial = true, len(m.pending)
	}
}

func (m *model) resync() {
	var group []string
	for key, obj := range m.known {
		if m.pending[key] == "" {
			m.put(key, "Sync "+obj, &group)
		}
	}
	m.order = append(m.order, group)
}

// next returns the keys of which one must be popped next.
func (m *model) next() []string {
	for len(m.order) > 0 && len(m.order[0]) == 0 {
		m.order = m.order[1:]
	}
	if len(m.order) == 0 {
		return nil
	}
	return m.order[0]
}

// pop pops key, and returns the deltas that the queue must return.
func (m *model) pop(key string) string {
	i := slices.Index(m.next(), key)
	if i < 0 {
		return fmt.Sprintf("one of %v", m.next())
	}
	m.order[0] = slices.Delete(slices.Clone(m.order[0]), i, i+1)
	deltas := m.pending[key]
	delete(m.pending, key)
	last := deltas[strings.LastIndex(deltas, " ")+1:]
	if strings.HasSuffix(deltas, "Deleted "+last) {
		delete(m.known, key)
	} else {
		m.known[key] = last
	}
	if m.initial > 0 {
		m.initial--
	}
	return key + ": " + deltas
}

// The rules of Any_sequence_of_calls. The first one holds unless another is named.
const (
	allDeltas = "A key is in the queue once, at the place of its first pending delta, and is popped with all of " +
		"its deltas. No delta is lost, and none comes after a newer one."
	firstList = "HasSynced reports whether every key that was in the queue after the first Replace, deletions " +
		"included, has been popped and processed."
	belongs = "Pop removes the first key and calls process with its cache.Deltas, oldest first, and with whether " +
		"the key belongs to the first list."
	closing = "The keys in a closed queue can still be popped. Then Pop returns cache.ErrFIFOClosed."
)

func TestTask5_Any_sequence_of_calls(t *testing.T) {
	guard.Test(t, allDeltas, func(t *guard.T) {
		modeltest.Check(t, func(s *modeltest.T) { anySequence(t, s) })
	})
}

// anySequence is one run: dozens of calls to a new queue and a new model, and a comparison after each.
func anySequence(t *guard.T, s *modeltest.T) {
	silent := klog.New(nil)
	known, m, version := storeOf(), &model{known: map[string]string{}, pending: map[string]string{}}, 0
	opts := options{Logger: &silent, KnownObjects: known, EmitDeltaTypeReplaced: true}
	if modeltest.Pick(s, "transformer", false, true) {
		opts.Transformer, m.mark = transformed, "'"
		s.Did("a queue with a transformer, and an empty store")
	}
	q := deltafifo.NewDeltaFIFOWithOptions(opts)
	defer q.Close()
	event := func(change string, call func(any) error) func() {
		return func() {
			version++
			obj := deploy(fmt.Sprintf("%s@%d", modeltest.Pick(s, "key", "ns/a", "ns/b", "ns/c"), version))
			s.Did("%s %s", change, describe(obj))
			deltaTypes := map[string]string{"Add": "Added", "Update": "Updated", "Delete": "Deleted"}
			m.event(deltaTypes[change], "ns/"+obj.Name, obj.ResourceVersion)
			require.NoError(s, call(obj), "the error of %s", change)
		}
	}
	s.Steps(map[string]func(){
		"Add": event("Add", q.Add), "Update": event("Update", q.Update), "Delete": event("Delete", q.Delete),
		"Replace": func() {
			version++
			var keys []string
			for _, key := range []string{"ns/c", "ns/a", "ns/b"} {
				if modeltest.Pick(s, "listed", false, true) {
					keys = append(keys, key)
				}
			}
			s.Did("Replace with %v, each @%d", keys, version)
			m.replace(keys, fmt.Sprint(version))
			var list []any
			for _, key := range keys {
				list = append(list, deploy(fmt.Sprintf("%s@%d", key, version)))
			}
			require.NoError(s, q.Replace(list, fmt.Sprint(version)), "the error of Replace")
		},
		"Resync": func() {
			s.Did("Resync")
			m.resync()
			require.NoError(s, q.Resync(), "the error of Resync")
		},
		"Pop": func() {
			if m.next() == nil {
				s.Skip("Pop would wait")
			}
			s.Did("Pop, and apply the deltas to the store")
			popped, initial, expected := "", false, m.begun && m.initial > 0
			require.True(s, s.Returns(func() {
				_, _ = q.Pop(func(obj any, isInInitialList bool) error {
					known.take(obj)
					popped, initial = showDeltas(obj), isInInitialList
					return nil
				})
			}), "Pop returns: %v can be popped next", m.next())
			key, _, _ := strings.Cut(popped, ": ")
			require.Equal(s, m.pop(key), popped, "the popped deltas")
			s.Rule(belongs)
			// Before any list or event isInInitialList is not specified.
			require.Equal(s, expected, initial && m.begun, "isInInitialList of %s", popped)
			s.Rule(allDeltas)
		},
		"": func() {
			s.Rule(firstList)
			when := "before any list or event"
			if m.begun {
				when = fmt.Sprintf("with %d keys of the first list in the queue", m.initial)
			}
			require.Equal(s, m.begun && m.initial == 0, q.HasSynced(), "HasSynced %s", when)
			s.Rule(allDeltas)
		},
	})
	s.Rule(closing)
	s.Did("Close")
	q.Close()
	require.True(s, s.Returns(func() {
		for err := error(nil); err == nil; {
			_, err = q.Pop(func(any, bool) error { return nil })
		}
	}), "Pop returns an error when the closed queue is empty")
}

// source is a list and a watch in this process. It supports no streaming lists, so a Reflector lists and then watches.
type source struct {
	*cachetesting.FakeControllerSource
}

func (source) IsWatchListSemanticsUnSupported() bool { return true }

// consumer is the end of the pipeline: it applies deltas to its store, and notes them.
type consumer struct {
	*store
	mu       sync.Mutex
	received []string
}

func (c *consumer) process(obj any, isInInitialList bool) error {
	c.take(obj)
	line := showDeltas(obj)
	if isInInitialList {
		line += " (first list)"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.received = append(c.received, line)
	return nil
}

// news returns the deltas received since its last call, sorted: a list has no order, here as on a real server.
func (c *consumer) news() []string {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	received := c.received
	c.received = nil
	slices.Sort(received)
	return received
}

// run starts client-go's own controller, which fills queue from src and calls c.process with the deltas that it pops.
// The controller runs until the test ends.
func (c *consumer) run(t *guard.T, src cache.ListerWatcher, queue cache.Queue) {
	ctx, cancel := context.WithCancel(t.Context())
	silent := klog.New(nil)
	ended := make(chan struct{})
	controller := cache.New(&cache.Config{
		Queue:            queue,
		ListerWatcher:    src,
		ObjectType:       &appsv1.Deployment{},
		FullResyncPeriod: time.Hour,
		Process:          c.process,
	})
	go func() {
		defer close(ended)
		controller.RunWithContext(klog.NewContext(ctx, silent))
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

func TestTask5_Under_client_gos_own_controller(t *testing.T) {
	guard.Test(t, "Your queue and client-go's deliver the same deltas under the same "+
		"controller.", func(t *guard.T) {
		silent := klog.New(nil)
		src := source{cachetesting.NewFakeControllerSource()}
		t.Cleanup(src.Shutdown)
		for _, name := range []string{"a", "b", "c"} {
			src.Add(deploy("default/" + name))
		}
		yours, clientGos := &consumer{store: storeOf()}, &consumer{store: storeOf()}
		compare := func(after string) {
			t.Helper()
			want := clientGos.news()
			require.NotEmpty(t, want, "deltas from client-go's queue after %s", after)
			require.Equal(t, want, yours.news(), "deltas from your queue after %s", after)
		}

		t.Did("run client-go's controller on your queue, and another one on client-go's; the server has " +
			"three Deployments")
		opts := options{Logger: &silent, KnownObjects: yours, EmitDeltaTypeReplaced: true}
		q := deltafifo.NewDeltaFIFOWithOptions(opts)
		yours.run(t, src, q)
		opts.KnownObjects = clientGos
		clientGos.run(t, src, cache.NewDeltaFIFOWithOptions(opts))
		compare("the first list")
		require.True(t, q.HasSynced(), "your queue has synced after the three were listed and popped")

		t.Did("on the server, change a, delete b, and create d")
		src.Modify(deploy("default/a"))
		src.Delete(deploy("default/b"))
		src.Add(deploy("default/d"))
		compare("the three events")

		t.Did("break the watch, and delete c in the meantime")
		src.DeleteDropWatch(deploy("default/c"))
		src.ResetWatch()
		time.Sleep(10 * time.Minute) // simulated: enough for any back-off
		compare("the broken watch")
		require.Equal(t, []string{"default/a", "default/d"}, yours.keys(),
			"keys in the store after the broken watch")

		t.Did("let an hour pass, after which the controller calls Resync")
		time.Sleep(time.Hour)
		compare("the Resync")
	})
}

// stream is a source that streams its first list, as servers do by default: each object as an event, then a bookmark.
type stream struct {
	*cachetesting.FakeControllerSource
	objs []runtime.Object
}

func (s stream) Watch(opts metav1.ListOptions) (watch.Interface, error) {
	w := watch.NewRaceFreeFake()
	if opts.SendInitialEvents != nil && *opts.SendInitialEvents {
		for _, obj := range s.objs {
			w.Add(obj)
		}
		end := deploy("/@9")
		end.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
		w.Action(watch.Bookmark, end)
	}
	return w, nil
}

func TestTask5_Streamed_objects_go_through_the_transformer_twice(t *testing.T) {
	guard.Test(t, "With either type the objects go through the transformer. Objects of a streamed list go "+
		"through it twice, because the Reflector's own store uses the queue's transformer "+
		"too.", func(t *guard.T) {
		for _, c := range []struct{ name, want string }{
			{"lists", "default/a: Replaced @1' (first list)"},
			{"streams the list", "default/a: Replaced @1'' (first list)"},
		} {
			t.Story(8)
			fake := cachetesting.NewFakeControllerSource()
			t.Cleanup(fake.Shutdown)
			var src cache.ListerWatcher = stream{fake, []runtime.Object{deploy("default/a@1")}}
			if c.name == "lists" {
				fake.Add(deploy("default/a"))
				src = source{fake}
			}
			t.Did("run client-go's controller on your queue, with a transformer; its Reflector %s", c.name)
			silent, end := klog.New(nil), &consumer{store: storeOf()}
			opts := options{
				Logger: &silent, KnownObjects: end,
				EmitDeltaTypeReplaced: true, Transformer: transformed,
			}
			end.run(t, src, deltafifo.NewDeltaFIFOWithOptions(opts))
			require.Equal(t, []string{c.want}, end.news(),
				"deltas of the first list; a ' stands for each transformation")
		}
	})
}
