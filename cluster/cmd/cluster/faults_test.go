// What goes wrong on real machines: each fault gives one clear sentence, and
// leaves nothing running (newRepository checks that after every test).

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"client-go-workshop/cluster/internal/build"
	"client-go-workshop/cluster/internal/process"
)

func TestComponentThatDiesDuringStart(t *testing.T) {
	for _, name := range build.Programs[:5] {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			r.does(name, "exit")
			got := r.must(1, "up")
			require.Contains(t, got.stderr, name+" ended with exit status 3 while the cluster was starting")
			require.Contains(t, got.stderr, "    my last words", "its last lines belong to the message")
			require.Empty(t, got.stdout)
			r.requireNothingRuns()
			require.Nil(t, r.state())
			require.NoFileExists(t, r.Kubeconfig())
			require.Contains(t, r.must(0, "logs", name).stdout, "my last words",
				"the logs stay for whoever looks for the reason")

			r.does(name, "")
			r.must(0, "up")
		})
	}
}

func TestTakenPort(t *testing.T) {
	t.Run("asked for", func(t *testing.T) {
		r := newRepository(t)
		taken, err := net.Listen("tcp4", "127.0.0.1:0")
		require.NoError(t, err)
		defer taken.Close()
		port := taken.Addr().(*net.TCPAddr).Port
		got := r.must(1, "up", fmt.Sprintf("--port=%d", port))
		require.Contains(t, got.stderr, fmt.Sprintf("port %d cannot be used", port))
		require.Contains(t, got.stderr, "choose another one with --port")
		r.requireNothingRuns()
	})
	t.Run("taken in the meantime", func(t *testing.T) {
		r := newRepository(t)
		r.does("kube-apiserver", "taken once")
		require.Contains(t, r.must(0, "up").stderr, "starting again with other ports")
		r.must(0, "status")
	})
	t.Run("taken again and again", func(t *testing.T) {
		r := newRepository(t)
		r.does("kube-apiserver", "taken")
		require.Contains(t, r.must(1, "up").stderr, "kube-apiserver ended with exit status 1 while the cluster was "+
			"starting: another program took its port; try again")
		r.requireNothingRuns()
	})
}

func TestFullDiskUnderEtcd(t *testing.T) {
	r := newRepository(t)
	r.does("etcd", "full")
	require.Contains(t, r.must(1, "up").stderr, "the disk that holds "+r.Cluster()+" is full")
	r.requireNothingRuns()
}

func TestInterruptWhileStarting(t *testing.T) {
	for _, name := range []string{"etcd", "kube-apiserver", "kube-scheduler"} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			r.does(name, "hang")
			got := r.interruptWhen(launch(r.Root(), "up"), func() bool { return exists(r.Log(name)) }, os.Interrupt)
			require.Equal(t, 130, got.code)
			require.Contains(t, got.stderr, "Interrupted")
			r.requireNothingRuns()
			require.Nil(t, r.state())
		})
	}
}

func TestInterruptWhileBuilding(t *testing.T) {
	r := newUnbuiltRepository(t)
	cmd := launch(r.Root(), "up")
	// With an empty cache the standard library is compiled again, which takes
	// long enough to be interrupted in the midst of it.
	temporary := t.TempDir()
	cmd.Env = append(cmd.Env, "GOCACHE="+t.TempDir(), "TMPDIR="+temporary)
	compilerRuns := func() bool {
		for _, found := range r.processes() {
			if strings.Contains(found, "/compile ") {
				return true
			}
		}
		return false
	}
	if !canSeeProcesses {
		compilerRuns = func() bool { return len(glob(r.Bin(), "*", "go-build*")) > 0 }
	}
	got := r.interruptWhen(cmd, compilerRuns, os.Interrupt)
	require.Equal(t, 130, got.code, got.stderr)
	r.requireNothingRuns()
	require.Equal(t, []string{r.BuildLock()}, glob(r.Bin(), "*"),
		"no half-built program, and no temporary folder of the go command, may be left")
	require.Empty(t, glob(temporary, "*"), "nor any elsewhere")
}

// A launcher that is killed cannot clean up; the next one does it.
func TestUpAfterLauncherWasKilled(t *testing.T) {
	r := newRepository(t)
	r.does("kube-apiserver", "hang")
	r.interruptWhen(launch(r.Root(), "up"), func() bool {
		state := r.state()
		return state != nil && len(state.Components) == 2
	}, os.Kill)
	orphans := r.pids()
	require.True(t, orphans["etcd"].Alive(), "this test needs something left to clean up")
	require.Contains(t, r.must(1, "status").stderr, "not up yet")

	r.does("kube-apiserver", "")
	require.Contains(t, r.must(0, "up").stderr, "removing what it left")
	for name, process := range orphans {
		require.False(t, process.Alive(), "%s of the killed start must be gone", name)
	}
	r.must(0, "status")
}

func TestUpAfterEverythingDied(t *testing.T) {
	r := newRepository(t)
	r.must(0, "up")
	for _, p := range r.pids() {
		require.NoError(t, process.Stop(0, p))
	}
	require.Contains(t, r.must(0, "up").stderr, "removing what it left")
	r.must(0, "status")
}

func TestDeadComponent(t *testing.T) {
	r := newRepository(t)
	r.must(0, "up")
	before := r.pids()
	r.must(0, "kill", "kube-scheduler")

	status := r.must(1, "status").stdout
	require.Regexp(t, `kube-scheduler +dead`, status)
	require.Contains(t, status, "`go tool workshop cluster restart kube-scheduler`")
	require.Contains(t, status, "    this is kube-scheduler", "its last lines belong to the status")

	for _, heal := range [][]string{{"restart", "kube-scheduler"}, {"up"}} {
		r.must(0, heal...)
		r.must(0, "status")
		after := r.pids()
		for name := range before {
			if name != "kube-scheduler" {
				require.Equal(t, before[name], after[name], "%s is not the one that had died", name)
			}
		}
		require.NotEqual(t, before["kube-scheduler"], after["kube-scheduler"])
		r.must(0, "kill", "kube-scheduler")
	}
	require.Contains(t, r.must(1, "restart", "kubelet").stderr, `there is no component "kubelet"`)
}

func TestComponentThatHangsIsNotReady(t *testing.T) {
	r := newRepository(t)
	r.must(0, "up")
	hung := r.pids()["kube-apiserver"]
	signalStop(t, hung.PID) // it keeps its port but does not answer
	require.Regexp(t, `kube-apiserver +not ready`, r.must(1, "status").stdout)

	up := launch(r.Root(), "up")
	require.NoError(t, up.Start())
	ended := make(chan error, 1)
	go func() { ended <- up.Wait() }()
	select {
	case <-ended:
		t.Error("`up` has not waited for a component that is not ready")
	case <-time.After(300 * time.Millisecond): // without waiting it takes a tenth of that
		signalContinue(t, hung.PID)
		require.NoError(t, <-ended)
	}

	signalStop(t, hung.PID)
	r.must(0, "down")
	require.False(t, hung.Alive(), "a process that cannot answer SIGTERM must be killed")
}

// PIDs are given out again. A state file that is older than this boot, or just
// old, must never cost a stranger's life.
func TestRecycledPIDIsNotOurs(t *testing.T) {
	r := newRepository(t)
	r.must(0, "up")
	stranger := exec.Command(r.Program("kwok")) // runs until it is killed
	stranger.Dir = t.TempDir()
	require.NoError(t, stranger.Start())
	ended := make(chan struct{})
	go func() { _ = stranger.Wait(); close(ended) }()
	defer func() { _ = stranger.Process.Kill(); <-ended }()

	r.must(0, "kill", "kube-scheduler")
	content, err := os.ReadFile(r.State())
	require.NoError(t, err)
	dead := r.pids()["kube-scheduler"].PID
	forged := strings.ReplaceAll(string(content), fmt.Sprintf(`"pid": %d,`, dead),
		fmt.Sprintf(`"pid": %d,`, stranger.Process.Pid))
	require.NotEqual(t, string(content), forged)
	require.NoError(t, os.WriteFile(r.State(), []byte(forged), 0o600))

	require.Regexp(t, `kube-scheduler +dead`, r.must(1, "status").stdout, "that PID is somebody else's now")
	r.must(1, "status")
	r.must(0, "kill", "kube-scheduler")
	r.must(0, "down")
	select {
	case <-ended:
		t.Fatal("`cluster down` has killed a process that is not the cluster's")
	case <-time.After(300 * time.Millisecond): // a signal takes far less
	}
}

func TestMissingGo(t *testing.T) {
	r := newUnbuiltRepository(t)
	cmd := launch(r.Root(), "up")
	cmd.Env = append(cmd.Env, "PATH="+t.TempDir())
	got, err := finish(cmd)
	require.NoError(t, err)
	require.Equal(t, 1, got.code)
	require.Contains(t, got.stderr, "needs the go command, and there is none in PATH")
	require.Equal(t, 1, strings.Count(got.stderr, "\n"), "one sentence: %s", got.stderr)
}

// The programs need no C compiler, and a built cluster needs no Go.
func TestNeedsNoCompilerOnceBuilt(t *testing.T) {
	r := newRepository(t)
	cmd := launch(r.Root(), "up")
	cmd.Env = append(cmd.Env, "PATH="+t.TempDir())
	got, err := finish(cmd)
	require.NoError(t, err)
	require.Equal(t, 0, got.code, got.stderr)
}

func TestSourceThatDoesNotCompile(t *testing.T) {
	r := newRepository(t)
	source := filepath.Join(r.Module(), "cmd", "etcd", "main.go")
	content, err := os.ReadFile(source)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(source, append(content, "\nvar oops int = false\n"...), 0o644))
	got := r.must(1, "up")
	require.Contains(t, got.stderr, "building the cluster's programs: go build: exit status 1")
	require.Regexp(t, `cmd/etcd/main.go:\d+:16: cannot use false`, filepath.ToSlash(got.stderr),
		"the compiler's own words")
	r.requireNothingRuns()
	require.FileExists(t, r.Program("etcd"), "the programs that were there stay there")
}

func glob(elements ...string) []string {
	found, _ := filepath.Glob(filepath.Join(elements...))
	return found
}
