package guard

// This file measures work in a way that does not depend on what else the machine does. Systems differ in how they tell
// the time of a process, so each has a file of its own.

import (
	"runtime"
	"time"
)

// ProcessorTime returns how long the processors work for this process while f runs. Time in which others have them does
// not count, so a bound holds on a busy machine too. On Windows it is real time: the clock of a process ticks 64 times
// in a second there. Where other goroutines are idle, as in Race, this is the work of f.
func ProcessorTime(f func()) time.Duration {
	start, used := time.Now(), processorTime()
	f()
	if runtime.GOOS == "windows" {
		return time.Since(start)
	}
	return processorTime() - used
}
