package customresource_test

// Task 5: the finalizer and the registry.

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
	customresource "client-go-workshop/labs/custom-resource"
	finished "client-go-workshop/labs/solutions/custom-resource"
)

var errAway = errors.New("the registry is away")

// call calls a method of the controller with the cached network, and waits for the caches. It returns the writes.
func (w *world) call(method string, do func(network *customresource.BitcoinNetwork) error) ([]string, error) {
	w.t.Helper()
	since := len(w.Requests(""))
	w.t.Did("%s", method)
	err := do(w.cached())
	settle()
	return w.writes(since), err
}

func (w *world) addFinalizer() ([]string, error) {
	w.t.Helper()
	return w.call("AddFinalizer", func(n *customresource.BitcoinNetwork) error {
		return w.controller.AddFinalizer(w.t.Context(), n)
	})
}

func (w *world) finalize() ([]string, error) {
	w.t.Helper()
	return w.call("Finalize", func(n *customresource.BitcoinNetwork) error {
		return w.controller.Finalize(w.t.Context(), n)
	})
}

func (w *world) register() (chain string, err error) {
	w.t.Helper()
	_, err = w.call("Register", func(n *customresource.BitcoinNetwork) (err error) {
		chain, err = w.controller.Register(w.t.Context(), n)
		return err
	})
	return chain, err
}

// deleted deletes the network, which has finalizers.
func (w *world) deleted() *world {
	w.t.Did("a user deletes the network")
	w.Delete(generic(w.t, demo()))
	settle()
	return w
}

var updatesNetwork = []string{"update bitcoinnetworks/demo"}

// registered is a network that the registry lists.
func registered(network *customresource.BitcoinNetwork) {
	network.Status.RegisteredChain = "regtest"
	network.Status.Conditions = []metav1.Condition{{
		Type: customresource.ConditionRegistered, Status: metav1.ConditionTrue, ObservedGeneration: 1,
		LastTransitionTime: metav1.Now(), Reason: customresource.ReasonRegistered,
	}}
}

func audited(network *customresource.BitcoinNetwork) {
	network.Finalizers = []string{"example.com/audit"}
}

// alike has finalizers of other controllers whose names are like Finalizer.
func alike(network *customresource.BitcoinNetwork) {
	network.Finalizers = []string{"bitcoin.example.com/backup", customresource.Finalizer + "-2", "example.com/registry"}
}

func TestTask5_AddFinalizer(t *testing.T) {
	guard.Test(t, "AddFinalizer adds Finalizer to a network.", func(t *guard.T) {
		w := newWorld(t, demo(func(n *customresource.BitcoinNetwork) { n.Status = full().Status }))
		writes, err := w.addFinalizer()
		require.NoError(t, err, "the error of AddFinalizer")
		require.Equal(t, updatesNetwork, writes, "the writes")
		require.Equal(t, []string{customresource.Finalizer}, w.stored().Finalizers, "the finalizers on the server")
		require.Equal(t, demo().Spec, w.stored().Spec, "the spec on the server")
		require.Len(t, w.stored().Status.Conditions, 1, "the conditions on the server")
		t.Did("a definition without defaults, and a network without a chain and a number of nodes")
		short := customresource.BitcoinNetworkSpec{Version: "29.0"}
		w = newWorldOf(t, strings.NewReplacer(", default: regtest", "", ", default: 3", "").Replace(finished.Manifest()),
			demo(func(n *customresource.BitcoinNetwork) { n.Spec = short }))
		_, err = w.addFinalizer()
		require.NoError(t, err, "the error of AddFinalizer")
		require.Equal(t, short, w.stored().Spec, "the spec on the server")
	})
}

func TestTask5_AddFinalizer_keeps_others(t *testing.T) {
	guard.Test(t, "AddFinalizer keeps the finalizers of other controllers.", func(t *guard.T) {
		w := newWorld(t, demo(audited))
		_, err := w.addFinalizer()
		require.NoError(t, err, "the error of AddFinalizer")
		require.ElementsMatch(t, []string{"example.com/audit", customresource.Finalizer}, w.stored().Finalizers,
			"the finalizers on the server")
	})
}

func TestTask5_AddFinalizer_once(t *testing.T) {
	guard.Test(t, "It writes nothing if the network has Finalizer, and nothing if it is being deleted: the server refuses "+
		"a new finalizer then.", func(t *guard.T) {
		w := newWorld(t, demo(withFinalizer))
		writes, err := w.addFinalizer()
		require.NoError(t, err, "the error of AddFinalizer")
		require.Empty(t, writes, "the writes for a network with the finalizer")
		w = newWorld(t, demo(audited)).deleted()
		writes, err = w.addFinalizer()
		require.NoError(t, err, "the error of AddFinalizer for a network that is being deleted")
		require.Empty(t, writes, "the writes for a network that is being deleted")
	})
}

func TestTask5_Register(t *testing.T) {
	guard.Test(t, "Register makes the registry list a network, and returns the chain under which it is listed.",
		func(t *guard.T) {
			w := newWorld(t, demo(withFinalizer))
			chain, err := w.register()
			require.NoError(t, err, "the error of Register")
			require.Equal(t, "regtest", chain, "the returned chain")
			require.Equal(t, []string{"default/demo on regtest"}, w.registry.list(), "the entries of the registry")
			t.Did("the chain changes to test")
			moved := demo(withFinalizer, registered)
			moved.Spec.Chain = "test"
			w.put(moved)
			chain, err = w.register()
			require.NoError(t, err, "the error of Register")
			require.Equal(t, "test", chain, "the returned chain")
			require.Equal(t, []string{"default/demo on test"}, w.registry.list(), "the entries of the registry")
		})
}

func TestTask5_Register_rests(t *testing.T) {
	guard.Test(t, "Register does not call the registry if the status has the right chain, and its condition Registered is "+
		"True for the network's generation: Register is called at each event of the network.", func(t *guard.T) {
		for _, others := range []metav1.ConditionStatus{"True", "False"} {
			w := newWorld(t, demo(withFinalizer, registered, amongOthers(others)))
			t.Did("Registered is True, and each other condition is %s", others)
			chain, err := w.register()
			require.NoError(t, err, "the error of Register")
			require.Equal(t, "regtest", chain, "the returned chain")
			require.Empty(t, w.registry.callLog(), "the calls of the registry")
		}
	})
}

// amongOthers puts a condition before that of a registered network, and one behind it.
func amongOthers(status metav1.ConditionStatus) func(*customresource.BitcoinNetwork) {
	return func(network *customresource.BitcoinNetwork) {
		ours := network.Status.Conditions[0]
		before, after := ours, ours
		before.Type, after.Type, before.Status, after.Status = customresource.ConditionReady, "Audited", status, status
		network.Status.Conditions = []metav1.Condition{before, ours, after}
	}
}

func TestTask5_Status_proves_nothing(t *testing.T) {
	for name, edit := range guard.InOrder(map[string]func(*customresource.BitcoinNetwork){
		"the status is about an older generation": func(n *customresource.BitcoinNetwork) {
			n.Status.Conditions[0].ObservedGeneration = 0
		},
		"the status is about a greater generation": func(n *customresource.BitcoinNetwork) {
			n.Status.Conditions[0].ObservedGeneration = 2
		},
		"the status has no chain":        func(n *customresource.BitcoinNetwork) { n.Status.RegisteredChain = "" },
		"Registered is Unknown":          func(n *customresource.BitcoinNetwork) { n.Status.Conditions[0].Status = "Unknown" },
		"Registered is False":            func(n *customresource.BitcoinNetwork) { n.Status.Conditions[0].Status = "False" },
		"the status lacks the condition": func(n *customresource.BitcoinNetwork) { n.Status.Conditions = nil },
		"Registered is False, and other conditions are True": func(n *customresource.BitcoinNetwork) {
			n.Status.Conditions[0].Status = "False"
			amongOthers("True")(n)
		},
	}) {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, "Register does not call the registry if the status has the right chain, and its condition "+
				"Registered is True for the network's generation. Otherwise the registry may list another chain: a user "+
				"has changed the chain and changed it back, or a call has failed after its effect.", func(t *guard.T) {
				w := newWorld(t, demo(withFinalizer, registered, edit))
				for range 3 {
					t.Did("the registry lists another chain, and %s", name)
					w.registry.entries[w.stored().UID] = customresource.Entry{Namespace: "default", Name: "demo", Chain: "test"}
					_, err := w.register()
					require.NoError(t, err, "the error of Register")
					require.Equal(t, []string{"default/demo on regtest"}, w.registry.list(), "the entries of the registry")
				}
			})
		})
	}
}

func TestTask5_Finalizer_comes_first(t *testing.T) {
	guard.Test(t, "Register returns an error, and does not call the registry, for a network without Finalizer: if the "+
		"network is deleted right after the call, its entry would stay forever.", func(t *guard.T) {
		for _, network := range []*customresource.BitcoinNetwork{
			demo(audited), demo(audited, registered), demo(alike), demo(alike, registered),
		} {
			w := newWorld(t, network)
			t.Did("the network has the finalizers %v", network.Finalizers)
			_, err := w.register()
			require.Error(t, err, "the error of Register for the registered chain %q", network.Status.RegisteredChain)
			require.Empty(t, w.registry.callLog(), "the calls of the registry")
		}
	})
}

func TestTask5_Registry_fails(t *testing.T) {
	guard.Test(t, "If the registry fails, Register returns the status's chain and an error that wraps the registry's.",
		func(t *guard.T) {
			network := demo(withFinalizer, registered)
			network.Spec.Chain = "test"
			w := newWorld(t, network)
			notFound := apierrors.NewNotFound(customresource.Resource("registries"), "main")
			for _, away := range []error{errAway, notFound, context.DeadlineExceeded, context.Canceled} {
				w.registry.before = func(string) error { return away }
				t.Did("the registry's error is %v", away)
				chain, err := w.register()
				require.ErrorIs(t, err, away, "the error of Register")
				require.Equal(t, "regtest", chain, "the returned chain")
			}
		})
}

func TestTask5_Entry_has_the_UID(t *testing.T) {
	guard.Test(t, "The entry's ID is the network's UID: a name can belong to another network later.", func(t *guard.T) {
		w := newWorld(t, demo(withFinalizer))
		_, err := w.register()
		require.NoError(t, err, "the error of Register")
		require.Equal(t, customresource.Entry{ID: w.stored().UID, Namespace: "default", Name: "demo", Chain: "regtest"},
			w.registry.entry(w.stored().UID), "the entry of the network's UID")
	})
}

// ending makes a world in which a registered network is being deleted.
func ending(t *guard.T, edits ...func(*customresource.BitcoinNetwork)) *world {
	w := newWorld(t, demo(append([]func(*customresource.BitcoinNetwork){withFinalizer}, edits...)...))
	id := w.stored().UID
	w.registry.entries[id] = customresource.Entry{ID: id, Namespace: "default", Name: "demo", Chain: "regtest"}
	return w.deleted()
}

func TestTask5_Finalize(t *testing.T) {
	guard.Test(t, "It removes the network's entry from the registry, and then Finalizer.", func(t *guard.T) {
		w := ending(t, registered)
		w.registry.after = func(string) error {
			require.Contains(t, w.stored().Finalizers, customresource.Finalizer, "the finalizers when the entry is removed")
			return nil
		}
		writes, err := w.finalize()
		require.NoError(t, err, "the error of Finalize")
		require.Empty(t, w.registry.list(), "the entries of the registry")
		require.Equal(t, updatesNetwork, writes, "the writes")
		require.NotContains(t, w.stored().Finalizers, customresource.Finalizer, "the finalizers on the server")
	})
}

func TestTask5_Finalize_without_a_status(t *testing.T) {
	guard.Test(t, "It removes the network's entry from the registry, and then Finalizer: the entry may exist although the "+
		"status does not say so, because a crash can come between the two.", func(t *guard.T) {
		failed := func(n *customresource.BitcoinNetwork) {
			registered(n)
			n.Status.RegisteredChain, n.Status.Conditions[0].Status = "", metav1.ConditionFalse
		}
		for _, edit := range []func(*customresource.BitcoinNetwork){func(*customresource.BitcoinNetwork) {}, failed} {
			w := ending(t, edit)
			_, err := w.finalize()
			require.NoError(t, err, "the error of Finalize")
			require.Empty(t, w.registry.list(), "the entries of the registry")
		}
	})
}

func TestTask5_Finalizer_stays_while_the_registry_fails(t *testing.T) {
	guard.Test(t, "Finalizer stays until the registry has removed the entry.", func(t *guard.T) {
		w := ending(t, registered)
		notFound := apierrors.NewNotFound(customresource.Resource("registries"), "main")
		for _, away := range []error{errAway, notFound, context.DeadlineExceeded} {
			w.registry.before = func(string) error { return away }
			writes, err := w.finalize()
			require.ErrorIs(t, err, away, "the error of Finalize")
			require.Empty(t, writes, "the writes")
			require.Contains(t, w.stored().Finalizers, customresource.Finalizer, "the finalizers on the server")
		}
	})
}

func TestTask5_Other_finalizers_stay(t *testing.T) {
	guard.Test(t, "The finalizers of other controllers stay, in their order.", func(t *guard.T) {
		w := ending(t, registered)
		_, err := w.finalize()
		require.NoError(t, err, "the error of Finalize")
		require.Equal(t, []string{"example.com/audit"}, w.stored().Finalizers, "the finalizers on the server")
		others := []string{"example.com/a", metav1.FinalizerDeleteDependents, "example.com/c"}
		w = ending(t, func(n *customresource.BitcoinNetwork) {
			n.Finalizers = append([]string{customresource.Finalizer}, others...)
		})
		_, err = w.finalize()
		require.NoError(t, err, "the error of Finalize")
		require.Equal(t, others, w.stored().Finalizers, "the finalizers on the server")
	})
}

func TestTask5_Finalize_without_the_finalizer(t *testing.T) {
	guard.Test(t, "Finalize does nothing for a network without Finalizer: its part is done.", func(t *guard.T) {
		for _, network := range []*customresource.BitcoinNetwork{demo(audited), demo(alike)} {
			w := newWorld(t, network).deleted()
			t.Did("the network has the finalizers %v", network.Finalizers)
			writes, err := w.finalize()
			require.NoError(t, err, "the error of Finalize")
			require.Empty(t, writes, "the writes")
			require.Empty(t, w.registry.callLog(), "the calls of the registry")
		}
	})
}

func TestTask5_Network_is_gone(t *testing.T) {
	guard.Test(t, "A network that is gone is not an error: the cache is behind the server.", func(t *guard.T) {
		w := newWorld(t, demo(func(n *customresource.BitcoinNetwork) { n.Finalizers = []string{customresource.Finalizer} }))
		w.deleted()
		old := w.cached()
		t.Did("Finalize, twice with the same cached network")
		require.NoError(t, w.controller.Finalize(t.Context(), old), "the error of the first Finalize")
		require.Nil(t, w.stored(), "the network on the server")
		require.NoError(t, w.controller.Finalize(t.Context(), old), "the error of the second Finalize")
	})
}

func TestTask5_Cached_network_stays(t *testing.T) {
	for name, c := range guard.InOrder(map[string]struct {
		world func(t *guard.T) *world
		do    func(w *world) ([]string, error)
		rule  string
	}{
		"AddFinalizer": {func(t *guard.T) *world { return newWorld(t, demo(audited)) }, (*world).addFinalizer,
			"It never changes a cached object, not even a list of finalizers."},
		"Finalize": {func(t *guard.T) *world { return ending(t, registered) }, (*world).finalize,
			"Finalize never changes a cached object, not even a list of finalizers."},
	}) {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, c.rule, func(t *guard.T) {
				w := c.world(t)
				network := w.cached()
				before := network.DeepCopy()
				_, err := c.do(w)
				require.NoError(t, err, "the error of %s", name)
				require.Equal(t, before, network, "the network that the cache had")
				w = c.world(t)
				roomy := w.cached().DeepCopy()
				roomy.Finalizers = append(make([]string, 0, 8), roomy.Finalizers...)
				require.NoError(t, w.networks.GetStore().Update(roomy), "the error of the cache")
				t.Did("the list of finalizers in the cache has room for more")
				_, err = c.do(w)
				require.NoError(t, err, "the error of %s", name)
				require.Empty(t, roomy.Finalizers[:8][len(roomy.Finalizers)], "the text behind the end of the cached list")
			})
		})
	}
}

func TestTask5_AddFinalizer_fails(t *testing.T) {
	guard.Test(t, "An error names the network and wraps the server's error.", func(t *guard.T) {
		w := newWorld(t, demo())
		for _, code := range []int{403, 404, 409} {
			w.Script("update", fakeapi.Answer(code, ""))
			_, err := w.addFinalizer()
			require.Error(t, err, "the error of AddFinalizer")
			var status apierrors.APIStatus
			require.True(t, errors.As(err, &status), "the error wraps the server's: %v", err)
			require.EqualValues(t, code, status.Status().Code, "the code of the error that it wraps")
			require.ErrorContains(t, err, "demo", "the error of AddFinalizer")
		}
	})
}

func TestTask5_Finalize_fails(t *testing.T) {
	guard.Test(t, "Any other error names the network and wraps the error of the registry or the server.",
		func(t *guard.T) {
			for _, code := range []int{403, 409, 422} {
				w := ending(t, registered)
				w.Script("update", fakeapi.Answer(code, ""))
				_, err := w.finalize()
				var refused apierrors.APIStatus
				require.ErrorAs(t, err, &refused, "the error of Finalize")
				require.Equal(t, int32(code), refused.Status().Code, "the code of the server's error")
				require.ErrorContains(t, err, "demo", "the error of Finalize")
			}
		})
}
