package indexer_test

// This file makes two calls of a store overlap at a known point: the store calls an index function in the middle of the
// first call, and the index function starts the second call.

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	indexer "client-go-workshop/05-indexer"
	"client-go-workshop/internal/testkit/guard"
)

// midway is an index function that starts a second call each time that the first call calls it. The second call either
// waits for the first one, or returns at once. Only one second call runs at a time: if it calls the index function
// itself, no third call starts.
type midway struct {
	second func() string // nil if there is no second call
	skip   int           // how many calls of the index function to skip
	once   bool          // start one second call only

	lock    sync.Mutex // guards the fields below
	armed   bool
	running bool
	inside  []string       // what second calls returned in the middle of the first call
	later   []string       // what second calls returned after they had waited
	late    sync.WaitGroup // the second calls
}

// during runs first, and second in the middle of it. It returns when both have returned.
func (m *midway) during(first func(), second func() string) (inside, later []string) {
	m.second, m.inside, m.later = second, nil, nil
	m.set(true)
	first()
	m.set(false)
	m.late.Wait()
	return m.inside, m.later
}

func (m *midway) set(armed bool) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.armed = armed
}

// begin reports whether a second call starts now.
func (m *midway) begin() bool {
	m.lock.Lock()
	defer m.lock.Unlock()
	if !m.armed || m.running {
		return false
	}
	if m.skip > 0 {
		m.skip--
		return false
	}
	m.running, m.armed = true, !m.once
	return true
}

// index uses one processor, so the turns that the first call yields go to the second one, even on a busy machine.
func (m *midway) index(obj any) ([]string, error) {
	if !m.begin() {
		return images(obj)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	answer := make(chan string, 1)
	waits := false
	m.late.Go(func() {
		got := m.second()
		m.lock.Lock()
		defer m.lock.Unlock()
		m.running = false
		if waits {
			m.later = append(m.later, got)
		} else {
			m.inside = append(m.inside, got)
			answer <- got
		}
	})
	for range 1_000 { // far more turns than a call needs if no lock stops it
		select {
		case <-answer:
			return images(obj)
		default:
			runtime.Gosched()
		}
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	waits = true
	return images(obj)
}

// call is a call of a store. do returns its answer as text.
type call struct {
	name string
	do   func(s cache.Indexer) string
}

// write is a call that returns an error or nothing.
func write(name string, do func(s cache.Indexer) error) call {
	return call{name, func(s cache.Indexer) string { return outcome("done", do(s)) }}
}

func outcome(answer string, err error) string {
	if err != nil {
		return "an error"
	}
	return answer
}

// The lookups by task. Each asks about what the writes below change.
var (
	lookups1 = []call{
		{"Get", func(s cache.Indexer) string {
			obj, exists, _ := s.Get(deploy("default/a"))
			return fmt.Sprint(describe(obj), exists)
		}},
		{"GetByKey", func(s cache.Indexer) string {
			obj, exists, _ := s.GetByKey("default/a")
			return fmt.Sprint(describe(obj), exists)
		}},
		{"List", func(s cache.Indexer) string { return both(s.List(), nil) }},
		{"ListKeys", func(s cache.Indexer) string { return both(s.ListKeys(), nil) }},
		{"LastStoreSyncResourceVersion", func(s cache.Indexer) string { return s.LastStoreSyncResourceVersion() }},
	}
	lookups2 = []call{
		{"ByIndex", func(s cache.Indexer) string { return both(s.ByIndex("image", "nginx")) }},
		{"IndexKeys", func(s cache.Indexer) string { return both(s.IndexKeys("image", "nginx")) }},
		{"ListIndexFuncValues", func(s cache.Indexer) string { return both(s.ListIndexFuncValues("image"), nil) }},
	}
	lookups3 = []call{
		{"Index", func(s cache.Indexer) string {
			return both(s.Index("image", deploy("example/x", "nginx", "caddy")))
		}},
		{"Index of one value", func(s cache.Indexer) string {
			return both(s.Index("image", deploy("example/x", "nginx")))
		}},
	}
	lookups4 = []call{
		{"GetIndexers", func(s cache.Indexer) string { return strings.Join(sortedKeys(s.GetIndexers()), " ") }},
		{"ByIndex late", func(s cache.Indexer) string { return both(s.ByIndex("late", "nginx")) }},
	}
	writes2 = []call{
		write("Update default/a", func(s cache.Indexer) error { return s.Update(deploy("default/a", "caddy", "@3")) }),
		write("Add default/c", func(s cache.Indexer) error { return s.Add(deploy("default/c", "nginx", "@4")) }),
		write("Delete default/a", func(s cache.Indexer) error { return s.Delete(deploy("default/a", "@5")) }),
		write("Delete default/b", func(s cache.Indexer) error { return s.Delete(deploy("default/b", "@6")) }),
		write("Bookmark 7", func(s cache.Indexer) error { s.Bookmark("7"); return nil }),
	}
	writes4 = []call{
		{"AddIndexers late, by two goroutines", func(s cache.Indexer) string {
			answers, late := make(chan string, 2), func(any) ([]string, error) { return nil, nil }
			for range 2 {
				go func() { answers <- outcome("done", s.AddIndexers(cache.Indexers{"late": late})) }()
			}
			return strings.Join(sorted([]string{<-answers, <-answers}), " and ")
		}},
		write("Replace with default/d", func(s cache.Indexer) error {
			return s.Replace([]any{deploy("default/d", "nginx", "@8")}, "9")
		}),
		write("AddIndexers late", func(s cache.Indexer) error { return s.AddIndexers(cache.Indexers{"late": images}) }),
	}
	// The first calls of a pair. They call the index function, AddIndexers that of the index it adds.
	firstUpdate = write("Update default/a to envoy", func(s cache.Indexer) error {
		return s.Update(deploy("default/a", "envoy", "@2"))
	})
	firstDelete = write("Delete default/a @2", func(s cache.Indexer) error {
		return s.Delete(deploy("default/a", "@2"))
	})
	firstReplace = write("Replace with default/a and default/e", func(s cache.Indexer) error {
		return s.Replace([]any{deploy("default/a", "nginx", "@2"), deploy("default/e", "caddy", "@2")}, "2")
	})
)

// overlapping returns the store of a pair of calls: default/a runs nginx and default/b caddy.
func overlapping(image cache.IndexFunc) cache.Indexer {
	s := indexer.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc, cache.Indexers{"image": image})
	_ = s.Add(deploy("default/a", "nginx", "@1"))
	_ = s.Add(deploy("default/b", "caddy", "@1"))
	return s
}

// requireOneAfterTheOther starts second at each point of first at which the store calls m's index function. The answers
// of both, and the final content of the store, must be as if one call came after the other.
func requireOneAfterTheOther(t *guard.T, first func(m *midway) call, second call) {
	t.Helper()
	for point := 0; ; point++ {
		m := &midway{skip: point, once: true}
		a := first(m)
		firstFirst, secondFirst := inOrder(first, second, true), inOrder(first, second, false)
		t.Story(8)
		t.Did("Add default/a running nginx @1 and default/b running caddy @1")
		t.Did("start %s", a.name)
		t.Did("%s, while the store waits for the answer no. %d of the index function", second.name, point+1)
		s := overlapping(m.index)
		var answer string
		inside, later := m.during(func() { answer = a.do(s) }, func() string { return second.do(s) })
		seconds := append(inside, later...)
		if len(seconds) == 0 {
			return // the first call has no such point
		}
		got := result(s, a, answer, second, seconds[0])
		if got != firstFirst && got != secondFirst {
			require.Equal(t, firstFirst+" — or "+secondFirst, got, a.name+" and "+second.name)
		}
	}
}

// requireNoneBetween makes two writes wait for the lock together. The result must be as if one came after the other.
//
// A third call holds the lock until both have waited for more than a millisecond, and locks it again before the first
// one wakes up. From then on a sync.Mutex goes to the goroutine that has waited longest. So if the first write releases
// the lock and locks it again, the second write comes in between.
//
// On a busy machine the first write can get the lock before the third call has locked it again. Such a round shows
// nothing, so the next one follows.
func requireNoneBetween(t *guard.T, first, second call) {
	t.Helper()
	firstFirst, secondFirst := inOrder(always(first), second, true), inOrder(always(first), second, false)
	t.Story(8)
	t.Did("Add default/a running nginx @1 and default/b running caddy @1")
	t.Did("%s, and %s, which wait for the lock at the same time", first.name, second.name)
	for range 20 {
		got := waitTogether(first, second)
		switch {
		case got == firstFirst || got == secondFirst:
			return
		case !slices.Contains(lateThird(first, second), got):
			require.Equal(t, firstFirst+" — or "+secondFirst, got, first.name+" and "+second.name)
		}
	}
}

// waitTogether makes two writes wait for the lock while a third call holds it, and returns the result.
func waitTogether(first, second call) string {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var s cache.Indexer
	var answers [2]string
	var calls sync.WaitGroup
	third, begun := thirdCall(), false
	s = overlapping(func(obj any) ([]string, error) {
		if obj != any(third) {
			return images(obj)
		}
		if !begun {
			begun = true
			for i, c := range []call{first, second} {
				calls.Go(func() { answers[i] = c.do(s) })
				yield()
			}
			for start := time.Now(); time.Since(start) < 2*time.Millisecond; {
				runtime.Gosched()
			}
		}
		yield()
		return images(obj)
	})
	_ = s.Update(third)
	_ = s.Update(third)
	calls.Wait()
	return result(s, first, answers[0], second, answers[1])
}

// thirdCall returns the object of the third call. It changes nothing if it comes before the two writes.
func thirdCall() any { return deploy("default/a", "nginx", "@1") }

// lateThird returns the results if the third call comes after one of the two writes, or after both.
func lateThird(first, second call) (all []string) {
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		for before := 1; before <= 2; before++ {
			s := overlapping(images)
			var answers [2]string
			for n, i := range order {
				if n == before {
					_ = s.Update(thirdCall())
				}
				answers[i] = []call{first, second}[i].do(s)
			}
			if before == 2 {
				_ = s.Update(thirdCall())
			}
			all = append(all, result(s, first, answers[0], second, answers[1]))
		}
	}
	return all
}

// yield gives the other goroutines far more turns than a call needs if no lock stops it.
func yield() {
	for range 1_000 {
		runtime.Gosched()
	}
}

// inOrder returns the result if one call comes after the other.
func inOrder(first func(m *midway) call, second call, firstFirst bool) string {
	m := &midway{}
	s, a := overlapping(m.index), first(m)
	var answers [2]string
	if firstFirst {
		answers[0] = a.do(s)
	}
	answers[1] = second.do(s)
	if !firstFirst {
		answers[0] = a.do(s)
	}
	return result(s, a, answers[0], second, answers[1])
}

// result describes two answers and everything that a reader can learn from the store.
func result(s cache.Indexer, a call, answer string, b call, other string) string {
	out := fmt.Sprintf("%s: %s; %s: %s", a.name, answer, b.name, other)
	out += "; stored: " + both(s.List(), nil) + " at version " + s.LastStoreSyncResourceVersion()
	for _, name := range []string{"image", "late"} {
		for _, value := range sorted(s.ListIndexFuncValues(name)) {
			out += fmt.Sprintf("; %s=%s: %s", name, value, both(s.ByIndex(name, value)))
		}
	}
	return out
}

// always returns a first call that does not depend on the index function.
func always(c call) func(*midway) call { return func(*midway) call { return c } }
