package gotest

import (
	"bytes"
	"context"
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
	r := limited(t, t.Context(), Limits{time.Minute, 1 << 20}, func(test Test) { seen = append(seen, test.Name+" "+string(test.Status)) }, `
import "testing"

func TestA(t *testing.T) {}
func TestB(t *testing.T) { t.Run("sub", func(t *testing.T) { t.Error("broken") }) }
`)
	require.Equal(t, []string{"TestA running", "TestA passed", "TestB running", "TestB failed"}, seen)
	require.Empty(t, r.Stopped)
	require.Equal(t, 1, r.Exit)
}

func TestRunLimited_stops_what_prints_without_end(t *testing.T) {
	r := limited(t, t.Context(), Limits{time.Minute, 1 << 20}, nil, `
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

func TestA(t *testing.T) { if err := exec.Command("sh", "-c", "exec 3>`+mark+`; sleep 1000").Start(); err != nil { t.Fatal(err) } }
`)
	require.Equal(t, 0, r.Exit, r.Outside)
	if out, err := exec.Command("pgrep", "-f", mark).Output(); err == nil {
		t.Fatalf("the shell that the test has started is still there: %s", out)
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
		r, _ := read(bytes.NewReader(stream), func(test Test) { ended[test.Name] = true })
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
