package guard_test

// These tests build the chapter in testdata/05-sample, whose tests end badly in every way there is, run them all in one
// process, and compare what is printed with testdata/failures.txt. After a change that is meant:
//
//	go test ./internal/testkit/guard -update
//
// and read the difference, as a learner would.

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/env"
	"client-go-workshop/internal/testkit/failure"
	"client-go-workshop/internal/testkit/guard"
)

var update = flag.Bool("update", false, "write testdata/failures.txt again")

const sampleDir = "testdata/05-sample"

var sample string // the test binary of the sample chapter, built by TestMain

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "guard")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		sample = filepath.Join(dir, "sample.test")
		args := []string{"test", "-c", "-o", sample}
		if guard.RaceDetector {
			args = append(args, "-race")
		}
		build := exec.Command("go", append(args, "./"+sampleDir)...)
		if out, err := build.CombinedOutput(); err != nil {
			panic(string(out))
		}
		return m.Run()
	}())
}

// run runs tests of the sample chapter. They are expected to fail, so only a process that could not be run is an error.
func run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(sample, args...)
	cmd.Dir = sampleDir
	cmd.Env = append([]string{"WORKSHOP_TEST_LIMIT=21s"}, os.Environ()...) // the last one counts
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		require.NoError(t, err, "the test binary must come to its end, whatever its tests do: %s", out)
	}
	return strings.ReplaceAll(string(out), "\r\n", "\n")
}

// varies is what differs from run to run: times, addresses, where an endless loop is caught, and lines
// of the standard library.
var varies = regexp.MustCompile(`\(\d+\.\d\ds\)|0x[0-9a-f]{6,}|Spin (at store.go:\d+|in store.go)|io.go:\d+`)

// failures splits the output of a test binary by test, and takes out what varies.
func failures(output string) map[string]string {
	out := map[string]string{}
	name := ""
	for line := range strings.Lines(output) {
		if rest, ok := strings.CutPrefix(line, "--- FAIL: "); ok {
			name, _, _ = strings.Cut(rest, " ")
		}
		if !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "--- FAIL: ") {
			name = "" // PASS, FAIL, or the race detector
		}
		if name != "" {
			out[name] += varies.ReplaceAllString(line, "…")
		}
	}
	return out
}

func TestFailures_are_short_and_say_what_to_do(t *testing.T) {
	got := failures(run(t, "-test.parallel=16"))

	// How a race is found depends on whether this is a build with the detector; see the next test.
	delete(got, "TestTask1_Race")
	golden := filepath.Join("testdata", "failures.txt")
	if *update {
		var all strings.Builder
		for _, name := range sortedKeys(got) {
			all.WriteString(got[name] + "\n")
		}
		require.NoError(t, os.WriteFile(golden, []byte(all.String()), 0o666))
	}
	text, err := os.ReadFile(golden)
	require.NoError(t, err)
	wanted := failures(strings.ReplaceAll(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n\n---", "\n---"))
	require.Equal(t, sortedKeys(wanted), sortedKeys(got), "the tests that failed")
	for name := range wanted {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, strings.TrimSpace(wanted[name]), strings.TrimSpace(got[name]))
		})
	}
}

// One after the other, as most tests run: a forgotten Unlock would take as many times three seconds as a chapter has
// tests.
func TestHangs_are_enough_after_three(t *testing.T) {
	out := run(t, "-test.parallel=1", "-test.count=5", "-test.run=^TestTask1_Lock_forgotten$")
	require.Equal(t, 3, strings.Count(out, "never returned: it waits for a lock that is never released"), out)
	require.Equal(t, 2, strings.Count(out, "not run: 3 earlier tests hung; fix those first"), out)
	require.Equal(t, 5, strings.Count(out, "--- FAIL: TestTask1_Lock_forgotten"), out)
}

var raceFound = regexp.MustCompile(`    race_test.go:\d+: (data race|fatal error: concurrent map .*)
        did     Set and Keys, at once
        wanted  only one goroutine at a time where one of them writes
        got     (two goroutines were in .*
(                called at .*
)?|\(\*Store\)\..* used a map while another goroutine wrote to it
(                in progress at that time: .*
)?                the race detector names the other one: go test -race \./05-sample -run '\^TestTask1_Race\$'
)        why     every method takes the lock for as long as it touches the map
        read    05-sample/README.md, task 1
`)

func TestRace_says_which_calls_met(t *testing.T) {
	runs := 5 // with the detector, every one of them must find it
	if !guard.RaceDetector {
		runs = 100 // without, one of them must
	}
	for range runs {
		got := failures(run(t, "-test.run=^TestTask1_Race$"))["TestTask1_Race"]
		if got == "" && !guard.RaceDetector {
			continue
		}
		require.Regexp(t, raceFound, got)
		if !guard.RaceDetector {
			return
		}
		require.Contains(t, got, "(*Store).Keys at store.go:")
		require.Contains(t, got, "(*Store).Set at store.go:")
	}
	require.True(t, guard.RaceDetector, "the race was not found in %d runs", runs)
}

func TestFine_tests_are_left_alone(t *testing.T) {
	out := run(t, "-test.v", "-test.run=Fine", "-test.parallel=16")
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^--- (\w+): (\w+)`).FindAllStringSubmatch(out, -1) {
		got = append(got, m[1]+" "+m[2])
	}
	slices.Sort(got)
	require.Equal(t, []string{
		"PASS TestFine", "PASS TestFine_Apart", "PASS TestFine_Crash", "PASS TestFine_Race", "PASS TestFine_Slow",
		"PASS TestFine_Waits_for_the_world",
		"SKIP TestFine_Race_skipped", "SKIP TestFine_Skip",
	}, got, out)
	require.Contains(t, out, lineOf(t, "fine_test.go", `t.Skip("not today")`)+": not today",
		"the reason of a skip, at its line")
}

func TestFullpath_is_obeyed(t *testing.T) {
	out := run(t, "-test.fullpath", "-test.run=^TestTask2_Equal$")
	require.Contains(t, out, "05-sample/"+lineOf(t, "sample_test.go", `[]string{}, []string{"default/a"}`)+": not equal")
}

// lineOf finds the first line with text in a file of the sample chapter.
func lineOf(t *testing.T, file, text string) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(sampleDir, file))
	require.NoError(t, err)
	before, _, found := strings.Cut(string(source), text)
	require.True(t, found, text)
	return fmt.Sprintf("%s:%d", file, 1+strings.Count(before, "\n"))
}

// The runner asks for data, and then the text is not printed.
func TestFailures_are_data_where_a_program_asks_for_them(t *testing.T) {
	t.Setenv(env.Failures, "1")
	out := run(t, "-test.v=test2json", "-test.run=^(TestTask2_Equal|TestTask1_Race_assertion|TestTask1_Todo)$")
	require.NotContains(t, out, "wanted")
	got := map[string]failure.Failure{}
	var d failure.Decoder
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if !strings.Contains(line, "=== ATTR ") {
			continue
		}
		f, err := d.Add(fields[3], fields[4])
		require.NoError(t, err)
		if f != nil {
			got[fields[2]] = *f
		}
	}
	require.Equal(t, []string{"TestTask1_Race_assertion/in_a_subtest", "TestTask1_Todo", "TestTask2_Equal"},
		sortedKeys(got))
	equal := got["TestTask2_Equal"]
	require.Equal(t, failure.Assertion, equal.Kind)
	require.Equal(t, []string{"Add default/a {app: web}", "look up 100%"}, equal.Did)
	require.Equal(t, 2, equal.Task)
	require.Equal(t, []string{"[]string{}", `[]string{"default/a"}`}, []string{equal.Wanted, equal.Got})
	require.Contains(t, equal.Why, "(#109115)")
	require.Equal(t, "Store.Add", got["TestTask1_Todo"].Todo.Symbol)
	require.Equal(t, "an assertion's own reason", got["TestTask1_Race_assertion/in_a_subtest"].Why)
}

func TestNo_goroutine_is_left_after_a_test_that_is_fine(t *testing.T) {
	before := guard.Goroutines()
	for range 100 {
		guard.Test(t, "A rule.", func(t *guard.T) { t.Go(func() {}) })
	}
	require.LessOrEqual(t, guard.Goroutines(), before+1)
}

func BenchmarkEmpty(b *testing.B) {
	for _, c := range []struct {
		name string
		test func(t *testing.T)
	}{
		{"guard", func(t *testing.T) { guard.Test(t, "A rule.", func(*guard.T) {}) }},
		{"synctest", func(t *testing.T) { synctest.Test(t, func(*testing.T) {}) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			// Both need a testing.T, which a benchmark does not have.
			testing.RunTests(func(string, string) (bool, error) { return true, nil },
				[]testing.InternalTest{{Name: "TestEmpty", F: func(t *testing.T) {
					for b.Loop() {
						c.test(t)
					}
				}}})
		})
	}
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func TestMeet_calls_at_the_same_moments(t *testing.T) {
	guard.Test(t, "Meet calls f twice with each number.", func(t *guard.T) {
		const n = 1_000
		var inside, met atomic.Int32
		var calls [n]atomic.Int32
		guard.Meet(t, n, func(i int) {
			if inside.Add(1) == 2 {
				met.Add(1)
			}
			calls[i].Add(1)
			runtime.Gosched()
			inside.Add(-1)
		})
		for i := range calls {
			require.Equal(t, int32(2), calls[i].Load(), "the calls of f(%d)", i)
		}
		require.Positive(t, met.Load(), "the calls that met another one")
	})
}
