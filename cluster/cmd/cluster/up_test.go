// A cluster's ordinary life.

package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUpAndDown(t *testing.T) {
	r := newRepository(t)

	up := r.must(0, "up")
	if runtime.GOOS != "windows" {
		require.Equal(t, "export KUBECONFIG="+r.Kubeconfig()+"\n", up.stdout,
			"stdout is for `eval`: that line and nothing else")
		info, err := os.Stat(r.Kubeconfig())
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "whoever reads the kubeconfig owns the cluster")
	}
	status := r.must(0, "status")
	for name, process := range r.pids() {
		require.True(t, process.Alive(), "%s must outlive `up`", name)
		require.Contains(t, status.stdout, name)
	}

	again := r.must(0, "up")
	require.Equal(t, up.stdout, again.stdout, "`up` on a cluster that is up only prints the line")

	pids := r.pids()
	require.Contains(t, r.must(0, "down").stderr, "stopped and thrown away")
	for name, process := range pids {
		require.False(t, process.Alive(), "%s must not outlive `down`", name)
	}
	require.NoDirExists(t, r.Cluster(), "`down` throws everything away")
	r.requireNothingRuns()

	require.Contains(t, r.must(0, "down").stderr, "No cluster is up")
	require.Contains(t, r.must(1, "status").stderr, "`go tool workshop cluster up` starts one")
	require.Contains(t, r.must(1, "kubectl", "get", "pods").stderr, "`go tool workshop cluster up` starts one")
}

func TestUpTwiceIsOneCluster(t *testing.T) {
	r := newRepository(t)
	r.must(0, "up")
	before := r.pids()
	r.must(0, "up")
	require.Equal(t, before, r.pids(), "the second `up` must leave every process as it is")
}

func TestTwoUpsAtOnceAreOneCluster(t *testing.T) {
	r := newRepository(t)
	type outcome struct {
		result
		err error
	}
	outcomes := make(chan outcome)
	for range 2 {
		go func() {
			got, err := finish(launch(r.Root(), "up"))
			outcomes <- outcome{got, err}
		}()
	}
	one, other := <-outcomes, <-outcomes
	require.NoError(t, one.err)
	require.NoError(t, other.err)
	require.Equal(t, []int{0, 0}, []int{one.code, other.code}, "both succeed:\n%s\n%s", one.stderr, other.stderr)
	require.Equal(t, one.stdout, other.stdout)
	require.Equal(t, 1, strings.Count(one.stderr+other.stderr, "Starting the cluster."),
		"only one of them starts anything")
	if runtime.GOOS == "linux" {
		require.Len(t, r.processes(), 5, "one process per component")
	}
}

func TestKubectlUsesTheWorkshopsKubeconfig(t *testing.T) {
	r := newRepository(t)
	r.must(0, "up")
	cmd := launch(r.Root(), "kubectl", "get", "pods", "--watch", "-n", "a b")
	cmd.Env = append(cmd.Env, "KUBECONFIG=/home/somebody/.kube/config")
	got, err := finish(cmd)
	require.NoError(t, err)
	require.Contains(t, got.stdout, "KUBECONFIG "+r.Kubeconfig()+"\n", "never the user's own")
	require.Contains(t, got.stdout, "ARGS get|pods|--watch|-n|a b\n", "every argument is kubectl's")
	require.Equal(t, 7, got.code, "kubectl's exit code is handed on")
}

func TestKeepAndResume(t *testing.T) {
	r := newRepository(t)
	stored := filepath.Join(r.Etcd(), "object")
	authority := func() string {
		content, err := os.ReadFile(r.PKI("ca.crt"))
		require.NoError(t, err)
		return string(content)
	}

	r.must(0, "up", "--keep")
	require.NoError(t, os.WriteFile(stored, nil, 0o600))
	first := authority()
	require.Contains(t, r.must(0, "down").stderr, "finds its objects again")
	r.requireNothingRuns()
	require.FileExists(t, stored)
	require.NoFileExists(t, r.Kubeconfig(), "it names an address that nobody answers at")

	// A start that fails must not cost anybody what was kept.
	r.does("kube-apiserver", "exit")
	r.must(1, "up")
	require.FileExists(t, stored)
	r.does("kube-apiserver", "")
	r.does("kwok", "exit") // the nodes' stored status must not pass for kwok's work
	require.Contains(t, r.must(1, "up").stderr, "kwok ended with exit status 3")
	r.does("kwok", "")
	require.FileExists(t, stored)

	require.Contains(t, r.must(0, "up").stderr, "The objects of the last cluster are kept")
	require.Equal(t, first, authority(), "what the old authority has signed stays valid")
	require.FileExists(t, stored)
	require.Contains(t, r.must(0, "status").stdout, "`cluster down` keeps its objects", "--keep holds until --discard")
	r.must(0, "down")
	require.FileExists(t, stored)
	r.must(0, "up", "--keep=false")
	require.FileExists(t, stored)
	r.must(0, "down")
	require.NoFileExists(t, stored, "--keep=false ends the keeping")

	r.must(0, "up", "--keep")
	r.must(0, "down")
	require.FileExists(t, r.State())
	r.must(0, "down", "--discard")
	require.NoDirExists(t, r.Cluster())
}

func TestLogs(t *testing.T) {
	r := newRepository(t)
	r.must(0, "up")
	all := r.must(0, "logs").stdout
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"} {
		require.Regexp(t, name+` +this is `+name, all, "every line says whose it is")
	}
	require.Equal(t, "this is etcd\n", r.must(0, "logs", "etcd").stdout)
	require.Contains(t, r.must(1, "logs", "kubelet").stderr, `no log of "kubelet"; there are logs of etcd, kube-apiserver`)
}

func TestLogsFollow(t *testing.T) {
	r := newRepository(t)
	r.must(0, "up")
	var followed lockedBuffer
	cmd := launch(r.Root(), "logs", "--follow", "etcd")
	cmd.Stdout = &followed
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	r.eventually("what is there is shown", func() bool { return followed.String() == "this is etcd\n" })
	r.must(0, "restart", "etcd")
	r.eventually("what is added is shown too", func() bool { return followed.String() == "this is etcd\nthis is etcd\n" })
}

func TestFindsTheRepositoryFromAnyFolderInIt(t *testing.T) {
	r := newRepository(t)
	cmd := launch("", "status")
	cmd.Dir = filepath.Join(r.Module(), "cmd", "etcd")
	got, err := finish(cmd)
	require.NoError(t, err)
	require.Contains(t, got.stderr, "no cluster is up")

	cmd = launch("", "status")
	cmd.Dir = t.TempDir()
	got, err = finish(cmd)
	require.NoError(t, err)
	require.Equal(t, 1, got.code)
	require.Contains(t, got.stderr, "not the workshop's repository")
}

func TestRejectsWrongNumberOfNodes(t *testing.T) {
	r := newRepository(t)
	require.Contains(t, r.must(2, "up", "--nodes=0").stderr, "1 to 1000 nodes")
	require.Nil(t, r.state())
}

// Ready must mean that all simulated nodes are: the stand-in has only node-1.
func TestUpWaitsForEveryNode(t *testing.T) {
	r := newRepository(t)
	cmd := launch(r.Root(), "up", "--nodes=2")
	got := r.interruptWhen(cmd, func() bool {
		state := r.state()
		return state != nil && len(state.Components) == 5
	}, os.Interrupt)
	require.Equal(t, 130, got.code)
	require.Empty(t, got.stdout, "a cluster that is not ready must not be announced")
	require.Nil(t, r.state())
}
