package customresource_test

// Task 6: which errors Reconcile returns, and that it returns each of them.

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/gate"
	"client-go-workshop/internal/testkit/guard"
	customresource "client-go-workshop/labs/custom-resource"
	finished "client-go-workshop/labs/solutions/custom-resource"
)

func TestTask6_End_of_the_context_is_an_error(t *testing.T) {
	guard.Test(t, "Any other error is returned, so that the network is tried again: also that of a context that has "+
		"ended.", func(t *guard.T) {
		for _, how := range []string{"a deadline", "a cancellation"} {
			w := newWorld(t, demo(withFinalizer))
			w.registry.hold = true
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			if how == "a cancellation" {
				time.AfterFunc(time.Second, cancel)
			}
			t.Did("the registry hangs; Reconcile of default/demo, whose context ends by %s", how)
			require.Error(t, w.controller.Reconcile(ctx, cache.NewObjectName("default", "demo")), "the error of Reconcile")
			cancel()
		}
	})
}

func TestTask6_Missing_network_on_the_server(t *testing.T) {
	guard.Test(t, "Any other error is returned, so that the network is tried again: also a 404 of a write. The cache "+
		"has the network.", func(t *guard.T) {
		for _, network := range []*customresource.BitcoinNetwork{demo(), demo(withFinalizer)} {
			w := newWorld(t, network)
			t.Did("the finalizers of default/demo are %v; the server answers the first update with 404", network.Finalizers)
			w.Script("update", fakeapi.Answer(404, ""))
			_, err := w.reconcile()
			require.Contains(t, codes(err), 404, "the codes in the error of Reconcile")
		}
	})
}

func TestTask6_Each_error_is_returned(t *testing.T) {
	guard.Test(t, "Any other error is returned, so that the network is tried again: each of two.", func(t *guard.T) {
		w := newWorld(t, demo(withFinalizer))
		t.Did("the registry is away, and the write of the status is a conflict")
		w.registry.before = func(string) error { return errAway }
		w.Script("update", fakeapi.Answer(409, ""))
		_, err := w.reconcile()
		require.ErrorIs(t, err, errAway, "the error of Reconcile")
		require.Contains(t, codes(err), 409, "the codes in the error of Reconcile")

		w = newWorld(t, demo(withFinalizer))
		t.Did("the server refuses the Deployment with 422, and the status with 403")
		w.Script("create", fakeapi.Answer(422, ""))
		w.Script("update", fakeapi.Answer(403, ""))
		_, err = w.reconcile()
		require.Subset(t, codes(err), []int{422, 403}, "the codes in the error of Reconcile")

		for _, code := range []int{403, 409} {
			w = ending(t, registered)
			t.Did("the network is being deleted, and the server refuses the removal of the finalizer with %d", code)
			w.Script("update", fakeapi.Answer(code, ""))
			_, err = w.reconcile()
			require.Contains(t, codes(err), code, "the codes in the error of Reconcile")
		}
	})
}

func TestTask6_Two_namespaces(t *testing.T) {
	guard.Test(t, "Reconcile brings one network to its desired state. It may run for different networks at once: they "+
		"may have one name, in two namespaces.", func(t *guard.T) {
		other := demo(withFinalizer)
		other.Namespace = "other"
		w := newWorld(t, demo(withFinalizer), other)
		t.Did("there are default/demo and other/demo; Reconcile of both, three times")
		for range 3 {
			for _, namespace := range []string{"default", "other"} {
				err := w.controller.Reconcile(t.Context(), cache.NewObjectName(namespace, "demo"))
				require.NoError(t, err, "the error of Reconcile for %s/demo", namespace)
				settle()
			}
		}
		require.Equal(t, []string{"default/demo on regtest", "other/demo on regtest"}, w.registry.list(), "the registry")
		require.Len(t, w.Objects("deployments"), 2, "the Deployments")
		t.Rule("A Deployment's event concerns the network that controls the Deployment.")
		deployment := owned("web", version, kind, "coins")
		deployment.Namespace = "other"
		t.Did("an event of the Deployment other/web, of other/coins")
		require.ElementsMatch(t, []string{"other/web", "other/coins"}, concerned(t, deployment), "the networks")
	})
}

func TestTask6_Time_after_a_registry_that_hangs(t *testing.T) {
	guard.Test(t, "A failed registry does not prevent the Deployment, not even one that hangs, and a failed step does "+
		"not prevent the status: they have the rest of ReconcileTimeout.", func(t *guard.T) {
		w := newWorld(t, demo(withFinalizer))
		w.registry.hold = true
		for _, verb := range []string{"create", "update"} {
			w.Script(verb, func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
				time.Sleep(5 * time.Second)
				next.ServeHTTP(rw, r)
			})
		}
		ctx, cancel := context.WithTimeout(t.Context(), customresource.ReconcileTimeout)
		defer cancel()
		t.Did("the registry hangs, and the server takes 5 s for each write; Reconcile of default/demo")
		err := w.controller.Reconcile(ctx, cache.NewObjectName("default", "demo"))
		require.Error(t, err, "the error of Reconcile")
		require.NotNil(t, w.deployment(), "the Deployment")
		require.Equal(t, "Ready is False: NodesStarting", w.state("Ready"), "the condition Ready")
		require.Equal(t, "Registered is False: RegistryUnavailable", w.state("Registered"), "the condition Registered")
		t.Rule("The call of the registry ends after RegistryTimeout, and not earlier, if the caller has more time.")
		since := time.Now()
		t.Did("Reconcile again, while the server answers at once")
		_, err = w.reconcile()
		require.Error(t, err, "the error of Reconcile")
		require.GreaterOrEqual(t, time.Since(since), customresource.RegistryTimeout, "the time that Reconcile took")
	})
}

func TestTask6_Networks_at_once(t *testing.T) {
	for _, held := range []string{"the registry", "create", "update"} {
		t.Run(held, func(t *testing.T) {
			guard.Test(t, "Reconcile may run for different networks at once: they do not wait for one another, and each has "+
				"its own result.", func(t *guard.T) {
				other := demo(withFinalizer)
				other.Name, other.Spec.Chain = "other", "main"
				w := newWorld(t, demo(withFinalizer), other)
				door := gate.New(t)
				w.registry.before = func(call string) error {
					if strings.HasPrefix(call, "register other") {
						return errAway
					}
					if held == "the registry" {
						door.Wait()
					}
					return nil
				}
				if held != "the registry" {
					w.Script(held, func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
						door.Wait()
						next.ServeHTTP(rw, r)
					})
				}
				ended := make(chan error, 1)
				t.Did("Reconcile of default/demo; its call takes long: %s", held)
				t.Go(func() { ended <- w.controller.Reconcile(t.Context(), cache.NewObjectName("default", "demo")) })
				synctest.Wait()
				t.Did("Reconcile of default/other, whose registry is away")
				err := w.controller.Reconcile(t.Context(), cache.NewObjectName("default", "other"))
				require.ErrorIs(t, err, errAway, "the error of Reconcile for default/other")
				require.Empty(t, ended, "Reconcile of default/demo has returned before its call")
				t.Did("the call for default/demo goes on")
				door.Open()
				require.NoError(t, <-ended, "the error of Reconcile for default/demo")
				settle()
				require.Equal(t, []string{"default/demo on regtest"}, w.registry.list(), "the registry")
				require.Equal(t, "Registered is True: Registered", w.state("Registered"), "the condition of default/demo")
				require.Equal(t, "regtest", w.stored().Status.RegisteredChain, "the registered chain of default/demo")
				require.Empty(t, w.storedAs("other").Status.RegisteredChain, "the registered chain of default/other")
				require.Len(t, w.Objects("deployments"), 2, "the Deployments")
			})
		})
	}
}

func TestTask6_Object_that_is_older_than_the_defaults(t *testing.T) {
	guard.Test(t, "Reconcile brings one network to its desired state: also one without a chain and without a number of "+
		"nodes, which is older than the defaults of the definition.", func(t *guard.T) {
		old := strings.NewReplacer(", default: regtest", "", ", default: 3", "").Replace(finished.Manifest())
		w := newWorldOf(t, old, demo(func(n *customresource.BitcoinNetwork) {
			n.Spec = customresource.BitcoinNetworkSpec{Version: "29.0"}
		}))
		t.Did("the definition has no defaults; default/demo has a version only; Reconcile until nothing changes")
		require.Empty(t, w.rest(), "the errors of Reconcile")
		require.Equal(t, []string{"default/demo on regtest"}, w.registry.list(), "the registry")
		t.Did("three nodes are ready; Reconcile until nothing changes")
		w.put(finish(w.deployment()))
		require.Empty(t, w.rest(), "the errors of Reconcile")
		require.Equal(t, "Ready is True: NodesReady", w.state("Ready"), "the condition Ready")
		calls := len(w.registry.callLog())
		_, err := w.reconcile()
		require.NoError(t, err, "the error of Reconcile")
		require.Len(t, w.registry.callLog(), calls, "the calls of the registry")
		d := w.deployment().DeepCopy()
		for _, replicas := range []int32{0, 9} {
			t.Did("a user changes the replicas to %d; Reconcile until nothing changes", replicas)
			d.Spec.Replicas = &replicas
			w.put(d)
			require.Empty(t, w.rest(), "the errors of Reconcile")
			require.Equal(t, int32(3), *w.deployment().Spec.Replicas, "the replicas")
		}
	})
}
