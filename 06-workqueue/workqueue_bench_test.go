package workqueue_test

// The same benchmarks for your code, the solution and client-go, in one run:
//
//	go test ./06-workqueue -run '^$' -bench . -count 10 > bench.txt
//	go run golang.org/x/perf/cmd/benchstat@latest -col /impl bench.txt
//
// Benchmarks of code that is not written yet are skipped.

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientgo "k8s.io/client-go/util/workqueue"
	testclock "k8s.io/utils/clock/testing"

	workqueue "client-go-workshop/06-workqueue"
	"client-go-workshop/internal/testkit/todo"
	solution "client-go-workshop/solutions/06-workqueue"
)

type delayingConfig = clientgo.TypedDelayingQueueConfig[string]

// implementations are compared under the name "impl", which benchstat can make its columns.
var implementations = []struct {
	name    string
	plain   func() clientgo.TypedInterface[string]
	delayed func(delayingConfig) clientgo.TypedDelayingInterface[string]
	limiter func() clientgo.TypedRateLimiter[string]
}{
	{
		"yours",
		func() clientgo.TypedInterface[string] { return workqueue.NewTyped[string]() },
		workqueue.NewTypedDelayingQueueWithConfig[string],
		workqueue.DefaultTypedItemBasedRateLimiter[string],
	},
	{
		"solution",
		func() clientgo.TypedInterface[string] { return solution.NewTyped[string]() },
		solution.NewTypedDelayingQueueWithConfig[string],
		solution.DefaultTypedItemBasedRateLimiter[string],
	},
	{
		"client-go",
		func() clientgo.TypedInterface[string] { return clientgo.NewTyped[string]() },
		clientgo.NewTypedDelayingQueueWithConfig[string],
		clientgo.DefaultTypedItemBasedRateLimiter[string],
	},
}

// comparePlain runs one benchmark over each implementation of the plain queue.
func comparePlain(b *testing.B, run func(b *testing.B, q clientgo.TypedInterface[string])) {
	for _, impl := range implementations {
		b.Run("impl="+impl.name, func(b *testing.B) {
			defer skipTodos(b)
			b.ReportAllocs()
			q := impl.plain()
			q.Add("a todo on another goroutine could not be skipped, so meet them here")
			item, _ := q.Get()
			q.Done(item)
			run(b, q)
		})
	}
}

// skipTodos skips a benchmark that needs code which is not written yet.
func skipTodos(b *testing.B) {
	switch reason := recover().(type) {
	case nil:
	case todo.NotWritten:
		b.Skip(reason)
	default:
		panic(reason)
	}
}

// keys makes the keys of n Deployments.
func keys(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("ns-%d/web-%d", i/100, i)
	}
	return all
}

func BenchmarkAddGetDone(b *testing.B) {
	all := keys(10_000)
	comparePlain(b, func(b *testing.B, q clientgo.TypedInterface[string]) {
		for i := 0; b.Loop(); i++ {
			q.Add(all[i%len(all)])
			item, _ := q.Get()
			q.Done(item)
		}
	})
}

// BenchmarkRelist adds all keys and then processes them, as a controller does when it starts.
func BenchmarkRelist10000(b *testing.B) {
	all := keys(10_000)
	comparePlain(b, func(b *testing.B, q clientgo.TypedInterface[string]) {
		for b.Loop() {
			for _, key := range all {
				q.Add(key)
			}
			for range all {
				item, _ := q.Get()
				q.Done(item)
			}
		}
	})
}

// BenchmarkAddHotKey adds a key that is already queued, like most events of a busy object.
func BenchmarkAddHotKey(b *testing.B) {
	comparePlain(b, func(b *testing.B, q clientgo.TypedInterface[string]) {
		for b.Loop() {
			q.Add("default/web")
		}
	})
}

// BenchmarkWorkers runs n goroutines. Each calls Add, Get and Done, until b.N keys were added. There are many keys, or
// only one, for which the goroutines have to wait.
func BenchmarkWorkers(b *testing.B) {
	for _, from := range []int{10_000, 1} {
		all := keys(from)
		for _, n := range []int{2, 8} {
			b.Run(fmt.Sprintf("keys=%d/goroutines=%d", from, n), func(b *testing.B) {
				comparePlain(b, func(b *testing.B, q clientgo.TypedInterface[string]) {
					var added atomic.Int64
					var workers sync.WaitGroup
					for range n {
						workers.Go(func() {
							for {
								i := int(added.Add(1))
								q.Add(all[i%len(all)])
								if i >= b.N {
									q.ShutDown() // for the goroutines that still wait
								}
								item, shutdown := q.Get()
								if shutdown {
									return
								}
								q.Done(item)
							}
						})
					}
					workers.Wait()
				})
			})
		}
	}
}

// BenchmarkDelayed100000 delays 100,000 items until all of them come. The test sets the clock, so the benchmark
// measures the work and not the waiting.
func BenchmarkDelayed100000(b *testing.B) {
	all := keys(100_000)
	for _, impl := range implementations {
		b.Run("impl="+impl.name, func(b *testing.B) {
			defer skipTodos(b)
			b.ReportAllocs()
			clock := testclock.NewFakeClock(time.Now())
			q := impl.delayed(delayingConfig{Clock: clock})
			defer q.ShutDown()
			for b.Loop() {
				for i, key := range all {
					q.AddAfter(key, time.Second+time.Duration(i*7919%len(all))*time.Microsecond)
				}
				for q.Len() < len(all) {
					clock.Step(time.Second) // again, if not all items were delayed yet
					time.Sleep(50 * time.Microsecond)
				}
				for range all {
					item, _ := q.Get()
					q.Done(item)
				}
			}
		})
	}
}

// BenchmarkAddAfterAgain asks for a later time for delayed items, like a controller that asks for its next look at the
// end of each reconcile.
func BenchmarkAddAfterAgain(b *testing.B) {
	all := keys(10_000)
	for _, impl := range implementations {
		b.Run("impl="+impl.name, func(b *testing.B) {
			defer skipTodos(b)
			b.ReportAllocs()
			q := impl.delayed(delayingConfig{})
			defer q.ShutDown()
			for _, key := range all {
				q.AddAfter(key, time.Hour)
			}
			for i := 0; b.Loop(); i++ {
				q.AddAfter(all[i%len(all)], time.Hour)
			}
		})
	}
}

func BenchmarkLimiterWhen(b *testing.B) {
	all := keys(10_000)
	for _, impl := range implementations {
		b.Run("impl="+impl.name, func(b *testing.B) {
			defer skipTodos(b)
			b.ReportAllocs()
			limiter := impl.limiter()
			for i := 0; b.Loop(); i++ {
				limiter.When(all[i%len(all)])
			}
		})
	}
}
