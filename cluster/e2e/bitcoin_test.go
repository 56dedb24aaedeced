//go:build e2e

// The controller of labs/custom-resource with its manifests (labs/solutions/custom-resource/deploy) and with its own
// service account: first without its rights, then with them.
//
// As in rbac_test.go, no Pod runs on simulated nodes: the API server judges the manifests, and the program runs beside
// it with a token of the Pods' service account.

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// bitcoin is the name of the controller, see account_test.go.
const bitcoin = "bitcoin-controller"

func TestCustomResource(t *testing.T) {
	c := startCluster(t)
	kubeconfig, registry := filepath.Join(t.TempDir(), "kubeconfig"), t.TempDir()
	program := filepath.Join(t.TempDir(), bitcoin)
	goBuild(t, c.repository.Root(), program, "./labs/solutions/custom-resource/cmd/bitcoin-controller")
	start := func() *controller {
		return startController(t, program, "--kubeconfig="+kubeconfig, "--registry="+registry)
	}
	step := func(name string, do func(*testing.T)) {
		if !t.Run(name, do) {
			t.FailNow()
		}
	}

	step("the manifests make a Pod under the strictest rules for Pods", func(t *testing.T) {
		for _, file := range []string{"crd.yaml", "rbac.yaml", "deployment.yaml"} {
			c.run(t, "kubectl", "apply", "--filename="+c.ofLab("deploy", file))
		}
		c.run(t, "kubectl", "wait", "--for=condition=Established", "crd/bitcoinnetworks.bitcoin.example.com")
		eventually(t, func(ctx context.Context) error { // its volume keeps it from starting
			d, err := c.client.AppsV1().Deployments(bitcoin).Get(ctx, bitcoin, metav1.GetOptions{})
			if err == nil && d.Status.Replicas != 1 {
				err = fmt.Errorf("the Deployment has %d Pods: %v", d.Status.Replicas, d.Status.Conditions)
			}
			return err
		})
		c.writeKubeconfig(t, kubeconfig, bitcoin)
	})
	step("an invalid network is refused with the reason", func(t *testing.T) {
		valid, err := os.ReadFile(c.ofLab("demo.yaml"))
		require.NoError(t, err)
		for change, message := range map[[2]string]string{
			{"nodes: 2", "nodes: 21"}:            "spec.nodes: Invalid value: 21",
			{`version: "29.0"`, "version: new"}:  "spec.version: Invalid value: \"new\"",
			{`version: "29.0"`, "chain: main"}:   "spec.version: Required value",
			{"nodes: 2", "nodes: 2\n  chain: x"}: `Unsupported value: "x": supported values: "main", "test", "regtest"`,
			{"nodes: 2", "nods: 2"}:              `unknown field "spec.nods"`,
		} {
			file := filepath.Join(t.TempDir(), "invalid.yaml")
			invalid := strings.Replace(string(valid), change[0], change[1], 1)
			require.NotEqual(t, string(valid), invalid, "%s is in the manifest", change[0])
			require.NoError(t, os.WriteFile(file, []byte(invalid), 0o600))
			require.ErrorContains(t, c.tryRun(t, "kubectl", "apply", "--filename="+file), message)
		}
	})

	c.run(t, "kubectl", "delete", "clusterrolebinding", bitcoin)
	c.run(t, "kubectl", "apply", "--filename="+c.ofLab("demo.yaml"))
	first := start()
	step("without a role, the log names the rights that are missing", func(t *testing.T) {
		const user = `User "system:serviceaccount:bitcoin-controller:bitcoin-controller" `
		const wide = ` at the cluster scope`
		awaitLog(t, first, user+`cannot list resource "bitcoinnetworks" in API group "bitcoin.example.com"`+wide)
		awaitLog(t, first, user+`cannot list resource "deployments" in API group "apps"`+wide)
		require.Empty(t, c.network(t).Finalizers, "the controller cannot have written")
	})
	step("with the role it goes on by itself: a Deployment, a status, a finalizer and an entry", func(t *testing.T) {
		c.run(t, "kubectl", "apply", "--filename="+c.ofLab("deploy", "rbac.yaml"))
		c.awaitNetwork(t, 1, 2) // the Reflector waits for up to a minute
		network := c.network(t)
		require.Equal(t, []string{"bitcoin.example.com/registry"}, network.Finalizers)
		require.Equal(t, "regtest", network.Status.RegisteredChain)
		d, err := c.client.AppsV1().Deployments(namespace).Get(t.Context(), "demo", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, network.UID, metav1.GetControllerOf(d).UID)
		require.FileExists(t, filepath.Join(registry, string(network.UID)+".json"))
	})
	step("a change of the spec arrives in the Deployment and in the status", func(t *testing.T) {
		c.run(t, "kubectl", "patch", "btc", "demo", "--type=merge", `--patch={"spec":{"nodes":3}}`)
		c.awaitNetwork(t, 2, 3)
		require.Regexp(t, `demo +regtest +3 +True`, c.run(t, "kubectl", "get", "btc"))
	})
	step("a network that is deleted while no controller runs stays, and so does its entry", func(t *testing.T) {
		require.NoError(t, first.cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, first.await(), "exit code 0 says that it stopped because it was asked to")
		c.run(t, "kubectl", "delete", "btc", "demo", "--wait=false")
		require.NotNil(t, c.network(t).DeletionTimestamp)
	})
	second := start()
	step("the next controller removes the entry and the finalizer, and the Deployment goes", func(t *testing.T) {
		// The garbage collector looks for new kinds every 30 s, and waits longer and longer for an owner of a kind that
		// it does not know yet.
		eventually(t, func(ctx context.Context) error {
			_, err := c.client.AppsV1().Deployments(namespace).Get(ctx, "demo", metav1.GetOptions{})
			if !apierrors.IsNotFound(err) {
				return fmt.Errorf("the Deployment demo is not gone: %v", err)
			}
			return nil
		})
		require.ErrorContains(t, c.tryRun(t, "kubectl", "get", "btc", "demo"), "not found")
		entries, err := os.ReadDir(registry)
		require.NoError(t, err)
		require.Empty(t, entries)
		require.NotContains(t, second.log.String(), "forbidden", "its rights must be all that it needs")
		require.NoError(t, second.cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, second.await())
	})
	step("the image runs as in a Pod", func(t *testing.T) {
		container := c.runImage(t, bitcoin, "--registry=/registry")
		c.run(t, "kubectl", "apply", "--filename="+c.ofLab("demo.yaml"))
		c.awaitNetwork(t, 1, 2)
		docker(t, "stop", "-t", "20", container)
		require.Equal(t, "0", docker(t, "inspect", "--format={{.State.ExitCode}}", container), "SIGTERM ends it cleanly")
		require.NotContains(t, docker(t, "logs", container), "forbidden")
	})
}

// ofLab returns the path of a file of the lab: the manifests are with the solution.
func (c *cluster) ofLab(path ...string) string {
	lab := filepath.Join("labs", "custom-resource")
	if len(path) > 1 {
		lab = filepath.Join("labs", "solutions", "custom-resource")
	}
	return filepath.Join(append([]string{c.repository.Root(), lab}, path...)...)
}

// network is a BitcoinNetwork, as far as this test looks at it: this module does not import the lab's types.
type network struct {
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		ObservedGeneration int64
		ReadyNodes         int32
		RegisteredChain    string
		Conditions         []metav1.Condition
	}
}

func (c *cluster) network(t *testing.T) (n network) {
	t.Helper()
	said := c.run(t, "kubectl", "get", "btc", "demo", "--output=json")
	require.NoError(t, json.Unmarshal([]byte(said), &n), said)
	return n
}

// awaitNetwork waits until the status says that all nodes of a generation are ready.
func (c *cluster) awaitNetwork(t *testing.T, generation int64, nodes int32) {
	t.Helper()
	eventually(t, func(context.Context) error {
		n := c.network(t)
		for _, condition := range n.Status.Conditions {
			if condition.Type == "Ready" && condition.Status == metav1.ConditionTrue &&
				condition.ObservedGeneration == generation && n.Status.ReadyNodes == nodes {
				return nil
			}
		}
		return fmt.Errorf("generation %d with %d nodes is not ready: %+v", generation, nodes, n.Status)
	})
}
