package deltafifo_test

// The same benchmarks for your code, the solution and client-go, in one run:
//
//	go test ./04-deltafifo -run '^$' -bench . -count 10 > bench.txt
//	go run golang.org/x/perf/cmd/benchstat@latest -col /impl bench.txt
//
// Benchmarks of functions that you have not written yet are skipped.

import (
	"fmt"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/tools/cache"

	deltafifo "client-go-workshop/04-deltafifo"
	"client-go-workshop/internal/testkit/todo"
	solution "client-go-workshop/solutions/04-deltafifo"
)

// implementations are compared under the name "impl", which benchstat can make its columns.
var implementations = []struct {
	name string
	new  func(options) cache.Queue
}{
	{"yours", func(o options) cache.Queue { return deltafifo.NewDeltaFIFOWithOptions(o) }},
	{"solution", func(o options) cache.Queue { return solution.NewDeltaFIFOWithOptions(o) }},
	{"client-go", func(o options) cache.Queue { return cache.NewDeltaFIFOWithOptions(o) }},
}

// compare runs one benchmark over each implementation. The known objects are in a real store.
func compare(b *testing.B, run func(b *testing.B, q cache.Queue, known cache.Store)) {
	for _, impl := range implementations {
		b.Run("impl="+impl.name, func(b *testing.B) {
			defer skipTodos(b)
			b.ReportAllocs()
			known := cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc)
			run(b, impl.new(options{KnownObjects: known, EmitDeltaTypeReplaced: true}), known)
		})
	}
}

// skipTodos skips a benchmark that calls a function which is not written yet.
func skipTodos(b *testing.B) {
	switch reason := recover().(type) {
	case nil:
	case todo.NotWritten:
		b.Skip(reason)
	default:
		panic(reason)
	}
}

func fleet(n int) []any {
	objs := make([]any, n)
	for i := range objs {
		objs[i] = deploy(fmt.Sprintf("ns-%d/web-%d@7", i/100, i))
	}
	return objs
}

func must(b *testing.B, err error) {
	if err != nil {
		b.Fatal(err)
	}
}

func ignore(any, bool) error { return nil }

func pop(b *testing.B, q cache.Queue) {
	_, err := q.Pop(ignore)
	must(b, err)
}

func BenchmarkAddPop(b *testing.B) {
	objs := fleet(1_000)
	compare(b, func(b *testing.B, q cache.Queue, _ cache.Store) {
		for i := 0; b.Loop(); i++ {
			must(b, q.Add(objs[i%len(objs)]))
			pop(b, q)
		}
	})
}

// One key gets eight deltas before it is popped.
func BenchmarkHotKey(b *testing.B) {
	objs := fleet(1)
	compare(b, func(b *testing.B, q cache.Queue, _ cache.Store) {
		for b.Loop() {
			for range 8 {
				must(b, q.Update(objs[0]))
			}
			pop(b, q)
		}
	})
}

// 1,000 keys are in the queue at any time.
func BenchmarkSpreadKeys(b *testing.B) {
	objs := fleet(10_000)
	compare(b, func(b *testing.B, q cache.Queue, _ cache.Store) {
		for i := range 1_000 {
			must(b, q.Add(objs[i]))
		}
		for i := 1_000; b.Loop(); i++ {
			must(b, q.Update(objs[i%len(objs)]))
			pop(b, q)
		}
	})
}

func BenchmarkDelete(b *testing.B) {
	objs := fleet(1_000)
	compare(b, func(b *testing.B, q cache.Queue, known cache.Store) {
		must(b, known.Replace(objs, "7"))
		for i := 0; b.Loop(); i++ {
			must(b, q.Delete(objs[i%len(objs)]))
			pop(b, q)
		}
	})
}

// A relist after which nothing has changed, and everything is popped.
func BenchmarkReplace10000(b *testing.B) {
	objs := fleet(10_000)
	compare(b, func(b *testing.B, q cache.Queue, known cache.Store) {
		must(b, known.Replace(objs, "7"))
		for b.Loop() {
			must(b, q.Replace(objs, "8"))
			for range objs {
				pop(b, q)
			}
		}
	})
}

// A relist after which everything is gone.
func BenchmarkReplaceDeletes10000(b *testing.B) {
	objs := fleet(10_000)
	compare(b, func(b *testing.B, q cache.Queue, known cache.Store) {
		must(b, known.Replace(objs, "7"))
		for b.Loop() {
			must(b, q.Replace(nil, "8"))
			for range objs {
				pop(b, q)
			}
		}
	})
}

func BenchmarkResync10000(b *testing.B) {
	objs := fleet(10_000)
	compare(b, func(b *testing.B, q cache.Queue, known cache.Store) {
		must(b, known.Replace(objs, "7"))
		for b.Loop() {
			must(b, q.Resync())
			for range objs {
				pop(b, q)
			}
		}
	})
}

func BenchmarkParallel2(b *testing.B) { parallel(b, 2) }
func BenchmarkParallel8(b *testing.B) { parallel(b, 8) }

// parallel has some producers, half of them on one hot key, and one consumer.
func parallel(b *testing.B, producers int) {
	objs := fleet(1_000)
	compare(b, func(b *testing.B, q cache.Queue, _ cache.Store) {
		must(b, q.Update(objs[0])) // if Update is not written yet, skip here
		pop(b, q)
		consumed := make(chan struct{})
		go func() {
			defer close(consumed)
			for {
				if _, err := q.Pop(ignore); err != nil {
					return
				}
			}
		}()
		var next atomic.Int64
		b.SetParallelism(producers)
		b.RunParallel(func(pb *testing.PB) {
			hot := next.Add(1)%2 == 0
			for i := 0; pb.Next(); i++ {
				if hot {
					i = 0
				}
				_ = q.Update(objs[i%len(objs)])
			}
		})
		q.Close()
		<-consumed
	})
}
