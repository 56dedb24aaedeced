package scripts

// These tests run containers.sh on a Docker that is played. real_test.go runs it on a real cluster.

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// newContainers returns a world with a cluster, and the tool that containers.sh needs besides those of other scripts.
func newContainers(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	id, err := exec.LookPath("id")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(id, filepath.Join(w.bin, "id")))
	w.write(filepath.Join(w.root, ".workshop", "cluster", "kubeconfig"), "    server: https://127.0.0.1:6443\n")
	return w
}

func TestContainers_runs_two_and_says_which_one_leads(t *testing.T) {
	w := newContainers(t)
	stdout := w.runs("containers.sh")
	requireInOrder(t, stdout, "1/4 ", "https://127.0.0.1:6443", "2/4 ", "3/4 ", "4/4 ",
		"docker kill client-go-workshop-controller-2")
	requireInOrder(t, w.told("calls"), " ./solutions/07-controller/cmd/pdb-controller\n",
		"--name client-go-workshop-controller-1 ", "--hostname controller-1 ",
		"--name client-go-workshop-controller-2 ", "--hostname controller-2 ")
	require.NotContains(t, w.told("calls"), "docker stop")
}

// The image of the same controller has been built before its containers are removed.
func TestContainers_again_runs_the_same_controller(t *testing.T) {
	w := newContainers(t)
	w.runs("containers.sh")
	require.NotContains(t, w.runs("containers.sh"), "removed the image")
	require.Contains(t, w.runs("containers.sh", "down"), "removed the image")
	w.runs("containers.sh", "down")
}

func TestContainers_says_why_Docker_starts_none(t *testing.T) {
	w := newContainers(t)
	w.is("no-host-network", "")
	_, stderr, code := w.run("containers.sh")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "starting the container 1: docker: Error response from daemon: no host network; fix that")
}

func TestContainers_again_replaces_those_that_run(t *testing.T) {
	w := newContainers(t)
	w.runs("containers.sh")
	w.forget("calls")
	w.is("program", "another controller")
	w.runs("containers.sh", "yours")
	requireInOrder(t, w.told("calls"), " ./07-controller/cmd/pdb-controller\n",
		"docker stop --time 20 container-1", "docker rm --force container-1",
		"docker stop --time 20 container-2", "docker rm --force container-2",
		"docker run --detach")
	w.forget("calls")
	w.runs("containers.sh", "down")
	require.NotContains(t, w.told("calls"), "docker run")
	require.Equal(t, 2, strings.Count(w.told("calls"), "docker rm --force "))
}

// The containers of stubs end at once, and docker run has succeeded before.
func TestContainers_says_why_a_container_has_ended(t *testing.T) {
	w := newContainers(t)
	w.is("container-ends", "")
	stdout, stderr, code := w.run("containers.sh", "yours")
	require.Equal(t, 1, code)
	requireInOrder(t, stderr, "pdb-controller: chapter 07-controller is not written yet\n",
		"containers.sh: waiting for the container client-go-workshop-controller-1: it has ended")
	require.NotContains(t, stderr, "Attempting to acquire", "the log of a controller that works explains nothing")
	require.NotContains(t, stdout, "Kill the leader")
}

func TestContainers_without_a_cluster_says_so(t *testing.T) {
	w := newWorld(t)
	_, stderr, code := w.run("containers.sh")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "containers.sh: looking for the cluster")
	require.Contains(t, stderr, "go tool workshop cluster up")
	require.Empty(t, w.told("calls"))
	_, stderr, code = w.run("containers.sh", "theirs")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "theirs")
}
