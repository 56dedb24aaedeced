// Package modeltest tests by random sequences of calls. A test says which calls there are and what must hold after each; a
// run makes some dozens of them in random order, and there are hundreds of runs. When one fails, the sequence is made as
// short as it can be while it still fails, and what is left is told step by step, in the layout of package guard:
//
//	did     Add a@1
//	        Pop
//	        Delete a@2
//	wanted  …
//
// The choices and the shrinking are pgregory.net/rapid's; this package only joins it to guard. All tests of one program
// see the same sequences in each run, so a verdict does not depend on luck. For others, and for more of them:
//
//	go test ./04-deltafifo -run Model -rapid.seed=7 -rapid.checks=100000
//
// What it leaves out: goroutines that really run at the same time. A story is a sequence, and that is why it can be told.
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

// Rapid reads the same settings from RAPID_CHECKS and so on; what a person sets, by either way, is left alone.
func init() {
	for _, setting := range []struct{ flag, env, value string }{
		{"rapid.seed", "RAPID_SEED", "1"},
		{"rapid.checks", "RAPID_CHECKS", "300"},
		{"rapid.nofailfile", "RAPID_NOFAILFILE", "true"}, // the story is short enough to be read
	} {
		if _, set := os.LookupEnv(setting.env); !set {
			if err := flag.Set(setting.flag, setting.value); err != nil {
				panic("rapid has no flag " + setting.flag + " any more: " + err.Error())
			}
		}
	}
}

const stepsTold = 60 // a story that is longer loses its beginning; after shrinking few have ten steps

// T is one run. It can be given to testify, and to rapid's generators through the embedded T. Its methods must be called
// on the goroutine that Check was called on.
type T struct {
	*rapid.T
	guard *guard.T
	told  bool // this is the last run, the one that is reported
}

// Check makes the runs, until one fails or all are done. A run is one call of prop, which must start from nothing each
// time; it may fail by an assertion or by a panic. Check must be called on the test's own goroutine.
func Check(t *guard.T, prop func(s *T)) {
	t.Helper()
	quiet, passed := &quiet{T: t}, false
	rapid.Check(quiet, func(r *rapid.T) {
		s := &T{T: r, guard: t, told: quiet.verdict != ""}
		if !s.told {
			prop(s)
			return
		}
		t.Story(stepsTold)
		ended := make(chan struct{})
		t.Go(func() { // on a goroutine of its own, where guard sees a panic before rapid does
			defer close(ended)
			prop(s)
			passed = true
		})
		<-ended
	})
	if passed {
		t.Fatalf("it failed, and did not fail when the same was done again: is there a goroutine in the code under test that the test does not wait for?\n%s", quiet.verdict)
	}
	if quiet.verdict != "" {
		t.FailNow()
	}
}

// Did notes a step, formatted at once.
func (s *T) Did(format string, args ...any) {
	if s.told {
		s.guard.Did(format, args...)
	}
}

// Rule names the rule that the run checks from here on.
func (s *T) Rule(format string, args ...any) {
	if s.told {
		s.guard.Rule(format, args...)
	}
}

// Errorf fails the run and lets it go on.
func (s *T) Errorf(format string, args ...any) {
	if s.told {
		s.guard.Errorf(format, args...)
		return
	}
	s.T.Errorf(format, args...)
}

// FailNow ends the run. With Errorf it makes a T what testify's require needs.
func (s *T) FailNow() {
	if s.told {
		s.guard.FailNow()
	}
	s.T.FailNow()
}

// Helper marks the calling function as one whose lines say nothing.
func (s *T) Helper() {}

// Steps makes random steps, each one of the actions. The map's keys only give them an order. An action that makes no
// sense at the moment calls Skip, before it has done anything, and another one is chosen.
func (s *T) Steps(actions map[string]func()) {
	all := map[string]func(*rapid.T){}
	for name, action := range actions {
		all[name] = func(*rapid.T) { action() }
	}
	s.Repeat(all)
}

// Pick chooses one of the values. It prefers the first ones when it shrinks.
func Pick[V any](s *T, name string, values ...V) V {
	return rapid.SampledFrom(values).Draw(s.T, name)
}

// Returns calls f, and says whether it returned: false means that f, and everything else in the bubble, waits for
// something that will not come by itself. Then f is left where it is, and the test must set it free.
func (s *T) Returns(f func()) bool {
	type end struct {
		returned bool
		failed   any
	}
	ended := make(chan end, 1) // and no variables: f may end much later, when nobody looks any more
	s.guard.Go(func() {
		var e end
		defer func() {
			if !s.told {
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
		case !e.returned: // a hole; or a panic that guard has seen
			s.guard.FailNow()
		}
		return true
	default:
		return false
	}
}

// quiet is what rapid reports to. It keeps rapid's own words, which say the same as the last run, in its layout.
type quiet struct {
	*guard.T
	verdict string // what rapid says has failed, before it makes the last run
}

func (q *quiet) Errorf(format string, args ...any) {
	q.verdict, _, _ = strings.Cut(fmt.Sprintf(format, args...), "\nTraceback")
}
func (q *quiet) Logf(string, ...any) {}
