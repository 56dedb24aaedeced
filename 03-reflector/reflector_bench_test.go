package reflector_test

// The same benchmarks for your code, the solution and client-go, in one run:
//
//	go test ./03-reflector -run '^$' -bench . -count 10 > bench.txt
//	go run golang.org/x/perf/cmd/benchstat@latest -col /impl bench.txt
//
// Benchmarks of functions that you have not written yet are skipped.

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/03-reflector"
	"client-go-workshop/internal/testkit/todo"
	solution "client-go-workshop/solutions/03-reflector"
)

// implementations are compared under the name "impl", which benchstat can make its columns.
var implementations = []struct {
	name string
	make func(lw cache.ListerWatcher, s cache.ReflectorStore) interface {
		ListAndWatchWithContext(context.Context) error
	}
}{
	{"yours", func(lw cache.ListerWatcher, s cache.ReflectorStore) interface {
		ListAndWatchWithContext(context.Context) error
	} {
		return reflector.NewReflector(lw, &appsv1.Deployment{}, s, 0)
	}},
	{"solution", func(lw cache.ListerWatcher, s cache.ReflectorStore) interface {
		ListAndWatchWithContext(context.Context) error
	} {
		return solution.NewReflector(lw, &appsv1.Deployment{}, s, 0)
	}},
	{"client-go", func(lw cache.ListerWatcher, s cache.ReflectorStore) interface {
		ListAndWatchWithContext(context.Context) error
	} {
		return cache.NewReflector(lw, &appsv1.Deployment{}, s, 0)
	}},
}

// canned is a source of one ready-made list, and of a watch with so many events after it. After the last event the
// context is cancelled.
type canned struct {
	list   *appsv1.DeploymentList
	events []watch.Event
	cancel context.CancelFunc
}

func (c *canned) IsWatchListSemanticsUnSupported() bool { return true }

func (c *canned) List(metav1.ListOptions) (runtime.Object, error) {
	// The server would make a new one each time; the objects in it may be shared.
	return &appsv1.DeploymentList{ListMeta: c.list.ListMeta, Items: c.list.Items}, nil
}

func (c *canned) Watch(metav1.ListOptions) (watch.Interface, error) {
	w := watch.NewRaceFreeFake()
	if len(c.events) == 0 {
		c.cancel()
		return w, nil
	}
	out := make(chan watch.Event)
	go func() {
		for _, e := range c.events {
			out <- e
		}
		c.cancel()
		close(out)
	}()
	return watch.NewProxyWatcher(out), nil
}

func fill(b *testing.B, objects, events int) {
	c := &canned{list: &appsv1.DeploymentList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}}
	for i := range objects {
		d := deployment("web-" + strconv.Itoa(i))
		d.ResourceVersion = "1"
		c.list.Items = append(c.list.Items, *d)
	}
	for i := range events {
		d := deployment("web-0")
		d.ResourceVersion = strconv.Itoa(2 + i)
		c.events = append(c.events, watch.Event{Type: watch.Modified, Object: d})
	}
	for _, impl := range implementations {
		b.Run("impl="+impl.name, func(b *testing.B) {
			defer func() {
				if v := recover(); v != nil {
					if missing, ok := v.(todo.NotWritten); ok {
						b.Skip(missing)
					}
					panic(v)
				}
			}()
			b.ReportAllocs()
			for b.Loop() {
				ctx, cancel := context.WithCancel(b.Context())
				c.cancel = cancel
				s := cache.NewStore(cache.MetaNamespaceKeyFunc)
				impl.make(c, s).ListAndWatchWithContext(ctx)
				if n := len(s.ListKeys()); n != objects {
					b.Fatalf("%d objects are in the store, of %d", n, objects)
				}
			}
		})
	}
}

// BenchmarkFill is from a list to a store.
func BenchmarkFill(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) { fill(b, n, 0) })
	}
}

// BenchmarkEvents is a watch of 10,000 events.
func BenchmarkEvents(b *testing.B) { fill(b, 1, 10_000) }
