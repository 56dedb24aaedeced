// Package env names the environment variables by which one part of the workshop speaks to another.
//
// The runner sets them and package guard reads them, in another process. The names stand here so that neither side
// imports the other.
package env

const (
	// Failures is "1" when the tests report each failure as an attribute, for a program, and not as text.
	Failures = "WORKSHOP_FAILURES"
	// Brief is "1" when a learner waits for a first answer: work that is repeated only for chance is done once.
	Brief = "WORKSHOP_BRIEF"
	// HastyBuild is "1" when GOGC and GOMEMLIMIT are set for the go command alone. The tests undo them.
	HastyBuild = "WORKSHOP_HASTY_BUILD"
	// TestLimit is how long one test may run, as a duration such as "2m".
	TestLimit = "WORKSHOP_TEST_LIMIT"
	// MemoryLimit is how much memory the tests may take, in MiB. Without it they may take 1536.
	MemoryLimit = "WORKSHOP_MEMORY_LIMIT"
	// Recordings is the folder for the recordings of failures, or "off" for none. Without it, they are in
	// .workshop/recordings.
	Recordings = "WORKSHOP_RECORDINGS"
)
