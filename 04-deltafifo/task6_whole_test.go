package deltafifo_test

// Task 6, the bonus: RealFIFO in any sequence of calls, and under client-go's own controller.

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"
	"k8s.io/klog/v2"

	deltafifo "client-go-workshop/04-deltafifo"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/modeltest"
)

// itemModel is a simple RealFIFO with known objects.
type itemModel struct {
	known   map[string]string // the objects that the consumer has, as show prints them
	items   [][]string        // as showDeltas prints them; those in one group may come in any order
	begun   bool              // a list or an event has come
	initial int               // items of the first list that are not popped
}

// pending returns the last pending item of each key, without the key.
func (m *itemModel) pending() map[string]string {
	last := map[string]string{}
	for _, group := range m.items {
		for _, item := range group {
			key, change, _ := strings.Cut(item, ": ")
			last[key] = change
		}
	}
	return last
}

func (m *itemModel) event(change, key, obj string) {
	m.begun = true
	m.items = append(m.items, []string{key + ": " + change + " " + obj})
}

func (m *itemModel) replace(listed []string, obj string) {
	var deletions []string
	last := m.pending()
	for key, change := range last {
		kind, newest, _ := strings.Cut(change, " ")
		if !slices.Contains(listed, key) && kind != "Deleted" {
			deletions = append(deletions, key+": Deleted tombstone("+newest+")")
		}
	}
	for key, obj := range m.known {
		if last[key] == "" && !slices.Contains(listed, key) {
			deletions = append(deletions, key+": Deleted tombstone("+obj+")")
		}
	}
	m.items = append(m.items, deletions)
	for _, key := range listed {
		m.items = append(m.items, []string{key + ": Replaced " + obj})
	}
	if !m.begun {
		m.begun = true
		for _, group := range m.items {
			m.initial += len(group)
		}
	}
}

func (m *itemModel) resync() {
	var group []string
	last := m.pending()
	for key, obj := range m.known {
		if last[key] == "" {
			group = append(group, key+": Sync "+obj)
		}
	}
	m.items = append(m.items, group)
}

// next returns the items of which one must be popped next.
func (m *itemModel) next() []string {
	for len(m.items) > 0 && len(m.items[0]) == 0 {
		m.items = m.items[1:]
	}
	if len(m.items) == 0 {
		return nil
	}
	slices.Sort(m.items[0])
	return m.items[0]
}

func (m *itemModel) pop(item string) {
	group := m.next()
	m.items[0] = slices.DeleteFunc(slices.Clone(group), func(other string) bool { return other == item })
	key, change, _ := strings.Cut(item, ": ")
	kind, obj, _ := strings.Cut(change, " ")
	if m.known[key] = obj; kind == "Deleted" {
		delete(m.known, key)
	}
	m.initial = max(0, m.initial-1)
}

func TestTask6_Any_sequence_of_calls(t *testing.T) {
	bonus(t, itemOrder, func(t *guard.T) {
		modeltest.Check(t, func(s *modeltest.T) { anyItems(t, s) })
	})
}

// The rules of Task6_Any_sequence_of_calls. The first one holds unless the other is named.
const (
	itemOrder = "Each change is an item of its own, and nothing is merged. All items are popped in the order in " +
		"which they were queued."
	itemCount = "HasSynced reports whether every item that was in the queue after the first Replace has been " +
		"popped and processed."
)

// anyItems is one run: dozens of calls to a new queue and a new model, and a comparison after each.
func anyItems(t *guard.T, s *modeltest.T) {
	known, m, version := storeOf(), &itemModel{known: map[string]string{}}, 0
	q := newRealFIFO(t, known, cache.RealFIFOOptions{Transformer: transformed}).Queue
	defer q.Close()
	event := func(change string, call func(any) error) func() {
		return func() {
			version++
			obj := deploy(fmt.Sprintf("%s@%d", modeltest.Pick(s, "key", "ns/a", "ns/b"), version))
			s.Did("%s %s", change, describe(obj))
			deltaTypes := map[string]string{"Add": "Added", "Update": "Updated", "Delete": "Deleted"}
			m.event(deltaTypes[change], "ns/"+obj.Name, "@"+obj.ResourceVersion+"'")
			require.NoError(s, call(obj), "the error of %s", change)
		}
	}
	s.Steps(map[string]func(){
		"Add": event("Add", q.Add), "Update": event("Update", q.Update), "Delete": event("Delete", q.Delete),
		"Replace": func() {
			version++
			keys, list := []string{}, []any{}
			for _, key := range []string{"ns/b", "ns/a"} {
				if modeltest.Pick(s, "listed", false, true) {
					keys = append(keys, key)
					list = append(list, deploy(fmt.Sprintf("%s@%d", key, version)))
				}
			}
			s.Did("Replace with %v, each @%d", keys, version)
			m.replace(keys, fmt.Sprintf("@%d'", version))
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
			popped := ""
			require.True(s, s.Returns(func() {
				_, _ = q.Pop(func(obj any, _ bool) error {
					known.take(obj)
					popped = showDeltas(obj)
					return nil
				})
			}), "Pop returns: %v can be popped next", m.next())
			require.Contains(s, m.next(), popped, "what may be popped next")
			m.pop(popped)
		},
		"": func() {
			s.Rule(itemCount)
			require.Equal(s, m.begun && m.initial == 0, q.HasSynced(),
				"HasSynced with %d items of the first list", m.initial)
			s.Rule(itemOrder)
		},
	})
}

func TestTask6_Under_client_gos_own_controller(t *testing.T) {
	bonus(t, "Your queue and client-go's deliver the same items under the same controller.", func(t *guard.T) {
		silent := klog.New(nil)
		src := source{cachetesting.NewFakeControllerSource()}
		t.Cleanup(src.Shutdown)
		src.Add(deploy("default/a"))
		yours, clientGos := &consumer{store: storeOf()}, &consumer{store: storeOf()}
		t.Did("run client-go's controller on your queue, and another one on client-go's")
		opts := cache.RealFIFOOptions{Logger: &silent, KnownObjects: yours}
		yours.run(t, src, deltafifo.NewRealFIFOWithOptions(opts))
		opts.KnownObjects = clientGos
		clientGos.run(t, src, cache.NewRealFIFOWithOptions(opts))
		require.Equal(t, clientGos.news(), yours.news(), "items from your queue after the first list")
		t.Did("change a twice, create b, break the watch and delete b, and let two hours pass")
		src.Modify(deploy("default/a"))
		src.Modify(deploy("default/a"))
		src.Add(deploy("default/b"))
		src.DeleteDropWatch(deploy("default/b"))
		src.ResetWatch()
		time.Sleep(2 * time.Hour)
		require.Equal(t, clientGos.news(), yours.news(),
			"items from your queue after the events and the broken watch")
		require.Equal(t, []string{"default/a"}, yours.keys(), "keys in your consumer's store at the end")
	})
}
