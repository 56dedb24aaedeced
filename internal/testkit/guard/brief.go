package guard

// This file is what the live view asks of a run by the environment: an answer soon, and builds that do not save memory.

import (
	"math"
	"os"
	"runtime/debug"

	"client-go-workshop/internal/testkit/env"
)

// Brief is true when the live view waits for a first answer and asks for the whole one afterwards.
// Work that is repeated only for chance is then done less often: Race starts one child, and chapter 07 plays fewer
// weeks. No chapter is green by a brief run alone.
var Brief = os.Getenv(env.Brief) == "1"

// The go command was asked to collect little garbage, which makes builds faster and is not meant for the tests.
func init() {
	if os.Getenv(env.HastyBuild) == "1" {
		debug.SetGCPercent(100)
		debug.SetMemoryLimit(math.MaxInt64)
	}
}
