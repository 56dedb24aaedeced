package scripts

// These tests run the controller in containers, on real clusters: beside the workshop's own, and in kind. They need the
// programs of the cluster, Docker, and minutes, so they wait for the flag -real. `scripts/check.sh kind` sets it.

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

var realClusters = flag.Bool("real", false, "run the controller in containers, on real clusters (minutes)")

func needReal(t *testing.T) {
	t.Helper()
	if !*realClusters {
		t.Skip("takes minutes; -real asks for it")
	}
	needDocker(t)
}

// command runs a program in the root of the repository, and returns what it prints on stdout. Its stderr is the test's.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...) // also in Cleanup
	cmd.Dir = ".."
	cmd.Stderr = os.Stderr
	began := time.Now()
	stdout, err := cmd.Output()
	t.Logf("%s %s (%s)\n%s", name, strings.Join(args, " "), time.Since(began).Round(time.Second), stdout)
	require.NoError(t, err, "%s %s", name, strings.Join(args, " "))
	return string(stdout)
}

// realCluster is a running cluster, asked through its kubeconfig.
type realCluster struct {
	kubernetes.Interface
	lease string // the namespace of the controller's Lease
}

func connect(t *testing.T, kubeconfig, lease string) *realCluster {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return &realCluster{client, lease}
}

// eventually waits until condition holds on a real cluster, and fails the test after limit. It asks once a second. The
// error of condition says what is missing.
func eventually(t *testing.T, limit time.Duration, what string, condition func(ctx context.Context) error) {
	t.Helper()
	began := time.Now()
	for {
		err := condition(t.Context())
		if err == nil {
			break
		}
		require.Less(t, time.Since(began), limit, "%s: %v", what, err)
		time.Sleep(time.Second)
	}
	t.Logf("%s: after %s", what, time.Since(began).Round(time.Second))
}

// requireLeader waits for a leader other than before, if that is not "", and returns its host name.
func (c *realCluster) requireLeader(t *testing.T, limit time.Duration, before string) (now string) {
	t.Helper()
	what := "a controller leads"
	if before != "" {
		what = "a controller other than " + before + " leads"
	}
	eventually(t, limit, what, func(ctx context.Context) error {
		if now = c.leader(ctx); now == "" || now == before {
			return fmt.Errorf("the Lease names %q", now)
		}
		return nil
	})
	return now
}

// leader returns the host name of the controller that holds the Lease, or "".
func (c *realCluster) leader(ctx context.Context) string {
	lease, err := c.CoordinationV1().Leases(c.lease).Get(ctx, "pdb-controller", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	host, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	return host
}

// requireWork requires that a leader works: it creates the budget of the Deployment web again.
func (c *realCluster) requireWork(t *testing.T) {
	t.Helper()
	budgets := c.PolicyV1().PodDisruptionBudgets("default")
	err := budgets.Delete(t.Context(), "web", metav1.DeleteOptions{})
	if !apierrors.IsNotFound(err) {
		require.NoError(t, err)
	}
	eventually(t, 30*time.Second, "the leader creates the budget again", func(ctx context.Context) error {
		_, err := budgets.Get(ctx, "web", metav1.GetOptions{})
		return err
	})
}

func TestReal_containers_beside_the_cluster_and_one_takes_over(t *testing.T) {
	needReal(t)
	if _, err := os.Stat("../.workshop/cluster/state.json"); err == nil {
		t.Fatal("the cluster is up already, and this test would take it down: go tool workshop cluster down")
	}
	t.Cleanup(func() { command(t, "go", "tool", "workshop", "cluster", "down") })
	command(t, "go", "tool", "workshop", "cluster", "up")
	t.Cleanup(func() {
		command(t, "scripts/containers.sh", "down")
		require.Empty(t, docker(t, "ps", "--all", "--quiet", "--filter", "label=client-go-workshop=container"))
	})
	stubs := exec.CommandContext(t.Context(), "../scripts/containers.sh", "yours")
	output, err := stubs.CombinedOutput()
	require.Error(t, err, "the stubs cannot lead:\n%s", output)
	require.Contains(t, string(output), "chapter 07-controller is not written yet")
	command(t, "scripts/containers.sh")
	said := command(t, "scripts/containers.sh") // again, with the same controller
	c := connect(t, "../.workshop/cluster/kubeconfig", "default")
	command(t, "go", "tool", "workshop", "kubectl", "create", "deployment", "web", "--image=web", "--replicas=3")

	first := c.requireLeader(t, 30*time.Second, "")
	require.Contains(t, said, "docker kill client-go-workshop-"+first+"\n")
	c.requireWork(t)
	docker(t, "kill", "client-go-workshop-"+first)
	c.requireLeader(t, time.Minute, first)
	c.requireWork(t)
}
