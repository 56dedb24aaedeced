// The tests run this very test binary as the program to start: see TestMain.

package process

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// role, in the environment, says what the test binary shall be.
const role = "PROCESS_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "sleeper":
		os.Stdout.WriteString("asleep\n")
		time.Sleep(time.Minute) // its test has long ended it
	case "parent":
		child := exec.Command(os.Args[0])
		child.Env = []string{role + "=sleeper"}
		child.Stdout = os.Stdout
		_ = child.Run()
	case "failure":
		os.Exit(3)
	}
}

func start(t *testing.T, what string) *Child {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	child, err := Start(Command{Path: os.Args[0], Env: []string{role + "=" + what}, Log: log})
	require.NoError(t, err)
	t.Cleanup(func() { _ = child.Kill(); <-child.Exited() })
	if what == "sleeper" { // until then, it is still on its way into memory
		require.Eventually(t, func() bool {
			content, err := os.ReadFile(log)
			return err == nil && len(content) > 0
		}, 20*time.Second, 5*time.Millisecond, "it must say that it is asleep")
	}
	return child
}

func TestStopEndsTheProcess(t *testing.T) {
	child := start(t, "sleeper")
	require.True(t, child.Alive())
	require.NoError(t, Stop(5*time.Second, child.Process))
	require.False(t, child.Alive())
	require.NoError(t, Stop(5*time.Second, child.Process), "stopping what is gone is no error")
	require.NoError(t, child.Kill())
}

func TestExitIsReported(t *testing.T) {
	child := start(t, "failure")
	<-child.Exited()
	require.ErrorContains(t, child.Err(), "exit status 3")
	require.False(t, child.Alive())
}

// The heart of this package: the same PID with another start time is a stranger.
func TestRecycledPIDIsAStranger(t *testing.T) {
	child := start(t, "sleeper")
	for name, stranger := range map[string]Process{
		"another start time": {PID: child.PID, Started: child.Started + "0"},
		"no start time":      {PID: child.PID},
	} {
		t.Run(name, func(t *testing.T) {
			require.False(t, stranger.Alive())
			require.NoError(t, stranger.Kill())
			require.NoError(t, stranger.Terminate())
			require.NoError(t, Stop(0, stranger))
			_, known := stranger.Memory()
			require.False(t, known)
			require.True(t, child.Alive(), "a stranger's process must not be touched")
		})
	}
}

func TestTwoProcessesHaveDifferentIdentities(t *testing.T) {
	require.NotEqual(t, start(t, "sleeper").Process, start(t, "sleeper").Process)
}

func TestImpossiblePID(t *testing.T) {
	for _, pid := range []int{0, -1} { // to kill(2) these mean whole groups
		require.False(t, Process{PID: pid, Started: "x"}.Alive())
	}
}

func TestMemory(t *testing.T) {
	bytes, known := start(t, "sleeper").Memory()
	if !known {
		t.Skip("this system does not tell")
	}
	require.Greater(t, bytes, int64(1<<20), "bytes, not pages: a Go program has more than a megabyte")
	require.Less(t, bytes, int64(1<<30))
}

func TestFindByCommandLine(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "a folder", "file")
	log := filepath.Join(t.TempDir(), "log")
	child, err := Start(Command{
		Path: os.Args[0], Args: []string{"--file=" + mark}, Env: []string{role + "=sleeper"}, Log: log,
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = child.Kill(); <-child.Exited() })
	ours := func(line string) bool { return strings.Contains(line, mark) }
	var found []Process
	require.Eventually(t, func() bool { // it may still be on its way into memory
		found, err = Find(ours)
		return errors.Is(err, errors.ErrUnsupported) || len(found) > 0
	}, 20*time.Second, 5*time.Millisecond)
	if err != nil {
		t.Skip("this system does not show command lines")
	}
	require.Equal(t, []Process{child.Process}, found)
	require.NoError(t, Stop(0, found...))
	found, err = Find(ours)
	require.NoError(t, err)
	require.Empty(t, found)
}

func TestParsePS(t *testing.T) {
	require.Equal(t, map[int]string{1: "/sbin/init", 77: "/a folder/etcd --data-dir=/a folder/etcd"},
		parsePS("    1 /sbin/init\n   77 /a folder/etcd --data-dir=/a folder/etcd\n"))
}

func TestProgramThatIsNotThere(t *testing.T) {
	_, err := Start(Command{Path: filepath.Join(t.TempDir(), "missing"), Log: filepath.Join(t.TempDir(), "log")})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// When Run returns, what its program had started is gone as well: it would
// otherwise hold the other end of the pipe open and go on writing.
func TestRunEndsDescendants(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("somebody pressed Ctrl-C")
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{role + "=parent"}
	cmd.Stdout = write
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, cmd) }()

	line := make([]byte, 16)
	n, err := read.Read(line) // the grandchild has started
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(line[:n], []byte("asleep")))
	cancel(reason)
	require.ErrorIs(t, <-ended, reason)
	require.NoError(t, write.Close())

	// The pipe ends only when the last process that holds it has gone.
	require.NoError(t, read.SetReadDeadline(time.Now().Add(5*time.Second)))
	_, err = read.Read(line)
	require.ErrorContains(t, err, "EOF", "a grandchild has survived")
}

func TestRunReportsTheExitCode(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{role + "=failure"}
	require.ErrorContains(t, Run(t.Context(), cmd), "exit status 3")
}
