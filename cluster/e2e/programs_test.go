//go:build e2e

// The programs of labs/programs, as docs/learn/since-the-articles.md and docs/learn/access.md show them: an informer
// without rights, and the same one with them, an informer of the Pods of one namespace, and a list through kubectl
// proxy.

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProgramsOfTheArticles(t *testing.T) {
	c := startCluster(t)
	c.createDeployment(t, "web", 1)
	kubeconfig := filepath.Join(t.TempDir(), "reader")
	step := func(name string, do func(*testing.T)) {
		if !t.Run(name, do) {
			t.FailNow()
		}
	}

	step("a service account without a role can list nothing", func(t *testing.T) {
		c.run(t, "kubectl", "create", "serviceaccount", "reader")
		admin, err := os.ReadFile(c.workspace.Kubeconfig())
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(kubeconfig, admin, 0o600))
		token := strings.TrimSpace(c.run(t, "kubectl", "create", "token", "reader"))
		c.run(t, "kubectl", "--kubeconfig", kubeconfig, "config", "set-credentials", "reader", "--token="+token)
		c.run(t, "kubectl", "--kubeconfig", kubeconfig, "config", "set-context", "--current", "--user=reader")
		require.ErrorContains(t, c.tryRun(t, canList...), "exit status 1: no")
	})
	// Outside of a step, because a program ends with the step that starts it.
	program := filepath.Join(t.TempDir(), "deployments")
	goBuild(t, c.repository.Root(), program, "./labs/programs/deployments")
	reader := startController(t, program, "--kubeconfig="+kubeconfig)
	step("its informer logs the right that is missing, and waits", func(t *testing.T) {
		awaitLog(t, reader, `failed to list *v1.Deployment: deployments.apps is forbidden: User `+
			`"system:serviceaccount:default:reader" cannot list resource "deployments" in API group "apps" at the cluster scope`)
		require.NotContains(t, reader.log.String(), "lister")
	})
	step("with the right it goes on by itself", func(t *testing.T) {
		c.run(t, "kubectl", "create", "clusterrole", "reader", "--verb=list,watch", "--resource=deployments.apps")
		c.run(t, "kubectl", "create", "clusterrolebinding", "reader", "--clusterrole=reader",
			"--serviceaccount=default:reader")
		require.NoError(t, c.tryRun(t, canList...))
		eventually(t, func(context.Context) error { // the Reflector waits for up to a minute
			if !strings.Contains(reader.log.String(), "lister   default/web with 1 replicas\n") {
				return fmt.Errorf("the program has not listed web; it says:\n%s", reader.log)
			}
			return nil
		})
	})
	step("an informer of the Pods of one namespace", func(t *testing.T) {
		program := filepath.Join(t.TempDir(), "pods")
		goBuild(t, c.repository.Root(), program, "./labs/programs/pods")
		pods := startController(t, program, "--kubeconfig="+c.workspace.Kubeconfig(), "--namespace="+namespace)
		awaitLog(t, pods, "The cache has all Pods of namespace "+namespace)
		c.scale(t, "web", 2)
		awaitLog(t, pods, "from Pending to Running")
	})
	step("a list through kubectl proxy, without credentials", func(t *testing.T) {
		proxy := c.command("kubectl", "proxy", "--port=0")
		log := &lockedBuffer{}
		proxy.Stdout, proxy.Stderr = log, log
		require.NoError(t, proxy.Start())
		t.Cleanup(func() {
			_ = proxy.Process.Kill()
			_ = proxy.Wait()
		})
		var address string
		eventually(t, func(context.Context) error {
			found := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(log.String())
			if found == "" {
				return errors.New("kubectl proxy does not say where it listens: " + log.String())
			}
			address = found
			return nil
		})
		answer, err := http.Get("http://" + address + "/apis/apps/v1/namespaces/default/deployments?limit=1")
		require.NoError(t, err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Contains(t, string(body), `"kind":"DeploymentList"`)
	})
}

// canList asks whether the service account may list Deployments.
var canList = []string{"kubectl", "auth", "can-i", "list", "deployments.apps", "--all-namespaces",
	"--as=system:serviceaccount:default:reader"}
