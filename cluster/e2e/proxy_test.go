//go:build e2e

// The proxy of labs/rewriting-proxy between the real API server and clients that nobody here wrote: kubectl, with
// Tables, watches and patches, and the controller of chapter 07, with TLS on both sides.

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRewritingProxy(t *testing.T) {
	c := startCluster(t)
	c.createDeployment(t, "web", 2)
	program, kubeconfig := filepath.Join(t.TempDir(), "proxy"), filepath.Join(t.TempDir(), "clients")
	goBuild(t, c.repository.Root(), program, "./labs/solutions/rewriting-proxy/cmd/proxy")
	proxy := startController(t, program, "--kubeconfig="+c.workspace.Kubeconfig(), "--clients="+kubeconfig)
	awaitLog(t, proxy, "export KUBECONFIG=")
	behind := func(args ...string) []string { return append([]string{"kubectl", "--kubeconfig", kubeconfig}, args...) }
	requireStored := func(t *testing.T, name string, replicas int32) {
		t.Helper()
		d, err := c.client.AppsV1().Deployments("default").Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, replicas, *d.Spec.Replicas, "the stored number of replicas")
	}
	// Outside of a step, because a program ends with the step that starts it.
	log := &lockedBuffer{}
	watch := c.command(behind("get", "deployments", "web", "--watch", "--output-watch-events")...)
	watch.Stdout, watch.Stderr = log, log
	require.NoError(t, watch.Start())
	t.Cleanup(func() {
		_ = watch.Process.Kill()
		_ = watch.Wait()
	})
	watched := &controller{log: log}
	step := func(name string, do func(*testing.T)) {
		if !t.Run(name, do) {
			t.FailNow()
		}
	}

	step("kubectl get prints three times the replicas, in every form", func(t *testing.T) {
		require.Equal(t, "6", c.run(t, behind("get", "deployment", "web", "-o", "jsonpath={.spec.replicas}")...))
		require.Contains(t, c.run(t, behind("get", "deployment", "web")...), "/6 ")
		require.Contains(t, c.run(t, behind("get", "deployments", "-o", "wide")...), "/6 ")
		awaitLog(t, watched, "/6 ")
	})
	step("kubectl scale and apply write what they say", func(t *testing.T) {
		c.run(t, behind("scale", "deployment", "web", "--replicas=9")...)
		requireStored(t, "web", 3)
		awaitLog(t, watched, "/9 ")
		require.ErrorContains(t, c.tryRun(t, behind("scale", "deployment", "web", "--replicas=7")...), "must be a multiple of 3")
		manifest := filepath.Join(t.TempDir(), "created.yaml")
		made := c.run(t, "kubectl", "create", "deployment", "created", "--image=nginx", "--replicas=3", "--dry-run=client",
			"--output=yaml")
		require.NoError(t, os.WriteFile(manifest, []byte(made), 0o600))
		c.run(t, behind("apply", "--filename", manifest)...)
		requireStored(t, "created", 1)
		c.run(t, behind("apply", "--filename", manifest)...) // once more, on what is stored
		requireStored(t, "created", 1)
		c.run(t, behind("patch", "deployment", "created", "--type=json",
			`--patch=[{"op":"replace","path":"/spec/replicas","value":6}]`)...)
		requireStored(t, "created", 2)
	})
	step("a hidden Deployment is gone for clients of the proxy, and comes back", func(t *testing.T) {
		c.run(t, "kubectl", "label", "deployment", "web", "example.com/hidden=yes")
		awaitLog(t, watched, "DELETED")
		require.ErrorContains(t, c.tryRun(t, behind("get", "deployment", "web")...), `deployments.apps "web" not found`)
		require.ErrorContains(t, c.tryRun(t, behind("delete", "deployment", "web")...), "not found")
		require.NotContains(t, c.run(t, behind("get", "deployments")...), "web")
		c.run(t, "kubectl", "label", "deployment", "web", "example.com/hidden-")
		require.Contains(t, c.run(t, behind("get", "deployments")...), "web")
		eventuallyCount(t, log, "ADDED", 2)
	})
	step("the controller of chapter 07 sees one replica as three, and makes a budget", func(t *testing.T) {
		c.createDeployment(t, "one", 1)
		startController(t, c.buildController(t), "--kubeconfig="+kubeconfig, "-v=2")
		c.awaitBudget(t, "one", 2)
	})
}

// eventuallyCount waits until a log has a word as often.
func eventuallyCount(t *testing.T, log *lockedBuffer, word string, times int) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Count(log.String(), word) >= times }, within,
		50*time.Millisecond, "the log has %s %d times", word, times)
}
