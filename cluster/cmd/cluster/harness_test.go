// A repository in miniature: the launcher is real (this test binary, run again
// with another role), and so is the go command that it calls, but the programs
// are stand-ins (testdata/component) that build in seconds and misbehave on
// demand.

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"client-go-workshop/cluster/internal/build"
	"client-go-workshop/cluster/internal/launcher"
	"client-go-workshop/cluster/internal/process"
	"client-go-workshop/cluster/internal/workspace"
)

// asLauncher, in the environment, makes the test binary the launcher. (Built
// with `go build` instead, it could change without go test noticing, which
// would then report the results of an older one from its cache.)
const asLauncher = "CLUSTER_TEST_AS_LAUNCHER"

// builtRepository is a miniature repository whose programs are built.
var builtRepository string

func TestMain(m *testing.M) {
	if os.Getenv(asLauncher) != "" {
		os.Exit(run())
	}
	os.Exit(func() int {
		directory, err := os.MkdirTemp("", "cluster-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(directory)
		builtRepository = filepath.Join(directory, "repository")
		for _, step := range []func() error{
			func() error { return writeRepository(builtRepository) },
			func() error { return runQuietly(launch(builtRepository, "build")) },
		} {
			if err := step(); err != nil {
				fmt.Fprintln(os.Stderr, "preparing the tests:", err)
				return 1
			}
		}
		return m.Run()
	}())
}

func runQuietly(cmd *exec.Cmd) error {
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", cmd.Args, err, said)
	}
	return nil
}

// writeRepository makes a repository with the source of stand-ins in it. The
// modules that the launcher asks for the versions of are empty folders.
func writeRepository(root string) error {
	component, err := os.ReadFile(filepath.Join("testdata", "component", "main.go"))
	if err != nil {
		return err
	}
	files := map[string]string{
		"go.mod": "module client-go-workshop\n",
		"cluster/go.mod": "module client-go-workshop/cluster\n\ngo 1.26.0\n\n" +
			"require (\n\tk8s.io/kubernetes v1.37.2\n\tsigs.k8s.io/kwok v0.8.0\n)\n\n" +
			"replace (\n\tk8s.io/kubernetes => ./empty/kubernetes\n\tsigs.k8s.io/kwok => ./empty/kwok\n)\n",
		"cluster/go.sum":                  "",
		"cluster/empty/kubernetes/go.mod": "module k8s.io/kubernetes\n",
		"cluster/empty/kwok/go.mod":       "module sigs.k8s.io/kwok\n",
	}
	for _, name := range build.Programs {
		files["cluster/cmd/"+name+"/main.go"] = string(component)
	}
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// repository is a miniature repository of one test.
type repository struct {
	*testing.T
	workspace.Workspace
}

// newRepository makes one whose programs are built, and checks in the end
// that nothing that was started in it is left running.
func newRepository(t *testing.T) repository {
	r := newUnbuiltRepository(t)
	require.NoError(t, os.CopyFS(r.Bin(), os.DirFS(filepath.Join(builtRepository, ".workshop", "bin"))))
	for _, name := range build.Programs { // CopyFS drops the permission to execute
		require.NoError(t, os.Chmod(r.Program(name), 0o755))
	}
	return r
}

func newUnbuiltRepository(t *testing.T) repository {
	t.Parallel()
	root := t.TempDir()
	require.NoError(t, writeRepository(root))
	w, err := workspace.At(root)
	require.NoError(t, err)
	r := repository{t, w}
	t.Cleanup(func() {
		_, _ = r.run("down", "--discard")
		if left := r.processes(); len(left) > 0 {
			t.Errorf("processes were left running:\n%s", strings.Join(left, "\n"))
		}
	})
	return r
}

// does makes a program misbehave from its next start on; "" makes it behave.
func (r repository) does(program, what string) {
	r.Helper()
	path := r.Program(program) + ".does"
	if what == "" {
		require.NoError(r, os.Remove(path))
		return
	}
	require.NoError(r, os.WriteFile(path, []byte(what), 0o644))
}

// launch is the launcher in the repository whose root is given.
func launch(root string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asLauncher+"=1", workspace.RootVariable+"="+root)
	return cmd
}

// result is how a command ended and what it printed.
type result struct {
	code           int
	stdout, stderr string
}

func (r repository) run(args ...string) (result, error) {
	return finish(launch(r.Root(), args...))
}

// hangs is the time after which a command, or what a test waits for, hangs. With
// stand-ins everything takes a second or two; on a machine whose processors are
// busy with other tests, packing the programs has taken more than 30 s.
const hangs = 3 * time.Minute

// finish runs cmd to its end. A command that hangs is killed; its exit code is
// then -1.
func finish(cmd *exec.Cmd) (result, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		return result{}, err
	}
	limit := time.AfterFunc(hangs, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}, err
}

// must runs the launcher and checks its exit code.
func (r repository) must(code int, args ...string) result {
	r.Helper()
	got, err := r.run(args...)
	require.NoError(r, err)
	require.Equal(r, code, got.code, "exit code of `cluster %s`; it printed:\n%s%s", strings.Join(args, " "), got.stdout,
		got.stderr)
	return got
}

// interruptWhen starts `cluster up`, interrupts it once the condition holds,
// and returns how it ended.
func (r repository) interruptWhen(cmd *exec.Cmd, condition func() bool, signal os.Signal) result {
	r.Helper()
	if runtime.GOOS == "windows" {
		r.Skip("no process can be interrupted from outside on Windows")
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(r, cmd.Start())
	defer cmd.Process.Kill()
	r.eventually("the moment to interrupt has come", condition)
	require.NoError(r, cmd.Process.Signal(signal))
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(hangs):
		r.Fatalf("`cluster up` has not ended within %v of the signal", hangs)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func (r repository) eventually(what string, condition func() bool) {
	r.Helper()
	require.Eventually(r, condition, hangs, 10*time.Millisecond, what)
}

func (r repository) state() *launcher.State {
	r.Helper()
	state, err := launcher.Load(r.Workspace)
	require.NoError(r, err)
	return state
}

// pids maps each component to its process.
func (r repository) pids() map[string]process.Process {
	r.Helper()
	state := r.state()
	require.NotNil(r, state, "there must be a state file")
	pids := map[string]process.Process{}
	for _, component := range state.Components {
		pids[component.Name] = component.Process
	}
	return pids
}

// processes lists every process of this machine that has the repository's
// path among its arguments or in its environment, whoever started it. Only
// Linux lets one look; elsewhere there is nothing to list.
func (r repository) processes() (found []string) {
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, entry := range entries {
		arguments, err := os.ReadFile(filepath.Join(entry, "cmdline"))
		environment, _ := os.ReadFile(filepath.Join(entry, "environ"))
		if err != nil || filepath.Base(entry) == fmt.Sprint(os.Getpid()) {
			continue
		}
		if bytes.Contains(slices.Concat(arguments, environment), []byte(r.Root())) {
			found = append(found, filepath.Base(entry)+" "+strings.ReplaceAll(string(arguments), "\x00", " "))
		}
	}
	return found
}

func (r repository) requireNothingRuns() {
	r.Helper()
	require.Empty(r, r.processes(), "no process may be left")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// lockedBuffer can be read while a process writes to it.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
