//go:build e2e

// Package e2e runs the workshop's controller against the real control plane,
// each as the separate processes that they are in production, and looks at
// what comes of it through the real API.
//
// It takes two minutes once the cluster's programs are built, which is why it
// hides behind a build tag. From the folder cluster:
//
//	CGO_ENABLED=0 go test -trimpath -gcflags=all=-dwarf=false -tags=e2e -count=1 -v ./e2e
//
// (With the first three settings Go reuses what building the programs has
// compiled.) A cluster that is up in the repository is not touched: the test
// has a workspace of its own and shares only the built programs.
//
//	e2e_test.go       the story
//	rbac_test.go      the same controller with the rights of its manifests, and with each of them missing
//	cluster_test.go   the cluster and the controller as processes
//	evict_test.go     evictions, with our budget and with another program's
//	objects_test.go   making objects, and waiting for what should become of them
//
// Left out: what the controller's own tests show better without a cluster
// (conflicts, budgets with our name, back-off).
package e2e

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestControllerOnRealControlPlane tells one story: each step needs the
// cluster as the step before has left it, so the first failure ends it.
func TestControllerOnRealControlPlane(t *testing.T) {
	c := startCluster(t)
	controller := c.startController(t)
	step := func(name string, do func(*testing.T)) {
		if !t.Run(name, do) {
			t.FailNow()
		}
	}

	step("a Deployment of three becomes Ready and gets a budget of two", func(t *testing.T) {
		created := time.Now()
		c.createDeployment(t, "web", 3)
		c.awaitBudget(t, "web", 2)
		t.Logf("the budget is there after %s, the leader election included", since(created))
		c.awaitReady(t, "web", 3)
		t.Logf("3/3 Ready after %s", since(created))
		c.requireOwned(t, "web")
	})
	step("the disruption controller takes the budget for real", func(t *testing.T) {
		c.awaitDisruptionsAllowed(t, "web", 1)
	})
	step("a Pod can be evicted with our budget alone", func(t *testing.T) {
		c.requireEviction(t, "web")
		c.awaitReady(t, "web", 3)
	})
	step("a budget of another program for the same Pods replaces ours, with a Warning, and evictions go on",
		func(t *testing.T) {
			c.createForeignBudget(t, "theirs", "web")
			c.awaitNoBudget(t, "web")
			require.Contains(t, c.awaitWarning(t, "web", "BudgetConflict").Message, "theirs")
			c.requireEviction(t, "web")
			c.deleteBudget(t, "theirs")
			c.awaitBudget(t, "web", 2)
			c.awaitReady(t, "web", 3)
		})
	step("a deleted budget is back at once", func(t *testing.T) {
		old := c.budget(t, "web")
		deleted := time.Now()
		c.deleteBudget(t, "web")
		c.awaitNewBudget(t, "web", old.UID)
		t.Logf("back after %s", since(deleted))
	})
	step("an edited minAvailable is repaired", func(t *testing.T) {
		edited := time.Now()
		c.editMinAvailable(t, "web", 0)
		c.awaitBudget(t, "web", 2)
		t.Logf("repaired after %s", since(edited))
	})
	step("a Deployment that grows gets a greater budget", func(t *testing.T) {
		c.scale(t, "web", 5)
		c.awaitBudget(t, "web", 4)
	})
	step("a Deployment of one has no budget", func(t *testing.T) {
		c.scale(t, "web", 1)
		c.awaitNoBudget(t, "web")
	})
	step("opting out removes the budget, opting in brings it back", func(t *testing.T) {
		c.scale(t, "web", 3)
		c.awaitBudget(t, "web", 2)
		c.annotate(t, "web", optOutAnnotation, "disabled")
		c.awaitNoBudget(t, "web")
		c.annotate(t, "web", optOutAnnotation, "")
		c.awaitBudget(t, "web", 2)
	})
	step("the budget of a deleted Deployment is garbage collected", func(t *testing.T) {
		deleted := time.Now()
		c.deleteDeployment(t, "web")
		c.awaitNoBudget(t, "web")
		t.Logf("gone after %s", since(deleted))
	})
	step("the controller carries on when the API server is killed and comes back", func(t *testing.T) {
		c.createDeployment(t, "before", 2)
		c.awaitBudget(t, "before", 1)
		c.run(t, "kill", "kube-apiserver")
		require.ErrorContains(t, c.tryRun(t, "status"), "exit status 1", "status must tell that the API server is dead")
		killed := time.Now()
		c.run(t, "restart", "kube-apiserver")
		t.Logf("the API server answers again after %s", since(killed))

		// Nobody tells the controller: its watches and its lease must find
		// the way back by themselves, within their back-off.
		c.createDeployment(t, "after", 3)
		c.awaitBudget(t, "after", 2)
		t.Logf("a Deployment created after the crash has its budget after %s", since(killed))
		c.deleteBudget(t, "before")
		c.awaitBudget(t, "before", 1)
	})
	step("kubectl sees what we see", func(t *testing.T) {
		require.Contains(t, c.run(t, "kubectl", "get", "poddisruptionbudgets", "--output=name"),
			"poddisruptionbudget.policy/after")
	})
	step("everything together stays below 700 MB", func(t *testing.T) {
		t.Logf("cluster status:\n%s", c.run(t, "status"))
		if together := c.memory(t); together > 0 {
			require.Less(t, together, int64(700_000_000), "resident bytes of all components")
		}
	})
	step("SIGTERM stops the controller cleanly", func(t *testing.T) {
		stopped := time.Now()
		require.NoError(t, controller.cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, controller.await(), "exit code 0 says that it stopped because it was asked to")
		t.Logf("stopped after %s", since(stopped))
		c.requireLeaseReleased(t, namespace)
	})
	step("down leaves no process and no file", func(t *testing.T) {
		processes := c.processes(t)
		c.run(t, "down")
		for _, p := range processes {
			require.False(t, p.Alive(), "process %d is still there", p.PID)
		}
		require.NoDirExists(t, c.workspace.Cluster())
		_, err := os.Stat(c.workspace.Kubeconfig())
		require.ErrorIs(t, err, os.ErrNotExist)
	})
}

func since(t time.Time) time.Duration { return time.Since(t).Round(time.Millisecond) }
