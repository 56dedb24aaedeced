package deltafifo_test

// What tests measure: bytes, garbage, and whether a call is held up.

import (
	"runtime"
	"weak"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"client-go-workshop/internal/testkit/guard"
)

// bytesPerCall returns how much memory a call allocates, on average over many.
func bytesPerCall(calls int, call func(i int)) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range calls {
		call(i)
	}
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc-before.TotalAlloc) / calls
}

// heapInUse returns the number of bytes in use after a garbage collection.
func heapInUse() int {
	runtime.GC()
	runtime.GC() // what had a finalizer or was in a sync.Pool
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// requireCollected collects garbage, and requires that none of the objects is left.
func requireCollected(t *guard.T, objs ...weak.Pointer[appsv1.Deployment]) {
	t.Helper()
	t.Did("collect garbage")
	runtime.GC()
	runtime.GC()
	kept := 0
	for _, obj := range objs {
		if obj.Value() != nil {
			kept++
		}
	}
	require.Equal(t, 0, kept, "popped objects that are still in memory")
}

// meanwhile runs call on its own goroutine and reports whether it ended. It gives call far more turns than it needs if
// nothing blocks it. Use it where the queue holds its lock and calls the test. With one processor, Gosched gives the
// turn to the other goroutine, however busy the machine is.
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
