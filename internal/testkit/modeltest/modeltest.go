// Package modeltest tests by random sequences of calls. A test says which calls there are and what must hold after
// each. A run makes some dozens of calls in random order, and there are hundreds of runs. If one fails, Check makes its
// sequence as short as it can be while it still fails, and reports the remaining steps in the layout of package guard:
//
//	did     Add a@1
//	        Pop
//	        Delete a@2
//	wanted  …
//
// The choices and the shrinking are pgregory.net/rapid's; this package only joins it to guard. All tests of one program
// make the same sequences in each run, so a verdict does not depend on luck. For other and more sequences:
//
//	go test ./04-deltafifo -run Model -rapid.seed=7 -rapid.checks=100000
//
// What it leaves out: goroutines that really run at the same time. Steps come one after the other, so a failure can be
// reported as a list.
package modeltest

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing/synctest"

	"pgregory.net/rapid"

	"client-go-workshop/internal/testkit/guard"
)

// The defaults for rapid. A flag or an environment variable (RAPID_CHECKS and so on) that a person sets overrides them.
func init() {
	for _, setting := range []struct{ flag, env, value string }{
		{"rapid.seed", "RAPID_SEED", "1"},
		{"rapid.checks", "RAPID_CHECKS", "300"},
		{"rapid.nofailfile", "RAPID_NOFAILFILE", "true"}, // the failure itself prints the whole sequence
	} {
		if _, set := os.LookupEnv(setting.env); !set {
			if err := flag.Set(setting.flag, setting.value); err != nil {
				panic("set rapid's flag " + setting.flag + ": " + err.Error())
			}
		}
	}
}

// stepsShown is how many of the last steps a failure shows. After shrinking few sequences have more than ten.
const stepsShown = 60

// T is one run. Pass it to testify's assertions, and the embedded T to rapid's generators. Call its methods only on the
// goroutine that called Check.
type T struct {
	*rapid.T
	guard *guard.T
	final bool // whether this is the last run, which is reported
}

// Check makes the runs until one fails or all are done. A run is one call of prop, which must start from nothing each
// time; it fails by an assertion or by a panic. Call Check on the test's own goroutine.
func Check(t *guard.T, prop func(s *T)) {
	t.Helper()
	quiet, passed := &quiet{T: t}, false
	rapid.Check(quiet, func(r *rapid.T) {
		s := &T{T: r, guard: t, final: quiet.verdict != ""}
		if !s.final {
			prop(s)
			return
		}
		t.Story(stepsShown)
		ended := make(chan struct{})
		t.Go(func() { // on a goroutine of its own, where guard sees a panic before rapid does
			defer close(ended)
			prop(s)
			passed = true
		})
		<-ended
	})
	if passed {
		t.Fatalf("it failed, and did not fail when the same steps were repeated: does the code under test start a goroutine "+
			"that the test does not wait for?\n%s", quiet.verdict)
	}
	if quiet.verdict != "" {
		t.FailNow()
	}
}

// Did records a step, formatted at once.
func (s *T) Did(format string, args ...any) {
	if s.final {
		s.guard.Did(format, args...)
	}
}

// Rule names the rule that the run checks from here on.
func (s *T) Rule(format string, args ...any) {
	if s.final {
		s.guard.Rule(format, args...)
	}
}

// Errorf fails the run and lets it go on.
func (s *T) Errorf(format string, args ...any) {
	if s.final {
		s.guard.Errorf(format, args...)
		return
	}
	s.T.Errorf(format, args...)
}

// FailNow fails the run and ends it.
func (s *T) FailNow() {
	if s.final {
		s.guard.FailNow()
	}
	s.T.FailNow()
}

// Helper does nothing; testify calls it.
func (s *T) Helper() {}

// Steps makes random steps, each one of the actions. The map's keys only give them an order. An action that makes no
// sense at the moment calls Skip before it does anything; then rapid chooses another one.
func (s *T) Steps(actions map[string]func()) {
	all := map[string]func(*rapid.T){}
	for name, action := range actions {
		all[name] = func(*rapid.T) { action() }
	}
	s.Repeat(all)
}

// Pick returns one of the values. Shrinking prefers the first ones.
func Pick[V any](s *T, name string, values ...V) V {
	return rapid.SampledFrom(values).Draw(s.T, name)
}

// Returns calls f on another goroutine and reports whether it returned. If not, f and everything else in the bubble are
// blocked; the test must unblock f before it ends.
func (s *T) Returns(f func()) bool {
	type end struct {
		returned bool
		failed   any
	}
	ended := make(chan end, 1) // buffered: f may end when nothing receives any more
	s.guard.Go(func() {
		var e end
		defer func() {
			if !s.final {
				e.failed = recover()
			}
			ended <- e
		}()
		f()
		e.returned = true
	})
	synctest.Wait()
	select {
	case e := <-ended:
		switch {
		case e.failed != nil:
			panic(e.failed)
		case !e.returned: // code that is not written yet, or a panic that guard has seen
			s.guard.FailNow()
		}
		return true
	default:
		return false
	}
}

// quiet receives rapid's reports and keeps the verdict. The last run reports the same failure in guard's layout.
type quiet struct {
	*guard.T
	verdict string // what failed, set before rapid makes the last run
}

func (q *quiet) Errorf(format string, args ...any) {
	q.verdict, _, _ = strings.Cut(fmt.Sprintf(format, args...), "\nTraceback")
}
func (q *quiet) Logf(string, ...any) {}
