//go:build e2e

// The controller as its manifests deploy it (solutions/07-controller/deploy):
// with its own service account, and with no right that is not in rbac.yaml.
//
// No Pod runs on simulated nodes, so the manifests are judged by the API server
// (would it have these Pods?) and the program runs beside it, with a token of
// the Pods' service account: as a process, and where there is a Docker as the
// image that the Deployment names.

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// own is the name of the controller's Deployment, service account, roles and
// Lease, and of their namespace.
const own = "pdb-controller"

const ownUser = "system:serviceaccount:" + own + ":" + own

// TestControllerWithItsOwnRights tells one story, as the other test does.
func TestControllerWithItsOwnRights(t *testing.T) {
	c := startCluster(t)
	program := c.buildController(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	start := func(t *testing.T, more ...string) *controller {
		return startController(t, program, append(more, "--kubeconfig="+kubeconfig, "--lease-namespace="+own,
			"--leader-elect", "-v=2")...)
	}
	step := func(name string, do func(*testing.T)) {
		if !t.Run(name, do) {
			t.FailNow()
		}
	}

	step("the manifests make two Pods under the strictest rules for Pods", func(t *testing.T) {
		c.run(t, "kubectl", "apply", "--filename="+c.deploy("rbac.yaml"))
		c.run(t, "kubectl", "apply", "--filename="+c.deploy("deployment.yaml"))
		c.run(t, "kubectl", "--namespace="+own, "rollout", "status", "deployment/"+own, "--timeout=60s")
		c.writeKubeconfig(t, kubeconfig, own)
	})
	step("of two instances one works, and does all there is to do with the rights that it has", func(t *testing.T) {
		first := start(t)
		awaitLog(t, first, "Starting workers")
		second := start(t)
		awaitLog(t, second, `"Leader"`) // it has seen the Lease in the other's hands

		c.createDeployment(t, "web", 3)
		c.awaitBudget(t, "web", 2)
		c.awaitOwnBudget(t)
		for range 2 { // the second time there is an Event to count up
			c.editMinAvailable(t, "web", 0)
			c.awaitBudget(t, "web", 2)
		}
		c.awaitEvent(t, "web", "BudgetRepaired", 2)
		c.scale(t, "web", 1)
		c.awaitNoBudget(t, "web")

		leader := c.leaseHolder(t, own)
		require.NoError(t, first.cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, first.await(), "exit code 0 says that it stopped because it was asked to")
		require.NotEqual(t, leader, c.leaseHolder(t, own), "the Lease is given back, and need not run out")
		c.scale(t, "web", 4)
		c.awaitBudget(t, "web", 3)
		require.NoError(t, second.cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, second.await())
		c.requireLeaseReleased(t, own)

		for _, instance := range []*controller{first, second} {
			require.NotContains(t, instance.log.String(), "forbidden", "its rights must be all that it needs")
		}
	})
	step("each single right is needed, and the log says which one is missing", func(t *testing.T) {
		for i, missing := range c.rights(t) {
			t.Run(missing.String(), func(t *testing.T) {
				c.deleteLease(t)
				c.withdraw(t, missing)
				var more []string
				if missing.verb == "list" {
					// This API server streams lists, to whom it lets watch. A
					// client that cannot take them is as one whose server cannot.
					t.Setenv("KUBE_FEATURE_WatchListClient", "false")
					more = append(more, "--layers=client-go")
				}
				instance := start(t, more...)
				c.provoke(t, missing, fmt.Sprintf("web-%d", i))
				awaitLog(t, instance, fmt.Sprintf("User %q cannot %s resource %q", ownUser, missing.verb, missing.resource))
			})
		}
	})
	step("the image runs as in a Pod", func(t *testing.T) {
		c.deleteLease(t)
		container := c.runImage(t, own, "--leader-elect", "-v=2")
		c.createDeployment(t, "contained", 2)
		c.awaitBudget(t, "contained", 1)
		docker(t, "stop", "-t", "20", container)
		require.Equal(t, "0", docker(t, "inspect", "--format={{.State.ExitCode}}", container),
			"SIGTERM has to end it cleanly")
		require.NotContains(t, docker(t, "logs", container), "forbidden")
		c.requireLeaseReleased(t, own)
	})
}

func (c *cluster) deploy(file string) string {
	return filepath.Join(c.repository.Root(), "solutions", "07-controller", "deploy", file)
}

// awaitLog waits for words in what the controller says. An error stands there
// in quotes, and the quotes inside of it have a backslash each.
func awaitLog(t *testing.T, instance *controller, words string) {
	t.Helper()
	eventually(t, func(context.Context) error {
		if !strings.Contains(strings.ReplaceAll(instance.log.String(), `\"`, `"`), words) {
			return fmt.Errorf("the log does not say %q; it says:\n%s", words, instance.log)
		}
		return nil
	})
}

// awaitOwnBudget waits for the budget of the controller's own Deployment.
func (c *cluster) awaitOwnBudget(t *testing.T) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		_, err := c.client.PolicyV1().PodDisruptionBudgets(own).Get(ctx, own, metav1.GetOptions{})
		return err
	})
}

// awaitEvent waits for an Event that was counted up so far.
func (c *cluster) awaitEvent(t *testing.T, deployment, reason string, count int32) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		events, err := c.client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{
			FieldSelector: "involvedObject.name=" + deployment + ",reason=" + reason,
		})
		if err != nil {
			return err
		}
		var seen []int32
		for _, event := range events.Items {
			seen = append(seen, event.Count)
		}
		if !slices.Contains(seen, count) {
			return fmt.Errorf("the Events %s of %s were counted up to %v, none to %d", reason, deployment, seen, count)
		}
		return nil
	})
}

// right is one verb on one resource in one of the two roles.
type right struct {
	verb, group, resource string
	role                  string // the Role in namespace own; if empty the ClusterRole
	name                  string // the only object that it is for, if there is such
}

func (r right) String() string { return r.verb + " " + r.resource }

const leaseRole = own + "-lease"

// rights are all that the manifests give, as the server has them: a right that
// is added there is tested here.
func (c *cluster) rights(t *testing.T) (all []right) {
	t.Helper()
	add := func(role string, rules []rbacv1.PolicyRule) {
		for _, rule := range rules {
			require.Len(t, rule.APIGroups, 1)
			require.Len(t, rule.Resources, 1)
			for _, verb := range rule.Verbs {
				all = append(all, right{verb, rule.APIGroups[0], rule.Resources[0], role, strings.Join(rule.ResourceNames, "")})
			}
		}
	}
	wide, err := c.client.RbacV1().ClusterRoles().Get(t.Context(), own, metav1.GetOptions{})
	require.NoError(t, err)
	narrow, err := c.client.RbacV1().Roles(own).Get(t.Context(), leaseRole, metav1.GetOptions{})
	require.NoError(t, err)
	add("", wide.Rules)
	add(leaseRole, narrow.Rules)
	require.Len(t, all, 12, "the rights in rbac.yaml")
	return all
}

// withdraw takes a right away until the test ends, and waits until the API
// server has heard of it.
func (c *cluster) withdraw(t *testing.T, r right) {
	t.Helper()
	without := func(rules []rbacv1.PolicyRule) (rest []rbacv1.PolicyRule) {
		for _, rule := range rules {
			if rule.Resources[0] == r.resource && strings.Join(rule.ResourceNames, "") == r.name {
				rule.Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(verb string) bool { return verb == r.verb })
			}
			if len(rule.Verbs) > 0 { // a rule without a verb is refused
				rest = append(rest, rule)
			}
		}
		return rest
	}
	if r.role == "" {
		roles := c.client.RbacV1().ClusterRoles()
		role, err := roles.Get(t.Context(), own, metav1.GetOptions{})
		require.NoError(t, err)
		role.Rules = without(role.Rules)
		_, err = roles.Update(t.Context(), role, metav1.UpdateOptions{})
		require.NoError(t, err, "taking away %s", r)
	} else {
		roles := c.client.RbacV1().Roles(own)
		role, err := roles.Get(t.Context(), r.role, metav1.GetOptions{})
		require.NoError(t, err)
		role.Rules = without(role.Rules)
		_, err = roles.Update(t.Context(), role, metav1.UpdateOptions{})
		require.NoError(t, err, "taking away %s", r)
	}
	c.awaitAllowed(t, r, false)
	t.Cleanup(func() {
		// The test's context has ended, and with it eventually would.
		if err := c.tryRun(t, "kubectl", "apply", "--filename="+c.deploy("rbac.yaml")); err != nil {
			t.Errorf("giving %s back: %v", r, err)
		}
	})
}

// awaitAllowed waits until the API server would answer a request so.
func (c *cluster) awaitAllowed(t *testing.T, r right, allowed bool) {
	t.Helper()
	attributes := &authorizationv1.ResourceAttributes{Verb: r.verb, Group: r.group, Resource: r.resource, Name: r.name}
	if r.role != "" {
		attributes.Namespace = own
	}
	eventually(t, func(ctx context.Context) error {
		review, err := c.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User:               ownUser,
				Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + own, "system:authenticated"},
				ResourceAttributes: attributes,
			},
		}, metav1.CreateOptions{})
		if err == nil && review.Status.Allowed != allowed {
			err = fmt.Errorf("%s is allowed: %t, want %t", r, review.Status.Allowed, allowed)
		}
		return err
	})
}

// provoke gives the controller a reason to use a right. Most need nothing but
// a Deployment that has no budget yet.
func (c *cluster) provoke(t *testing.T, r right, deployment string) {
	t.Helper()
	c.createDeployment(t, deployment, 3)
	switch r.String() {
	case "update poddisruptionbudgets":
		c.awaitBudget(t, deployment, 2)
		c.editMinAvailable(t, deployment, 0)
	case "delete poddisruptionbudgets":
		c.awaitBudget(t, deployment, 2)
		c.scale(t, deployment, 1)
	case "patch events":
		c.awaitBudget(t, deployment, 2)
		for range 2 {
			c.editMinAvailable(t, deployment, 0)
			c.awaitBudget(t, deployment, 2)
		}
	}
}

// deleteLease removes the Lease, which an instance that was killed still has.
func (c *cluster) deleteLease(t *testing.T) {
	t.Helper()
	err := c.client.CoordinationV1().Leases(own).Delete(t.Context(), own, metav1.DeleteOptions{})
	if !apierrors.IsNotFound(err) {
		require.NoError(t, err, "deleting the Lease %s", own)
	}
}
