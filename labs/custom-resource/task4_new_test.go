package customresource_test

// Task 4: the status for an observed state.

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"client-go-workshop/internal/testkit/guard"
	customresource "client-go-workshop/labs/custom-resource"
)

// ready returns what a controller observes of a network whose two nodes are ready. The edits change it.
func ready(edits ...func(*customresource.Observed)) customresource.Observed {
	observed := customresource.Observed{
		RegisteredChain: "regtest",
		Deployment: &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Generation: 5},
			Status:     appsv1.DeploymentStatus{ObservedGeneration: 5, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2},
		},
	}
	for _, edit := range edits {
		edit(&observed)
	}
	return observed
}

// generation7 is a network whose spec was changed six times.
func generation7(network *customresource.BitcoinNetwork) { network.Generation = 7 }

// condition returns a condition of the status for an observed state.
func condition(t *guard.T, name string, network *customresource.BitcoinNetwork,
	observed customresource.Observed) metav1.Condition {
	t.Did("NewStatus")
	c := meta.FindStatusCondition(customresource.NewStatus(network, observed).Conditions, name)
	require.NotNil(t, c, "the condition %s", name)
	return *c
}

// inWords returns the state of a condition.
func inWords(c metav1.Condition) string { return c.Type + " is " + string(c.Status) + ": " + c.Reason }

func TestTask4_Observed_generation(t *testing.T) {
	guard.Test(t, "ObservedGeneration is the network's generation, in the status and in each condition: a program can see "+
		"that a status is about an older spec.", func(t *guard.T) {
		network, status := demo(generation7), customresource.BitcoinNetworkStatus{}
		for _, failure := range []struct{ registry, deployment error }{
			{errAway, errAway}, {errAway, nil}, {nil, errAway}, {nil, &customresource.NameTakenError{}}, {nil, nil},
		} {
			t.Did("NewStatus; the registry's error is %v, that of the Deployment %v", failure.registry, failure.deployment)
			status = customresource.NewStatus(network, ready(func(o *customresource.Observed) {
				o.RegistryError, o.DeploymentError = failure.registry, failure.deployment
			}))
			require.Equal(t, int64(7), status.ObservedGeneration, "the status's observed generation")
			require.Len(t, status.Conditions, 2, "the conditions")
			for _, c := range status.Conditions {
				require.Equal(t, int64(7), c.ObservedGeneration, "the observed generation of %s", c.Type)
			}
		}
		t.Did("the spec changes, and the conditions do not")
		network.Status, network.Generation = status, 8
		for _, c := range customresource.NewStatus(network, ready()).Conditions {
			require.Equal(t, int64(8), c.ObservedGeneration, "the observed generation of %s, which has not changed", c.Type)
		}
		t.Did("the status is that of a network with more generations, out of a backup")
		network.Generation = 3
		status = customresource.NewStatus(network, ready())
		require.Equal(t, int64(3), status.ObservedGeneration, "the status's observed generation")
		for _, c := range status.Conditions {
			require.Equal(t, int64(3), c.ObservedGeneration, "the observed generation of %s", c.Type)
		}
	})
}

func TestTask4_Ready_nodes(t *testing.T) {
	guard.Test(t, "ReadyNodes is the number of ready replicas.", func(t *guard.T) {
		network := demo()
		network.Status.ReadyNodes = 2
		t.Did("NewStatus")
		status := customresource.NewStatus(network, ready(func(o *customresource.Observed) {
			o.Deployment.Status.ReadyReplicas = 1
		}))
		require.Equal(t, int32(1), status.ReadyNodes, "the ready nodes of a Deployment with one ready replica")
		t.Did("NewStatus for a Deployment that has not stopped a node too many")
		status = customresource.NewStatus(network, ready(func(o *customresource.Observed) {
			o.Deployment.Status.ReadyReplicas = 3
		}))
		require.Equal(t, int32(3), status.ReadyNodes, "the ready nodes of a network that wants two")
		t.Did("NewStatus for a Deployment whose status is about an older one")
		status = customresource.NewStatus(network, ready(func(o *customresource.Observed) { o.Deployment.Generation = 6 }))
		require.Equal(t, int32(2), status.ReadyNodes, "the ready nodes of a Deployment that has changed")
		t.Did("NewStatus with a RegistryError")
		status = customresource.NewStatus(network, ready(func(o *customresource.Observed) { o.RegistryError = errAway }))
		require.Equal(t, int32(2), status.ReadyNodes, "the ready nodes while the registry is away")
		t.Did("NewStatus without a Deployment")
		status = customresource.NewStatus(network, ready(func(o *customresource.Observed) { o.Deployment = nil }))
		require.Equal(t, int32(0), status.ReadyNodes, "the ready nodes without a Deployment")
	})
}

func TestTask4_Registered_chain(t *testing.T) {
	guard.Test(t, "RegisteredChain is the observed one: the next Register compares it.", func(t *guard.T) {
		network := demo()
		network.Status.RegisteredChain = "test"
		t.Did("NewStatus")
		require.Equal(t, "regtest", customresource.NewStatus(network, ready()).RegisteredChain, "the registered chain")
		for _, failure := range []error{nil, errors.New("the registry is away")} {
			for _, chain := range []string{"", "main"} {
				t.Did("NewStatus for the observed chain %q, and the registry's error %v", chain, failure)
				observed := ready(func(o *customresource.Observed) { o.RegisteredChain, o.RegistryError = chain, failure })
				require.Equal(t, chain, customresource.NewStatus(network, observed).RegisteredChain, "the registered chain")
			}
		}
	})
}

func TestTask4_Ready_is_true(t *testing.T) {
	guard.Test(t, "Ready is True if as many replicas are ready as the network has nodes, and the Deployment's controller "+
		"has seen the newest Deployment and replaced all old Pods.", func(t *guard.T) {
		require.Equal(t, "Ready is True: NodesReady", inWords(condition(t, "Ready", demo(), ready())), "the condition")
		none := demo(func(n *customresource.BitcoinNetwork) { n.Spec.Nodes = new(int32) })
		observed := ready(func(o *customresource.Observed) {
			o.Deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: 5}
		})
		require.Equal(t, "Ready is True: NodesReady", inWords(condition(t, "Ready", none, observed)),
			"the condition of a network that wants no nodes")
		late := ready(func(o *customresource.Observed) {
			o.Deployment.Status.Conditions = []appsv1.DeploymentCondition{
				{Type: appsv1.DeploymentProgressing, Status: "False", Reason: "ProgressDeadlineExceeded"}}
		})
		require.Equal(t, "Ready is True: NodesReady", inWords(condition(t, "Ready", demo(), late)),
			"the condition of a network whose nodes became ready after the Deployment's deadline")
		away := ready(func(o *customresource.Observed) { o.RegistryError = errAway })
		require.Equal(t, "Ready is True: NodesReady", inWords(condition(t, "Ready", demo(), away)),
			"the condition while the registry is away")
		unnumbered := demo(func(n *customresource.BitcoinNetwork) { n.Spec.Nodes = nil })
		three := ready(func(o *customresource.Observed) {
			s := &o.Deployment.Status
			s.Replicas, s.UpdatedReplicas, s.ReadyReplicas = 3, 3, 3
		})
		require.Equal(t, "Ready is True: NodesReady", inWords(condition(t, "Ready", unnumbered, three)),
			"the condition of a network without a number, if three replicas are ready")
	})
}

// finishedLongAgo returns the conditions of a Deployment whose rollout finished a day ago.
func finishedLongAgo() []appsv1.DeploymentCondition {
	then := metav1.NewTime(time.Now().Add(-24 * time.Hour))
	return []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentAvailable, Status: "True", Reason: "MinimumReplicasAvailable", LastTransitionTime: then},
		{Type: appsv1.DeploymentProgressing, Status: "True", Reason: "NewReplicaSetAvailable", LastTransitionTime: then},
	}
}

func TestTask4_Ready_is_false(t *testing.T) {
	for name, edit := range guard.InOrder(map[string]func(*customresource.Observed){
		"one replica is ready": func(o *customresource.Observed) { o.Deployment.Status.ReadyReplicas = 1 },
		"the status is about an older Deployment": func(o *customresource.Observed) {
			o.Deployment.Status.ObservedGeneration, o.Deployment.Status.Conditions = 4, finishedLongAgo()
		},
		"a Pod too many is ready":  func(o *customresource.Observed) { o.Deployment.Status.ReadyReplicas = 3 },
		"one Pod is old":           func(o *customresource.Observed) { o.Deployment.Status.UpdatedReplicas = 1 },
		"one old Pod is left over": func(o *customresource.Observed) { o.Deployment.Status.Replicas = 3 },
		"one Pod is too many": func(o *customresource.Observed) {
			s := &o.Deployment.Status
			s.Replicas, s.UpdatedReplicas, s.ReadyReplicas = 3, 3, 3
		},
		"the Deployment wants fewer nodes than the network": func(o *customresource.Observed) {
			s := &o.Deployment.Status
			o.Deployment.Spec.Replicas = ptr.To[int32](1)
			s.Replicas, s.UpdatedReplicas, s.ReadyReplicas = 1, 1, 1
		},
		"there is no Deployment": func(o *customresource.Observed) { o.Deployment = nil },
	}) {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, "Otherwise Ready is False with the reason NodesStarting: a network that is said to be ready too "+
				"early breaks whatever waits for it.", func(t *guard.T) {
				require.Equal(t, "Ready is False: NodesStarting", inWords(condition(t, "Ready", demo(), ready(edit))),
					"the condition if %s", name)
			})
		})
	}
}

func TestTask4_No_nodes_are_wanted(t *testing.T) {
	guard.Test(t, "Otherwise Ready is False with the reason NodesStarting: also for a network that wants no nodes, until "+
		"the old ones have stopped.", func(t *guard.T) {
		none := demo(func(n *customresource.BitcoinNetwork) { n.Spec.Nodes = new(int32) })
		for text, status := range guard.InOrder(map[string]appsv1.DeploymentStatus{
			"is about an older Deployment": {ObservedGeneration: 4},
			"counts a node that is ready":  {ObservedGeneration: 5, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1},
			"counts an old Pod":            {ObservedGeneration: 5, Replicas: 1},
		}) {
			observed := ready(func(o *customresource.Observed) { o.Deployment.Status = status })
			require.Equal(t, "Ready is False: NodesStarting", inWords(condition(t, "Ready", none, observed)),
				"the condition of a network that wants no nodes, if the Deployment's status %s", text)
		}
	})
}

func TestTask4_Deployment_error(t *testing.T) {
	guard.Test(t, "If there is a DeploymentError, Ready is False with the reason NameTaken for a NameTakenError, and "+
		"WriteFailed for any other.", func(t *guard.T) {
		fails := func(err error) func(*customresource.Observed) {
			return func(o *customresource.Observed) { o.DeploymentError, o.Deployment = err, nil }
		}
		taken := &customresource.NameTakenError{Name: "demo"}
		require.Equal(t, "Ready is False: NameTaken", inWords(condition(t, "Ready", demo(), ready(fails(taken)))),
			"the condition for a NameTakenError")
		wrapped := errors.Join(errors.New("syncing"), taken)
		require.Equal(t, "Ready is False: NameTaken", inWords(condition(t, "Ready", demo(), ready(fails(wrapped)))),
			"the condition for a wrapped NameTakenError")
		deployments := appsv1.Resource("deployments")
		for _, other := range []error{
			errors.New("the quota is used up"), context.Canceled, fmt.Errorf("updating: %w", context.DeadlineExceeded),
			apierrors.NewConflict(deployments, "demo", nil), apierrors.NewAlreadyExists(deployments, "demo"),
			apierrors.NewNotFound(deployments, "demo"), apierrors.NewTimeoutError("later", 1),
		} {
			require.Equal(t, "Ready is False: WriteFailed", inWords(condition(t, "Ready", demo(), ready(fails(other)))),
				"the condition for the error %v", other)
		}
	})
}

func TestTask4_Registered(t *testing.T) {
	guard.Test(t, "Registered is False with the reason RegistryUnavailable if there is a RegistryError, and otherwise True.",
		func(t *guard.T) {
			require.Equal(t, "Registered is True: Registered", inWords(condition(t, "Registered", demo(), ready())),
				"the condition")
			failed := ready(func(o *customresource.Observed) { o.RegistryError = errors.New("no route to host") })
			require.Equal(t, "Registered is False: RegistryUnavailable",
				inWords(condition(t, "Registered", demo(), failed)), "the condition for a RegistryError")
			for _, failure := range []error{context.Canceled, fmt.Errorf("the registry: %w", context.DeadlineExceeded)} {
				failed = ready(func(o *customresource.Observed) { o.RegistryError = failure })
				require.Equal(t, "Registered is False: RegistryUnavailable",
					inWords(condition(t, "Registered", demo(), failed)), "the condition for the RegistryError %v", failure)
			}
			nowhere := ready(func(o *customresource.Observed) { o.RegisteredChain = "" })
			require.Equal(t, "Registered is True: Registered", inWords(condition(t, "Registered", demo(), nowhere)),
				"the condition without a chain and without a RegistryError")
		})
}

// requireNow requires the present time, in seconds: the API has no parts of one.
func requireNow(t *guard.T, got metav1.Time, what string) {
	t.Helper()
	require.Equal(t, time.Now().UTC().Format(time.DateTime), got.UTC().Format(time.DateTime), what)
}

func TestTask4_Transition_times(t *testing.T) {
	guard.Test(t, "A condition keeps its transition time until its status changes: an alert says since when a network is "+
		"not ready.", func(t *guard.T) {
		network := demo(func(n *customresource.BitcoinNetwork) {
			n.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
		})
		starting := ready(func(o *customresource.Observed) { o.Deployment.Status.ReadyReplicas = 0 })
		t.Did("NewStatus for a network that was created an hour ago, and has no status")
		network.Status = customresource.NewStatus(network, starting)
		first := meta.FindStatusCondition(network.Status.Conditions, "Ready").LastTransitionTime
		requireNow(t, first, "the transition time of the first condition")

		t.Did("an hour passes, and one node of two becomes ready")
		time.Sleep(time.Hour)
		half := ready(func(o *customresource.Observed) { o.Deployment.Status.ReadyReplicas = 1 })
		same := condition(t, "Ready", network, half)
		require.True(t, first.Equal(&same.LastTransitionTime), "the condition, still False, has its old transition time")
		taken := ready(func(o *customresource.Observed) { o.DeploymentError = &customresource.NameTakenError{Name: "demo"} })
		same = condition(t, "Ready", network, taken)
		require.True(t, first.Equal(&same.LastTransitionTime), "with another reason, it has its old transition time")

		t.Did("the spec changes, and the network is still not ready")
		changed := network.DeepCopy()
		changed.Generation++
		for _, c := range customresource.NewStatus(changed, starting).Conditions {
			old := meta.FindStatusCondition(network.Status.Conditions, c.Type)
			require.True(t, old.LastTransitionTime.Equal(&c.LastTransitionTime),
				"with another generation, %s has its old transition time", c.Type)
		}

		t.Did("both are ready")
		now := condition(t, "Ready", network, ready(func(o *customresource.Observed) {
			o.Deployment.Status.Conditions = finishedLongAgo()
		}))
		requireNow(t, now.LastTransitionTime, "the transition time of the condition, now True")
		for _, old := range []time.Time{first.Time, time.Now().Add(time.Hour)} { // of a process whose clock is ahead
			for i := range network.Status.Conditions {
				network.Status.Conditions[i].LastTransitionTime = metav1.NewTime(old)
			}
			t.Did("both conditions have the transition time %s; Ready alone becomes True", old.Format(time.TimeOnly))
			c := condition(t, "Registered", network, ready())
			require.True(t, c.LastTransitionTime.Time.Equal(old), "Registered, still True, has its old transition time")
			t.Did("Registered alone becomes False")
			noRegistry := func(o *customresource.Observed) { o.RegistryError, o.Deployment = errAway, nil }
			c = condition(t, "Ready", network, ready(noRegistry))
			require.True(t, c.LastTransitionTime.Time.Equal(old), "Ready, still False, has its old transition time")
		}
		away := ready(func(o *customresource.Observed) { o.RegistryError, o.DeploymentError = errAway, errAway })
		for i, states := range [][2]metav1.ConditionStatus{{"True", "False"}, {"False", "True"}, {"Unknown", "False"},
			{"Unknown", "True"}} {
			network.Status = customresource.NewStatus(network, ready())
			for j := range network.Status.Conditions {
				c := &network.Status.Conditions[j]
				c.Status, c.LastTransitionTime = states[0], metav1.NewTime(time.Now().Add(-time.Hour))
			}
			t.Did("an hour ago both conditions became %s, and now they are %s", states[0], states[1])
			for _, c := range customresource.NewStatus(network, []customresource.Observed{away, ready()}[i%2]).Conditions {
				require.Equal(t, states[1], c.Status, "the status of %s", c.Type)
				requireNow(t, c.LastTransitionTime, "the transition time of "+c.Type)
			}
		}
	})
}

func TestTask4_Other_conditions_stay(t *testing.T) {
	guard.Test(t, "Conditions of other types stay: another controller reports them.", func(t *guard.T) {
		network := demo(generation7)
		audited := metav1.Condition{Type: "Audited", Status: metav1.ConditionTrue, Reason: "Passed",
			LastTransitionTime: metav1.Now(), ObservedGeneration: 3}
		network.Status.Conditions = []metav1.Condition{audited}
		require.Equal(t, audited, condition(t, "Audited", network, ready()), "the condition of another controller")
		for i := range 100 {
			other := audited
			other.Type = fmt.Sprintf("Audited%d", i)
			network.Status.Conditions = append(network.Status.Conditions, other)
		}
		require.Len(t, customresource.NewStatus(network, ready()).Conditions, 103, "the conditions, 101 of other controllers")
	})
}

func TestTask4_Messages_are_stable(t *testing.T) {
	guard.Test(t, "The message of an error's condition has no text that can differ at each attempt, as that of "+
		"most errors can: each other message would be a write, its event another attempt, and so on without a back-off.",
		func(t *guard.T) {
			fails := func(text string) customresource.Observed {
				return ready(func(o *customresource.Observed) {
					o.RegistryError, o.DeploymentError = errors.New(text), errors.New(text)
				})
			}
			t.Did("NewStatus for two errors of two attempts")
			first := customresource.NewStatus(demo(), fails("request 17: timeout"))
			second := customresource.NewStatus(demo(), fails("request 18: timeout"))
			require.Equal(t, first, second, "the status of the second attempt")
			t.Did("NewStatus for a NameTakenError, which two attempts wrap with another text")
			message := func(text string) string {
				observed := ready(func(o *customresource.Observed) {
					o.DeploymentError = fmt.Errorf("%s: %w", text, &customresource.NameTakenError{Name: "demo"})
				})
				return condition(t, "Ready", demo(), observed).Message
			}
			require.Equal(t, message("request 17"), message("request 18"), "the message of Ready")
		})
}

func TestTask4_NewStatus_changes_nothing(t *testing.T) {
	guard.Test(t, "NewStatus does not change the network: it comes from the cache.", func(t *guard.T) {
		network := demo(generation7)
		network.Status = customresource.NewStatus(network, ready(func(o *customresource.Observed) { o.Deployment = nil }))
		before := network.DeepCopy()
		t.Did("NewStatus of a network with a status")
		customresource.NewStatus(network, ready())
		require.Equal(t, before, network, "the network")
		network.Status.Conditions = append(make([]metav1.Condition, 0, 8), metav1.Condition{Type: "Audited"})
		t.Did("NewStatus of a network whose list of conditions has room for more")
		customresource.NewStatus(network, ready())
		require.Empty(t, network.Status.Conditions[:2][1].Type, "the condition behind the end of the list")
	})
}

func TestTask4_Nobody_is_ready_without_a_Deployment(t *testing.T) {
	guard.Test(t, "ReadyNodes is the number of ready replicas: of those that are there now.", func(t *guard.T) {
		for _, failure := range []error{nil, errAway, &customresource.NameTakenError{}} {
			network := demo()
			network.Status.ReadyNodes = 2
			t.Did("NewStatus of a network with two ready nodes in its status; the DeploymentError is %v", failure)
			status := customresource.NewStatus(network, customresource.Observed{DeploymentError: failure})
			require.Zero(t, status.ReadyNodes, "the ready nodes")
		}
	})
}
