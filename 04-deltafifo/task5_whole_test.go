package deltafifo_test

// Task 5, at its end: the whole queue, in any sequence of calls, and in its place under client-go's own controller.

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
	"k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"
	"k8s.io/klog/v2"

	deltafifo "client-go-workshop/04-deltafifo"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/modeltest"
)

// model says in the fewest lines what a DeltaFIFO has to do. It is slow, and knows no goroutines.
type model struct {
	known   map[string]string // what the consumer has
	pending map[string]string // the deltas of a key as showDeltas shows them
	order   [][]string        // keys; those in one group may come in any order
	begun   bool              // a list or an event has come
	initial int               // keys of the first list that are not popped
	mark    string            // what the transformer leaves
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
			last := strings.TrimSuffix(strings.TrimPrefix(deltas[strings.LastIndex(deltas, " ")+1:], "tombstone("), ")")
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

// next is the keys of which one has to be popped next.
func (m *model) next() []string {
	for len(m.order) > 0 && len(m.order[0]) == 0 {
		m.order = m.order[1:]
	}
	if len(m.order) == 0 {
		return nil
	}
	return m.order[0]
}

// pop takes key, and says what has to be popped.
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

func TestTask5_Any_sequence_of_calls(t *testing.T) {
	guard.Test(t, "", func(t *guard.T) {
		modeltest.Check(t, func(s *modeltest.T) { anySequence(t, s) })
	})
}

// anySequence is one run: a new queue and a new model, some dozens of calls to both, and a comparison after each.
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
			m.event(map[string]string{"Add": "Added", "Update": "Updated", "Delete": "Deleted"}[change], "ns/"+obj.Name, obj.ResourceVersion)
			require.NoError(s, call(obj), "the object has a name")
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
			require.NoError(s, q.Replace(list, fmt.Sprint(version)), "every object has a name")
		},
		"Resync": func() {
			s.Did("Resync")
			m.resync()
			require.NoError(s, q.Resync(), "every known object can be found")
		},
		"Pop": func() {
			if m.next() == nil {
				s.Skip("Pop would wait")
			}
			s.Did("Pop, and bring the store to the newest state")
			popped, initial, expected := "", false, m.begun && m.initial > 0
			require.True(s, s.Returns(func() {
				_, _ = q.Pop(func(obj any, isInInitialList bool) error {
					known.take(obj)
					popped, initial = showDeltas(obj), isInInitialList
					return nil
				})
			}), "there is something to pop: %v", m.next())
			key, _, _ := strings.Cut(popped, ": ")
			require.Equal(s, m.pop(key), popped, "what a consumer is told of a key since it last heard of it")
			require.Equal(s, expected || !m.begun, initial, "isInInitialList: whether the first list was still on its way")
		},
		"": func() {
			require.Equal(s, m.begun && m.initial == 0, q.HasSynced(), "HasSynced: everything that the first Replace put into the queue has been popped")
		},
	})
	s.Did("Close")
	q.Close()
	require.True(s, s.Returns(func() {
		for err := error(nil); err == nil; {
			_, err = q.Pop(func(any, bool) error { return nil })
		}
	}), "a closed queue is drained, and then says ErrFIFOClosed")
}

// source is a list and a watch in this process. It keeps the watch apart from the list, as servers did before streaming
// lists.
type source struct {
	*cachetesting.FakeControllerSource
}

func (source) IsWatchListSemanticsUnSupported() bool { return true }

// consumer is at the end of the pipeline: it brings its store to the newest state, and notes what it was told.
type consumer struct {
	*store
	mu   sync.Mutex
	told []string
}

func (c *consumer) process(obj any, isInInitialList bool) error {
	c.take(obj)
	line := showDeltas(obj)
	if isInInitialList {
		line += " (first list)"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(c.told, line)
	return nil
}

// news is what was noted since it was last asked for, sorted: a list has no order, here as on a real server.
func (c *consumer) news() []string {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	told := c.told
	c.told = nil
	slices.Sort(told)
	return told
}

// run lets client-go's own controller feed queue from src, and c take what comes out of it, until the test ends.
func (c *consumer) run(t *guard.T, src source, queue cache.Queue) {
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
	guard.Test(t, "something has happened", func(t *guard.T) {
		silent := klog.New(nil)
		src := source{cachetesting.NewFakeControllerSource()}
		t.Cleanup(src.Shutdown)
		for _, name := range []string{"a", "b", "c"} {
			src.Add(deploy("default/" + name))
		}
		yours, clientGos := &consumer{store: storeOf()}, &consumer{store: storeOf()}
		compare := func() {
			t.Helper()
			want := clientGos.news()
			require.NotEmpty(t, want)
			t.Rule("a consumer cannot tell your queue from client-go's")
			require.Equal(t, want, yours.news())
		}

		t.Did("run client-go's controller on the queue, and another one on client-go's, with three Deployments on the server")
		q := deltafifo.NewDeltaFIFOWithOptions(options{Logger: &silent, KnownObjects: yours, EmitDeltaTypeReplaced: true})
		yours.run(t, src, q)
		clientGos.run(t, src, cache.NewDeltaFIFOWithOptions(options{Logger: &silent, KnownObjects: clientGos, EmitDeltaTypeReplaced: true}))
		compare()
		t.Rule("the three have been listed and popped")
		require.True(t, q.HasSynced())

		t.Did("on the server, change a, delete b, and make d")
		src.Modify(deploy("default/a"))
		src.Delete(deploy("default/b"))
		src.Add(deploy("default/d"))
		compare()

		t.Did("break the watch, and delete c in the meantime")
		src.DeleteDropWatch(deploy("default/c"))
		src.ResetWatch()
		time.Sleep(10 * time.Minute) // simulated: enough for any back-off
		compare()
		t.Rule("c went unseen, and the new list told")
		require.Equal(t, []string{"default/a", "default/d"}, yours.keys())

		t.Did("let an hour pass, after which the controller asks for a Resync")
		time.Sleep(time.Hour)
		compare()
	})
}
