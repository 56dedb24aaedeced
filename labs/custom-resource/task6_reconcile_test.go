package customresource_test

// Task 6: one Reconcile.

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
	customresource "client-go-workshop/labs/custom-resource"
)

// reconcile calls Reconcile for default/demo, and waits for the caches. It returns the writes.
func (w *world) reconcile() ([]string, error) {
	w.t.Helper()
	since := len(w.Requests(""))
	w.t.Did("Reconcile default/demo")
	cached := append(w.networks.GetStore().List(), w.deployments.GetStore().List()...)
	var before []runtime.Object
	for _, obj := range cached {
		before = append(before, obj.(runtime.Object).DeepCopyObject())
	}
	changes := w.queue.changes.Load()
	err := w.controller.Reconcile(w.t.Context(), cache.NewObjectName("default", "demo"))
	if w.queue.changes.Load() != changes {
		w.t.Rule("Reconcile leaves the queue alone: events and returned errors bring a network back.")
		require.Equal(w.t, changes, w.queue.changes.Load(), "the calls that change the queue")
	}
	for i, obj := range cached {
		if !reflect.DeepEqual(before[i], obj) {
			w.t.Rule("It never changes a cached object: every reader shares it.")
			require.Equal(w.t, before[i], obj, "the cached object after Reconcile")
		}
	}
	settle()
	return w.writes(since), err
}

// codes returns the codes of the server's errors in an error. errors.As does not look into an Aggregate.
func codes(err error) (found []int) {
	switch e := err.(type) {
	case nil:
	case apierrors.APIStatus:
		found = []int{int(e.Status().Code)}
	case utilerrors.Aggregate:
		for _, one := range e.Errors() {
			found = append(found, codes(one)...)
		}
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			found = append(found, codes(one)...)
		}
	default:
		found = codes(errors.Unwrap(err))
	}
	return found
}

// rest reconciles until nothing is written. It returns the errors.
func (w *world) rest() (failures []error) {
	w.t.Helper()
	var writes []string
	calls := 0
	for range 20 {
		var err error
		calls = len(w.registry.callLog())
		if writes, err = w.reconcile(); err != nil {
			failures = append(failures, err)
		}
		if len(writes) == 0 && len(w.registry.callLog()) == calls {
			return failures
		}
	}
	w.t.Rule("A Reconcile of a network that is right writes nothing.")
	require.Empty(w.t, writes, "the writes of the 20th Reconcile")
	require.Empty(w.t, w.registry.callLog()[calls:], "the calls of the registry in the 20th Reconcile")
	return failures
}

// state returns the status of a condition of the network, and its reason.
func (w *world) state(name string) string {
	c := meta.FindStatusCondition(w.stored().Status.Conditions, name)
	if c == nil {
		return "there is no condition " + name
	}
	return inWords(*c)
}

func TestTask6_Network_that_is_gone(t *testing.T) {
	guard.Test(t, "A network that is gone needs nothing.", func(t *guard.T) {
		w := newWorld(t)
		writes, err := w.reconcile()
		require.NoError(t, err, "the error of Reconcile")
		require.Empty(t, writes, "the writes")
		require.Empty(t, w.registry.callLog(), "the calls of the registry")
	})
}

func TestTask6_Reconcile_reaches_the_desired_state(t *testing.T) {
	guard.Test(t, "Reconcile brings one network to its desired state.", func(t *guard.T) {
		w := newWorld(t, demo())
		require.Empty(t, w.rest(), "the errors of Reconcile")
		require.Equal(t, []string{"default/demo on regtest"}, w.registry.list(), "the entries of the registry")
		require.NotNil(t, w.deployment(), "the Deployment")
		require.Equal(t, "Ready is False: NodesStarting", w.state("Ready"), "the condition Ready")
		require.Equal(t, "Registered is True: Registered", w.state("Registered"), "the condition Registered")
		t.Did("the nodes become ready")
		w.put(finish(w.deployment()))
		require.Empty(t, w.rest(), "the errors of Reconcile")
		require.Equal(t, "Ready is True: NodesReady", w.state("Ready"), "the condition Ready")
		t.Did("the user wants no nodes")
		n := w.stored()
		n.Spec.Nodes = new(int32)
		w.put(n)
		require.Empty(t, w.rest(), "the errors of Reconcile")
		require.Equal(t, int32(0), *w.deployment().Spec.Replicas, "the replicas of the Deployment")
	})
}

// finish returns a Deployment whose controller has finished.
func finish(d *appsv1.Deployment) *appsv1.Deployment {
	done := d.DeepCopy()
	n := *done.Spec.Replicas
	done.Status = appsv1.DeploymentStatus{ObservedGeneration: done.Generation, Replicas: n, UpdatedReplicas: n,
		ReadyReplicas: n, AvailableReplicas: n}
	return done
}

func TestTask6_Deletion_calls_Finalize_alone(t *testing.T) {
	guard.Test(t, "For a network that is being deleted, Reconcile calls Finalize alone: a Deployment or a status that it "+
		"writes now would come back from the dead.", func(t *guard.T) {
		w := ending(t, registered)
		writes, err := w.reconcile()
		require.NoError(t, err, "the error of Reconcile")
		require.Equal(t, updatesNetwork, writes, "the writes")
		require.Empty(t, w.registry.list(), "the entries of the registry")
		require.Empty(t, w.rest(), "the errors of further Reconciles")
		require.Nil(t, w.deployment(), "the Deployment")
		require.Equal(t, []string{"example.com/audit"}, w.stored().Finalizers, "the finalizers")
		w = ending(t, registered)
		w.registry.before = func(string) error { return errAway }
		writes, err = w.reconcile()
		require.ErrorIs(t, err, errAway, "the error of Reconcile while the registry is away")
		require.Empty(t, writes, "the writes while the registry is away")
	})
}

func TestTask6_Finalizer_is_first(t *testing.T) {
	guard.Test(t, "Otherwise the finalizer comes first: Reconcile calls the registry only for a network that has the "+
		"finalizer on the server.", func(t *guard.T) {
		for _, network := range []*customresource.BitcoinNetwork{demo(), demo(alike)} {
			w := newWorld(t, network)
			w.registry.before = func(call string) error {
				require.Contains(t, w.stored().Finalizers, customresource.Finalizer, "the finalizers at the call %q", call)
				return nil
			}
			t.Did("the network has the finalizers %v", network.Finalizers)
			require.Empty(t, w.rest(), "the errors of Reconcile")
			require.NotEmpty(t, w.registry.callLog(), "the calls of the registry")
		}
		for _, code := range []int{403, 409} {
			w := newWorld(t, demo())
			t.Did("the server refuses the finalizer with %d", code)
			w.Script("update", fakeapi.Answer(code, ""))
			_, err := w.reconcile()
			require.Error(t, err, "the error of Reconcile")
			require.Empty(t, w.registry.callLog(), "the calls of the registry")
		}
	})
}

func TestTask6_Registry_is_away(t *testing.T) {
	guard.Test(t, "A failed registry does not prevent the Deployment, and a failed step does not prevent the status.",
		func(t *guard.T) {
			w := newWorld(t, demo(withFinalizer))
			w.registry.before = func(string) error { return errAway }
			writes, err := w.reconcile()
			require.ErrorIs(t, err, errAway, "the error of Reconcile")
			require.True(t, slices.Contains(writes, "create deployments"), "Reconcile has created the Deployment")
			require.Equal(t, "Registered is False: RegistryUnavailable", w.state("Registered"), "the condition")
			w.registry.before = func(string) error { return context.DeadlineExceeded }
			w.Delete(w.deployment())
			settle()
			writes, err = w.reconcile()
			require.ErrorIs(t, err, context.DeadlineExceeded, "the error of Reconcile")
			require.True(t, slices.Contains(writes, "create deployments"), "Reconcile has created the Deployment again")
			for _, code := range []int{403, 404, 409, 422} {
				for _, verb := range []string{"create", "update"} {
					w = newWorld(t, demo(withFinalizer))
					if verb == "update" {
						d := customresource.NewDeployment(w.cached())
						*d.Spec.Replicas = 9
						w.put(finish(d))
					}
					t.Did("the server refuses the %s of the Deployment with %d", verb, code)
					fault := fakeapi.Answer(code, "")
					if verb == "create" && code == 409 { // that of a create is AlreadyExists
						own := customresource.NewDeployment(w.cached())
						fault = func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
							w.Create(own)
							next.ServeHTTP(rw, r)
						}
					}
					w.Script(verb, fault)
					_, err = w.reconcile()
					require.Error(t, err, "the error of Reconcile")
					require.Equal(t, "Ready is False: WriteFailed", w.state("Ready"), "the condition")
					require.Equal(t, "regtest", w.stored().Status.RegisteredChain, "the registered chain")
					require.Zero(t, w.stored().Status.ReadyNodes, "the ready nodes: no Deployment is observed")
				}
			}
		})
}

func TestTask6_Chain_goes_back(t *testing.T) {
	guard.Test(t, "Reconcile brings one network to its desired state, also after a user has changed the chain and "+
		"changed it back.", func(t *guard.T) {
		w := newWorld(t, demo())
		require.Empty(t, w.rest(), "the errors of Reconcile")
		change := func(chain string) *customresource.BitcoinNetwork {
			t.Did("the user changes the chain to %s", chain)
			n := w.stored()
			n.Spec.Chain = chain
			return n
		}
		w.put(change("test"))
		changes := false
		race := func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
			if !changes && strings.HasSuffix(r.URL.Path, "/status") {
				changes = true
				w.Update(generic(t, change("regtest"))) // so the write of the status is a conflict
			}
			next.ServeHTTP(rw, r)
		}
		w.Script("update", race, race)
		w.rest()
		require.Equal(t, []string{"default/demo on regtest"}, w.registry.list(), "the entries of the registry")
	})
}

func TestTask6_Name_is_taken(t *testing.T) {
	guard.Test(t, "A NameTakenError is not an error of Reconcile, because the Deployment's next event brings the network "+
		"back.", func(t *guard.T) {
		w := newWorld(t, demo(withFinalizer))
		foreign := customresource.NewDeployment(demo())
		foreign.OwnerReferences = nil
		w.put(foreign)
		require.Empty(t, w.rest(), "the errors of Reconcile")
		require.Equal(t, "Ready is False: NameTaken", w.state("Ready"), "the condition")
		t.Rule("ReadyNodes is the number of ready replicas: of the network's own Deployment.")
		t.Did("the replicas of the other Deployment become ready")
		w.put(finish(w.deployment()))
		require.Empty(t, w.rest(), "the errors of Reconcile")
		require.Zero(t, w.stored().Status.ReadyNodes, "the ready nodes")
		t.Rule("Any other error is returned, so that the network is tried again. A name that is taken hides none of them.")
		w = newWorld(t, demo(withFinalizer))
		w.put(foreign)
		w.registry.before = func(string) error { return errAway }
		t.Did("the registry and the update of the status fail")
		w.Script("update", fakeapi.Answer(403, ""))
		_, err := w.reconcile()
		require.ErrorIs(t, err, errAway, "the error of Reconcile")
		require.Contains(t, codes(err), 403, "the codes in the error of Reconcile")
	})
}

func TestTask6_Errors_are_returned(t *testing.T) {
	guard.Test(t, "Any other error is returned, so that the network is tried again.", func(t *guard.T) {
		w := newWorld(t, demo(withFinalizer))
		w.registry.before = func(string) error { return errAway }
		t.Did("the registry and the creation of the Deployment fail")
		w.Script("create", fakeapi.Answer(403, ""))
		_, err := w.reconcile()
		require.ErrorIs(t, err, errAway, "the error of Reconcile")
		require.Contains(t, codes(err), 403, "the codes in the error of Reconcile")
		w.registry.before = func(string) error { return &customresource.NameTakenError{Name: "another"} }
		t.Did("the creation of the Deployment fails, and the registry has an error for a name that is taken")
		w.Script("create", fakeapi.Answer(403, ""))
		_, err = w.reconcile()
		require.Contains(t, codes(err), 403, "the codes in the error of Reconcile")
		for _, code := range []int{http.StatusForbidden, http.StatusConflict} {
			t.Story(8)
			w := newWorld(t, demo(withFinalizer))
			created := false
			w.registry.before = func(string) error { created = w.deployment() != nil; return nil }
			t.Did("the update of the status fails with %d", code)
			w.Script("update", fakeapi.Answer(code, ""))
			_, err := w.reconcile()
			require.Contains(t, codes(err), code, "the codes in the error of Reconcile")
			t.Rule("Then it registers the network, corrects the Deployment, and writes the status.")
			require.False(t, created, "there is a Deployment when the registry is called")
			t.Rule("Any other error is returned, so that the network is tried again.")
		}
	})
}

func TestTask6_Namesake(t *testing.T) {
	guard.Test(t, "When a network ends, the entry of a later network of the same name stays: entries belong to UIDs.",
		func(t *guard.T) {
			w := newWorld(t, demo())
			require.Empty(t, w.rest(), "the errors of Reconcile")
			first := w.stored().UID
			w.deleted()
			require.Empty(t, w.rest(), "the errors of Reconcile")
			require.Nil(t, w.stored(), "the network")
			t.Did("a user creates a network of the same name")
			w.put(demo())
			require.Empty(t, w.rest(), "the errors of Reconcile")
			require.NotEqual(t, first, w.stored().UID, "the UID of the second network")
			require.Equal(t, "demo", w.registry.entry(w.stored().UID).Name, "the entry of the second network")
			require.Empty(t, w.registry.entry(first).Name, "the entry of the first network")
			t.Rule("It never writes to a Deployment that the network does not control: the first network's Deployment waits " +
				"for the garbage collector.")
			require.Equal(t, first, metav1.GetControllerOf(w.deployment()).UID, "the owner of the Deployment")
		})
}
