// Package stress has the flag of the tests that attack the workshop for minutes: commands at once, kills at random
// moments, full disks, and a server under load. Without the flag they are skipped.
//
//	go test ./cmd/workshop ./cmd/fakeapi -run Stress -v -stress 1m
//
// docs/develop/reliability.md says which promise each of them attacks.
package stress

import (
	"flag"
	"iter"
	"math/rand/v2"
	"testing"
	"time"
)

var (
	length = flag.Duration("stress", 0, "how long each stress test runs; without this flag they are skipped")
	seed   = flag.Uint64("stress.seed", 0, "the seed that an earlier run printed (default: the time)")
)

// For returns how long the test shall run. It skips the test if the flag is not set.
func For(t testing.TB) time.Duration {
	t.Helper()
	if *length == 0 {
		t.Skip("takes long: run it with -stress 1m")
	}
	return *length
}

// Rounds returns the rounds of a test until its time is over, but at least so many. Each round has random numbers of
// its own. The log has the seed, and the number of the last round.
func Rounds(t testing.TB, least int) iter.Seq2[int, *rand.Rand] {
	t.Helper()
	began, limit := time.Now(), For(t)
	s := *seed
	if s == 0 {
		s = uint64(began.UnixNano())
	}
	return func(yield func(int, *rand.Rand) bool) {
		round := 0
		defer func() {
			t.Logf("seed %d: %d rounds in %v", s, round, time.Since(began).Round(time.Millisecond))
		}()
		for ; round < least || time.Since(began) < limit; round++ {
			if !yield(round, rand.New(rand.NewPCG(s, uint64(round)))) {
				return
			}
		}
	}
}
