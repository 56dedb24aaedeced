package gotest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// limited runs a test file in a module of its own, under limits.
func limited(t *testing.T, ctx context.Context, limits Limits, onTest func(Test), body string) Result {
	t.Helper()
	t.Setenv("GOFLAGS", "")
	dir := t.TempDir()
	for name, content := range map[string]string{"go.mod": "module example\n\ngo 1.26\n", "a_test.go": "package a\n\n" +
		body} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	cmd := exec.Command("go", "test", "-json", "-vet=off")
	cmd.Dir = dir
	r, err := RunLimited(ctx, cmd, limits, onTest)
	require.NoError(t, err)
	return r
}

func TestRunLimited_tells_of_each_test_as_it_begins_and_ends(t *testing.T) {
	var seen []string
	note := func(test Test) { seen = append(seen, test.Name+" "+string(test.Status)) }
	r := limited(t, t.Context(), Limits{Time: time.Minute, Output: 1 << 20}, note, `
import "testing"

func TestA(t *testing.T) {}
func TestB(t *testing.T) { t.Run("sub", func(t *testing.T) { t.Error("broken") }) }
`)
	require.Equal(t, []string{"TestA running", "TestA passed", "TestB running", "TestB failed"}, seen)
	require.Empty(t, r.Stopped)
	require.Equal(t, 1, r.Exit)
}

func TestRunLimited_stops_what_prints_without_end(t *testing.T) {
	r := limited(t, t.Context(), Limits{Time: time.Minute, Output: 1 << 20}, nil, `
import ("testing"; "fmt")

func TestA(t *testing.T) {}
func TestB(t *testing.T) { for { fmt.Println("again and again and again") } }
`)
	require.Equal(t, "it printed more than 1 MB", r.Stopped)
	a, found := r.Test("TestA")
	require.True(t, found, "what was known stays known")
	require.Equal(t, Passed, a.Status)
}

// A loop in a package variable runs before testing has set its own time limit.
func TestRunLimited_stops_what_runs_without_end(t *testing.T) {
	r := limited(t, t.Context(), Limits{Time: 5 * time.Second}, nil, `
import "testing"

var x = func() int { for {} }()

func TestA(t *testing.T) {}
`)
	require.Equal(t, "it ran for 5s", r.Stopped)
}

func TestRunLimited_says_which_initialization_never_ends(t *testing.T) {
	for name, body := range map[string]string{
		"an init":                     "func init() {\n\tfor {\n\t}\n}\n",
		"the value of a variable":     "var x = func() int {\n\tfor {\n\t}\n}()\n",
		"an init that waits":          "func init() {\n\tselect {}\n}\n",
		"a function that init called": "func init() {\n\tspin()\n}\n\nfunc spin() {\n\tfor {\n\t}\n}\n",
	} {
		begin, r := time.Second, Result{}
		for ; begin < time.Minute; begin *= 4 { // on a busy machine a binary may need longer until it initializes
			r = limited(t, t.Context(), Limits{Time: 2 * time.Minute, Begin: begin}, nil,
				"import \"testing\"\n\n"+body+"\nfunc TestA(t *testing.T) {}\n")
			noticed := strings.Contains(r.Stopped, "initialization") || strings.Contains(r.Outside, "asleep")
			if noticed || runtime.GOOS == "windows" {
				break
			}
		}
		if name == "an init that waits" { // the runtime notices
			require.Contains(t, r.Outside, "all goroutines are asleep", name)
			continue
		}
		require.Contains(t, r.Stopped, fmt.Sprintf("no test began within %v", begin), name)
		if runtime.GOOS != "windows" {
			require.Contains(t, r.Stopped, ": the initialization of a package never ended, at a_test.go:", name)
		}
	}
}

func TestRun_keeps_escape_sequences_from_the_terminal(t *testing.T) {
	r := limited(t, t.Context(), Limits{Time: time.Minute}, nil, `
import ("testing"; "fmt")

func init() { fmt.Println("\x1b]0;title\x07out\x1b[2Jside\r\x08") }

func TestA(t *testing.T) { fmt.Println("in\x1b[31mside\tand\x1bc more"); t.Fail() }
`)
	a, _ := r.Test("TestA")
	require.Contains(t, a.Output, "inside\tand more\n")
	require.Contains(t, r.Outside, "outside\n")
	require.NotContains(t, a.Output+r.Outside, "\x1b")
}

func TestRunLimited_stops_what_holds_too_much_memory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells how much")
	}
	r := limited(t, t.Context(), Limits{Time: time.Minute, Memory: 300 << 20}, nil, `
import "testing"

var all [][]byte

func init() {
	for {
		all = append(all, make([]byte, 1<<20))
		clear(all[len(all)-1])
	}
}

func TestA(t *testing.T) {}
`)
	require.Equal(t, "it took more than 300 MiB of memory", r.Stopped)
}

func TestRunLimited_stops_when_its_context_ends(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := limited(t, ctx, Limits{}, func(Test) { cancel() }, `
import "testing"

func TestA(t *testing.T) {}
func TestB(t *testing.T) { select {} }
`)
	require.Equal(t, "it was cancelled", r.Stopped)
}

func TestRunLimited_leaves_no_process_behind(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	mark := filepath.Join(t.TempDir(), "mark")
	r := limited(t, t.Context(), Limits{Time: time.Minute}, nil, `
import ("os/exec"; "testing")

func TestA(t *testing.T) {
	if err := exec.Command("sh", "-c", "exec 3>`+mark+`; sleep 1000").Start(); err != nil { t.Fatal(err) }
}
`)
	require.Equal(t, 0, r.Exit, r.Outside)
	if out, err := exec.Command("pgrep", "-f", mark).Output(); err == nil {
		t.Fatalf("the shell that the test has started is still there: %s", out)
	}
}

// A process with a session of its own, whose parent has ended, and whose environment is empty.
func TestRunLimited_ends_a_process_that_left_its_session(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("docs/develop/reliability.md: only Linux")
	}
	for name, end := range map[string]string{"passes": "", "is stopped": "select {}", "dies": "syscall.Kill(0, 9)"} {
		mark := filepath.Join(t.TempDir(), "mark") // in the command line of the process that is left
		ctx, cancel := context.WithCancel(t.Context())
		onTest := func(test Test) {
			if test.Name == "TestB" && name == "is stopped" {
				cancel()
			}
		}
		limited(t, ctx, Limits{Time: time.Minute}, onTest, `
import ("os/exec"; "syscall"; "testing")

func TestA(t *testing.T) {
	cmd := exec.Command("sh", "-c", "exec >`+mark+` 2>&1; (while sleep 1; do :; done) & exit")
	cmd.Env = []string{"PATH=/bin:/usr/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Run(); err != nil { t.Fatal(err) }
}
func TestB(t *testing.T) { `+end+` }
`)
		cancel()
		out, _ := exec.Command("pgrep", "-f", mark).Output() // an error if there is none
		require.Empty(t, string(out), "a test that %s: the shell that it started is still there", name)
	}
}

// What arrives may be cut anywhere, and may be anything: a learner's code prints to the same stream.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"Action":"run","Package":"a","Test":"TestA"}` + "\n" +
		`{"Action":"output","Package":"a","Test":"TestA","Output":"x\n"}` + "\n" +
		`{"Action":"fail","Package":"a","Test":"TestA","Elapsed":0.1}` + "\n"))
	f.Add([]byte("plain\n{\"Action\":\n\x00{}\n"))
	f.Add([]byte(`{"Action":"pass","Test":"/","Elapsed":-1}` + "\n" + `{"Action":"output","Output":"panic: x\n"}`))
	f.Add([]byte(`{"Time":"0","Action":"nonsense","Test":"TestA/b","Elapsed":1e300}`))
	f.Fuzz(func(t *testing.T, stream []byte) {
		ended := map[string]bool{}
		r, _ := read(bytes.NewReader(stream), func(test Test) { ended[test.Name] = true }, func(string) {})
		seen := map[string]bool{}
		for _, test := range r.Tests {
			if seen[test.Name] || strings.Contains(test.Name, "/") || test.Name == "" {
				t.Errorf("%q is listed twice, or is no top-level test", test.Name)
			}
			seen[test.Name] = true
		}
		for name := range ended {
			if !seen[name] {
				t.Errorf("%q has ended and is not listed", name)
			}
		}
	})
}
