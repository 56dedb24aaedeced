package guard

// This file sets how fast a run is and how much memory it takes for that. The live view asks by the environment for an
// answer soon, and for builds that do not save memory.

import (
	"math"
	"os"
	"runtime/debug"
	"sync"

	"client-go-workshop/internal/testkit/env"
)

// Brief is true when the live view waits for a first answer and asks for the whole one afterwards.
// Work that is repeated only for chance is then done less often: Race starts one child, and chapter 07 plays fewer
// weeks. No chapter is green by a brief run alone.
var Brief = os.Getenv(env.Brief) == "1"

// Times returns whole, in a brief run brief: how often a test does what it repeats.
func Times(whole, brief int) int {
	if Brief {
		return brief
	}
	return whole
}

// The go command was asked to collect little garbage, which makes builds faster and is not meant for the tests.
func init() {
	if os.Getenv(env.HastyBuild) == "1" {
		debug.SetGCPercent(100)
		debug.SetMemoryLimit(math.MaxInt64)
	}
}

// collectLess lets the heap grow to five times of what lives instead of twice. The tests keep few megabytes, and with
// Go's own setting they spend up to a third of their time on garbage. A GOGC of the learner's counts, and so does Go's
// setting in benchmarks: no test runs before them.
var collectLess = sync.OnceFunc(func() {
	if os.Getenv("GOGC") == "" || os.Getenv(env.HastyBuild) == "1" {
		debug.SetGCPercent(400)
	}
})
