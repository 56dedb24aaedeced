package guard

// This file ends a test whose memory grows without end: a loop that allocates, or one that starts goroutines. Left
// alone, it would take the whole machine before the watchdog speaks.

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"client-go-workshop/internal/testkit/env"
	"client-go-workshop/internal/testkit/failure"
)

const (
	memoryEvery      = 50 * time.Millisecond
	manyGoroutines   = 10_000
	timeToReport     = 2 * time.Second
	shortDump        = 1 << 20 // bytes; a whole dump of a million goroutines takes half a minute
	defaultMemoryMiB = 1536
)

// memoryLimit is how many bytes this process may hold. The environment variable WORKSHOP_MEMORY_LIMIT, in MiB, changes
// it.
var memoryLimit = func() uint64 {
	mib, _ := strconv.ParseUint(os.Getenv(env.MemoryLimit), 10, 32)
	return cmp.Or(mib, defaultMemoryMiB) << 20
}()

// tooLarge is set when a test was stopped because of its memory. Its goroutines go on, so no test runs after it.
var tooLarge atomic.Bool

// inUse returns how many bytes the Go runtime has from the system.
func inUse() uint64 {
	samples := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// overLimit reports whether the process holds too much that is in use. Garbage does not count.
func overLimit() (bytes uint64, over bool) {
	if bytes = inUse(); bytes > memoryLimit && runtime.NumGoroutine() < manyGoroutines {
		debug.FreeOSMemory() // takes long with many goroutines, whose stacks are no garbage anyway
		bytes = inUse()
	}
	return bytes, bytes > memoryLimit
}

// usesTooMuch reports a test that was stopped because of its memory, and sees to it that the process ends soon.
func (r *run) usesTooMuch(bytes uint64) {
	tooLarge.Store(true)
	dump := allGoroutines()
	name, at, got := "the test", r.start, fmt.Sprintf("%d MiB", bytes>>20)
	if n := runtime.NumGoroutine(); n > manyGoroutines {
		got += fmt.Sprintf(", in %d goroutines", n)
	}
	if all := r.waiters(dump); len(all) > 0 {
		name, at = all[0].call.short(r.where), r.lineOf(all[0])
		first := all[0].id
		idle := func(w waiter) bool { return w.id != first && !w.isRunning() }
		got += "\n" + r.list(slices.DeleteFunc(all, idle), r.is)
	}
	r.fail(failure.Failure{
		Kind:    failure.Memory,
		At:      at,
		Problem: name + " takes too much memory",
		Wanted:  fmt.Sprintf("less than %d MiB", memoryLimit>>20),
		Got:     got,
		Why:     "A loop that does not end grows a slice, a map, or the number of goroutines.",
	})
	go func() { // the report takes a moment, while the code goes on to grow
		reported := time.Now().Add(timeToReport)
		for inUse() < 4*memoryLimit && (inUse() < 2*memoryLimit || time.Now().Before(reported)) {
			time.Sleep(memoryEvery)
		}
		os.Exit(1)
	}()
}
