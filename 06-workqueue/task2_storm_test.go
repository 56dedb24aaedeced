package workqueue_test

// Task 2: goroutines use one queue while another one shuts it down.

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/util/workqueue"

	workqueue "client-go-workshop/06-workqueue"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask2_Nothing_is_lost_in_a_storm(t *testing.T) {
	guard.Test(t, "No Add before ShutDown is lost, and only one worker has an item at a time, even if many "+
		"goroutines use the queue.", func(t *guard.T) {
		for seed := range uint64(20) {
			t.Story(8)
			storm(t, seed)
		}
	})
}

// storm runs 16 producers, 8 workers and a shutdown on one queue. Each producer changes an object before it adds the
// item. After the last Add that returned before ShutDown, a worker must look at the object.
func storm(t *guard.T, seed uint64) {
	const producers, workers = 16, 8
	keys := []int{1, 2, 4, 12}[seed%4]
	t.Did("%d goroutines Add %d items, %d Get and Done, and one calls ShutDown; seed %d", producers, keys, workers, seed)
	type object struct {
		changes, promised, seen atomic.Int64
		hands                   atomic.Int32
	}
	q := workqueue.NewTyped[int]()
	objects := make([]object, keys)
	var closing atomic.Bool
	var twice atomic.Int32
	var unfinished []*call
	for range workers {
		unfinished = append(unfinished, start(t, func() string {
			for {
				item, down := q.Get()
				if down {
					return returned
				}
				o := &objects[item]
				if o.hands.Add(1) > 1 {
					twice.Add(1)
				}
				raise(&o.seen, o.changes.Load())
				runtime.Gosched()
				o.hands.Add(-1)
				q.Done(item)
			}
		}))
	}
	adds := 100 + rand.New(rand.NewPCG(seed, 6)).IntN(10_000)
	var added atomic.Int64
	for p := range producers {
		unfinished = append(unfinished, start(t, func() string {
			random := rand.New(rand.NewPCG(seed, uint64(p)))
			for !closing.Load() {
				item := random.IntN(keys)
				o := &objects[item]
				change := o.changes.Add(1)
				q.Add(item)
				runtime.Gosched() // otherwise one of them could add everything before the others start
				if !closing.Load() {
					raise(&o.promised, change)
				}
				if int(added.Add(1)) == adds {
					closing.Store(true)
					q.ShutDown()
				}
			}
			return returned
		}))
	}
	t.Rule("After ShutDown every Get returns a queued item or shutdown.")
	require.NotContains(t, results(unfinished...), waits, "the results of the workers and the producers")
	lost := 0
	for item := range objects {
		if o := &objects[item]; o.seen.Load() < o.promised.Load() {
			lost++
		}
	}
	t.Rule("If Add returned before ShutDown was called, a worker gets the item after that Add.")
	require.Equal(t, 0, lost, "items whose last Add was lost")
	t.Rule("Only one worker has an item at a time.")
	require.Equal(t, 0, int(twice.Load()), "times that a second worker got an item being processed")
}

// raise sets v to at least n.
func raise(v *atomic.Int64, n int64) {
	for old := v.Load(); old < n && !v.CompareAndSwap(old, n); old = v.Load() {
	}
}

// lookedAt is a Queue for the config that calls a function when the worker in Get has seen an empty queue, and does not
// wait yet.
type lookedAt struct {
	clientgo.Queue[string]
	then func()
}

func (l *lookedAt) Len() int {
	n, then := l.Queue.Len(), l.then
	if l.then = nil; then != nil {
		then()
	}
	return n
}

func TestTask2_No_worker_sleeps_through_ShutDown(t *testing.T) {
	guard.Test(t, "ShutDown wakes every worker that waits in Get. A worker that has seen an empty queue, and does not "+
		"wait yet, must notice it too.", func(t *guard.T) {
		for name, down := range guard.InOrder(map[string]func(q loggedQueue){
			"ShutDown":          func(q loggedQueue) { q.TypedInterface.ShutDown() },
			"ShutDownWithDrain": func(q loggedQueue) { q.TypedInterface.ShutDownWithDrain() },
		}) {
			t.Story(8)
			below := &lookedAt{Queue: workqueue.DefaultQueue[string]()}
			q := loggedQueue{workqueue.NewTypedWithConfig(clientgo.TypedQueueConfig[string]{Queue: below}), t}
			below.then = func() { during(t, name, func() { down(q) }) }
			t.Did("%s, when Get has seen that the queue is empty:", name)
			worker := q.GetLater()
			synctest.Wait()
			if below.then != nil {
				down(q) // Get has found out in another way that the queue is empty
			}
			require.Equal(t, shutdown, worker.result(), "Get")
		}
	})
}
