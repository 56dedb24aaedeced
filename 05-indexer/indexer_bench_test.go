package indexer_test

// The same benchmarks for your code, the solution and client-go, in one run:
//
//	go test ./05-indexer -run '^$' -bench . -count 10 > bench.txt
//	go run golang.org/x/perf/cmd/benchstat@latest -col /impl bench.txt
//
// Code that you have not written yet is skipped.

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"

	indexer "client-go-workshop/05-indexer"
	"client-go-workshop/internal/testkit/todo"
	solution "client-go-workshop/solutions/05-indexer"
)

// implementations are compared under the name "impl", which benchstat can make its columns.
var implementations = []struct {
	name string
	new  func(cache.Indexers) cache.Indexer
}{
	{"yours", func(i cache.Indexers) cache.Indexer { return indexer.NewIndexer(cache.MetaNamespaceKeyFunc, i) }},
	{"solution", func(i cache.Indexers) cache.Indexer { return solution.NewIndexer(cache.MetaNamespaceKeyFunc, i) }},
	{"client-go", func(i cache.Indexers) cache.Indexer { return cache.NewIndexer(cache.MetaNamespaceKeyFunc, i) }},
}

// compare runs one benchmark over each implementation, each with the two indexes of a common controller.
func compare(b *testing.B, run func(b *testing.B, s cache.Indexer)) {
	for _, impl := range implementations {
		b.Run("impl="+impl.name, func(b *testing.B) {
			defer skipTodos(b)
			b.ReportAllocs()
			run(b, impl.new(cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc, "image": images}))
		})
	}
}

// skipTodos skips a benchmark that has met code which is not written yet.
func skipTodos(b *testing.B) {
	switch reason := recover().(type) {
	case nil:
	case todo.NotWritten:
		b.Skip(reason)
	default:
		panic(reason)
	}
}

// fleet makes n Deployments, a hundred in each namespace, of ten images.
func fleet(n int) []any {
	objs := make([]any, n)
	for i := range objs {
		objs[i] = deploy(fmt.Sprintf("ns-%d/web-%d", i/100, i), fmt.Sprintf("nginx:%d", i%10), "@7")
	}
	return objs
}

func must(b *testing.B, err error) {
	if err != nil {
		b.Fatal(err)
	}
}

func BenchmarkAdd(b *testing.B) {
	objs := fleet(10_000)
	compare(b, func(b *testing.B, s cache.Indexer) {
		for i := 0; b.Loop(); i++ {
			if i%len(objs) == 0 {
				b.StopTimer()
				must(b, s.Replace(nil, ""))
				b.StartTimer()
			}
			must(b, s.Add(objs[i%len(objs)]))
		}
	})
}

func BenchmarkUpdateInPlace(b *testing.B) {
	objs := fleet(10_000)
	compare(b, func(b *testing.B, s cache.Indexer) {
		must(b, s.Replace(objs, "7"))
		for i := 0; b.Loop(); i++ {
			must(b, s.Update(objs[i%len(objs)]))
		}
	})
}

func BenchmarkUpdateMovesEntry(b *testing.B) {
	objs := fleet(10_000)
	moved := fleet(10_000)
	for _, obj := range moved {
		obj.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Image += "-new"
	}
	compare(b, func(b *testing.B, s cache.Indexer) {
		must(b, s.Replace(objs, "7"))
		for i := 0; b.Loop(); i++ {
			if i/len(objs)%2 == 0 {
				must(b, s.Update(moved[i%len(objs)]))
			} else {
				must(b, s.Update(objs[i%len(objs)]))
			}
		}
	})
}

func BenchmarkByIndex(b *testing.B) {
	objs := fleet(10_000)
	compare(b, func(b *testing.B, s cache.Indexer) {
		must(b, s.Replace(objs, "7"))
		for b.Loop() {
			_, err := s.ByIndex(cache.NamespaceIndex, "ns-7")
			must(b, err)
		}
	})
}

func BenchmarkIndex(b *testing.B) {
	objs := fleet(10_000)
	compare(b, func(b *testing.B, s cache.Indexer) {
		must(b, s.Replace(objs, "7"))
		for b.Loop() {
			_, err := s.Index(cache.NamespaceIndex, objs[777])
			must(b, err)
		}
	})
}

func BenchmarkReplace10000(b *testing.B) {
	objs := fleet(10_000)
	compare(b, func(b *testing.B, s cache.Indexer) {
		for b.Loop() {
			must(b, s.Replace(objs, "7"))
		}
	})
}

func BenchmarkParallelReadsWithOneWriter(b *testing.B) {
	objs := fleet(10_000)
	compare(b, func(b *testing.B, s cache.Indexer) {
		must(b, s.Replace(objs, "7"))
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					_ = s.Update(objs[i%len(objs)])
				}
			}
		}()
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				_, _, _ = s.GetByKey("ns-7/web-777")
			}
		})
		close(stop)
		<-stopped
	})
}
