package guard

// This file is what the live view asks of a run by the environment: an answer soon, and builds that do not save memory.

import (
	"math"
	"os"
	"runtime/debug"
)

// BriefEnv is "1" where somebody waits for a first answer and asks for the whole one afterwards, as the live view does.
const BriefEnv = "WORKSHOP_BRIEF"

// Brief tells that this run is such a first answer. What is only repeated for the sake of chance is then done less often:
// Race has one child, and chapter 07 plays fewer weeks and makes fewer changes. No chapter is green by a brief run alone.
var Brief = os.Getenv(BriefEnv) == "1"

// HastyBuildEnv is "1" where the go command was told by GOGC and GOMEMLIMIT to collect little garbage, which makes builds
// faster and is not meant for the tests.
const HastyBuildEnv = "WORKSHOP_HASTY_BUILD"

func init() {
	if os.Getenv(HastyBuildEnv) == "1" {
		debug.SetGCPercent(100)
		debug.SetMemoryLimit(math.MaxInt64)
	}
}
