//go:build e2e

// The cluster and the controller, as processes: built, started, spoken to
// through their command lines, and gone when the test is.

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"client-go-workshop/cluster/internal/launcher"
	"client-go-workshop/cluster/internal/process"
	"client-go-workshop/cluster/internal/workspace"
)

// cluster is a running control plane and a client of its API.
type cluster struct {
	repository workspace.Workspace // where the source is
	workspace  workspace.Workspace // where this test's cluster keeps its files
	launcher   string              // path of the launcher
	client     kubernetes.Interface
}

// startCluster brings up a cluster in a workspace that lives as long as t.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	repository, err := workspace.Find()
	require.NoError(t, err)
	root := t.TempDir()
	require.NoError(t, os.Symlink(repository.Module(), filepath.Join(root, "cluster")))
	require.NoError(t, os.MkdirAll(repository.Bin(), 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(root, ".workshop"), 0o755))
	require.NoError(t, os.Symlink(repository.Bin(), filepath.Join(root, ".workshop", "bin")))
	own, err := workspace.At(root)
	require.NoError(t, err)

	c := &cluster{repository: repository, workspace: own, launcher: filepath.Join(t.TempDir(), "cluster")}
	goBuild(t, repository.Module(), c.launcher, "./cmd/cluster", clusterBuild...)
	c.run(t, "build")
	began := time.Now()
	t.Cleanup(func() {
		if err := c.tryRun(t, "down"); err != nil {
			t.Errorf("cluster down: %v", err)
		}
	})
	t.Logf("cluster up:\n%s", c.run(t, "up"))
	t.Logf("up after %s", since(began))

	config, err := clientcmd.BuildConfigFromFlags("", own.Kubeconfig())
	require.NoError(t, err)
	require.False(t, config.Insecure, "the kubeconfig must not skip the check of the server's certificate")
	config.QPS = -1 // a test that polls must not be slowed down by its own client
	c.client, err = kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return c
}

// clusterBuild is how the launcher builds the programs of the cluster.
var clusterBuild = []string{"CGO_ENABLED=0", "GOFLAGS=-trimpath -gcflags=all=-dwarf=false"}

// goBuild compiles a program. settings are variables of the environment; they decide what Go's build cache has ready: a
// program of the cluster takes clusterBuild, one of the workshop none, which is what all else in its module is compiled
// with.
func goBuild(t *testing.T, module, output, target string, settings ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-C", module, "-buildvcs=false", "-tags=elect", "-o", output, target)
	ours := func(v string) bool { return strings.HasPrefix(v, "CGO_ENABLED=") || strings.HasPrefix(v, "GOFLAGS=") }
	cmd.Env = append(slices.DeleteFunc(os.Environ(), ours), append(settings, "GOWORK=off")...)
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "go build %s in %s:\n%s", target, module, said)
}

// run runs the launcher with args, fails the test if that fails, and returns
// everything it has printed.
func (c *cluster) run(t *testing.T, args ...string) string {
	t.Helper()
	said, err := c.command(args...).CombinedOutput()
	require.NoError(t, err, "cluster %s:\n%s", strings.Join(args, " "), said)
	return string(said)
}

func (c *cluster) tryRun(t *testing.T, args ...string) error {
	t.Helper()
	said, err := c.command(args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	return nil
}

// command is not bound to the test's context: `down` runs after that has ended.
func (c *cluster) command(args ...string) *exec.Cmd {
	cmd := exec.Command(c.launcher, args...)
	cmd.Env = append(os.Environ(), workspace.RootVariable+"="+c.workspace.Root())
	return cmd
}

func (c *cluster) processes(t *testing.T) []process.Process {
	t.Helper()
	state, err := launcher.Load(c.workspace)
	require.NoError(t, err)
	require.NotNil(t, state, "the cluster must be up")
	var processes []process.Process
	for _, component := range state.Components {
		processes = append(processes, component.Process)
	}
	return processes
}

// memory is what all components have resident; 0 where it cannot be known.
func (c *cluster) memory(t *testing.T) (together int64) {
	for _, p := range c.processes(t) {
		bytes, _ := p.Memory()
		together += bytes
	}
	return together
}

// controller is a running pdb-controller.
type controller struct {
	cmd    *exec.Cmd
	exited chan struct{}
	err    error
	log    *lockedBuffer
}

// startController builds the controller and starts it with the flags that one
// would use in production. It works only as the leader.
func (c *cluster) startController(t *testing.T) *controller {
	t.Helper()
	return startController(t, c.buildController(t), "--kubeconfig="+c.workspace.Kubeconfig(), "-v=2")
}

// buildController builds the controller from the repository's root module.
func (c *cluster) buildController(t *testing.T) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "pdb-controller")
	goBuild(t, c.repository.Root(), program, "./solutions/07-controller/cmd/pdb-controller")
	return program
}

func startController(t *testing.T, program string, args ...string) *controller {
	t.Helper()
	log := &lockedBuffer{}
	ctl := &controller{cmd: exec.Command(program, args...), exited: make(chan struct{}), log: log}
	ctl.cmd.Stdout, ctl.cmd.Stderr = log, log
	require.NoError(t, ctl.cmd.Start())
	go func() {
		ctl.err = ctl.cmd.Wait()
		close(ctl.exited)
	}()
	t.Cleanup(func() {
		_ = ctl.cmd.Process.Kill()
		<-ctl.exited
		if t.Failed() {
			t.Logf("the controller's log:\n%s", log)
		}
	})
	return ctl
}

// await returns how the controller has ended.
func (c *controller) await() error {
	select {
	case <-c.exited:
		return c.err
	case <-time.After(within):
		return errors.New("the controller has not ended within " + within.String())
	}
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
