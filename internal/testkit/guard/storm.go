package guard

// This file lets goroutines collide, as hard as they can.

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Storm runs the calls against each other, each on a goroutine of its own, in three rounds. It is for Race.
//
// First one after the other, in order, so that what fails even alone does so in the same way every time. Then a few
// times each with nothing that orders them: that is what the race detector needs, and whether they really meet does not
// matter to it. Then hundreds of times, all at once, none resting before all have done their share: that is what the
// runtime needs to notice two goroutines in one map, and a reader to see half a change.
func Storm(calls ...func(i int)) {
	for _, call := range calls {
		call(0)
	}
	var all sync.WaitGroup
	for _, call := range calls {
		all.Go(func() {
			for i := 1; i < 20; i++ {
				call(i)
			}
		})
	}
	all.Wait()
	const share, most = 500, 1_000_000 // if one of the calls never returns, the others end too
	var begun, done atomic.Int32
	everybody := int32(len(calls))
	for _, call := range calls {
		all.Go(func() {
			finish := sync.OnceFunc(func() { done.Add(1) })
			defer finish() // also when call ends the goroutine
			for begun.Add(1); begun.Load() < everybody; {
				runtime.Gosched()
			}
			for i := 20; done.Load() < everybody && i < most; i++ {
				call(i)
				if i == share {
					finish()
				}
			}
		})
	}
	all.Wait()
}

// Meet lets two goroutines call f(0), f(1) and so on up to n-1. Both call f(i) at nearly the same moment: they wait for
// each other before each call. Then the first to arrive, which notices the other late, and the other, which idles for a
// while of changing length, go on together. Meet returns when both have ended. A panic of one is a failure of the test.
func Meet(t *T, n int, f func(i int)) {
	var arrived atomic.Int64
	var left atomic.Bool // one of them has ended, perhaps by a panic
	var both sync.WaitGroup
	both.Add(2)
	for range 2 {
		t.Go(func() {
			defer both.Done()
			defer left.Store(true)
			for i := range n {
				all := int64(2 * (i + 1))
				if arrived.Add(1) == all {
					for idle := i % 64; idle > 0; {
						idle--
					}
				}
				for spins := 0; arrived.Load() < all && !left.Load(); spins++ {
					if spins > 1000 { // one processor, or a busy one
						runtime.Gosched()
					}
				}
				f(i)
			}
		})
	}
	both.Wait()
}
