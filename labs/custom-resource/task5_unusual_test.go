package customresource_test

// Task 5: finalizers with like names, errors of the registry, and a registry that is slow.

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"client-go-workshop/internal/testkit/guard"
	customresource "client-go-workshop/labs/custom-resource"
)

func TestTask5_Finalizers_with_like_names(t *testing.T) {
	guard.Test(t, "The finalizers of other controllers stay, in their order, wherever Finalizer is in the list.",
		func(t *guard.T) {
			others := demo(alike).Finalizers
			for i := range len(others) + 1 {
				t.Rule("AddFinalizer keeps the finalizers of other controllers: a finalizer of the same domain is not Finalizer.")
				w := newWorld(t, demo(func(n *customresource.BitcoinNetwork) { n.Finalizers = others[:i] }))
				t.Did("the network has %d finalizers of other controllers", i)
				_, err := w.addFinalizer()
				require.NoError(t, err, "the error of AddFinalizer")
				require.ElementsMatch(t, append([]string{customresource.Finalizer}, others[:i]...), w.stored().Finalizers,
					"the finalizers on the server")
				t.Rule("The finalizers of other controllers stay, in their order, wherever Finalizer is in the list.")
				w = ending(t, func(n *customresource.BitcoinNetwork) {
					n.Finalizers = slices.Insert(slices.Clone(others), i, customresource.Finalizer)
				})
				_, err = w.finalize()
				require.NoError(t, err, "the error of Finalize")
				require.Equal(t, others, w.stored().Finalizers, "the finalizers on the server")
				require.Empty(t, w.registry.list(), "the entries of the registry")
			}
		})
}

func TestTask5_Finalize_names_the_network(t *testing.T) {
	guard.Test(t, "Any other error names the network and wraps the error of the registry or the server.",
		func(t *guard.T) {
			w := ending(t, registered)
			w.registry.before = func(string) error { return errAway }
			_, err := w.finalize()
			require.ErrorIs(t, err, errAway, "the error of Finalize")
			require.ErrorContains(t, err, "demo", "the error of Finalize")
		})
}

func TestTask5_Slow_registry_and_slow_server(t *testing.T) {
	guard.Test(t, "The call of the registry ends after RegistryTimeout: the update has the rest of the caller's time.",
		func(t *guard.T) {
			w := ending(t, registered)
			w.registry.before = func(string) error { time.Sleep(customresource.RegistryTimeout - time.Second); return nil }
			w.Script("update", func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
				time.Sleep(5 * time.Second)
				next.ServeHTTP(rw, r)
			})
			ctx, cancel := context.WithTimeout(t.Context(), customresource.ReconcileTimeout)
			defer cancel()
			t.Did("Finalize; the registry takes 9 s, and the server 5 s")
			require.NoError(t, w.controller.Finalize(ctx, w.cached()), "the error of Finalize")
			require.NotContains(t, w.stored().Finalizers, customresource.Finalizer, "the finalizers on the server")
		})
}

func TestTask5_Registry_that_hangs(t *testing.T) {
	for name, do := range guard.InOrder(map[string]func(ctx context.Context, w *world) error{
		"Register": func(ctx context.Context, w *world) error {
			_, err := w.controller.Register(ctx, w.cached())
			return err
		},
		"Finalize": func(ctx context.Context, w *world) error { return w.controller.Finalize(ctx, w.cached()) },
	}) {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, "The call of the registry ends after RegistryTimeout, at each attempt.", func(t *guard.T) {
				w := newWorld(t, demo(withFinalizer))
				if name == "Finalize" {
					w.deleted()
				}
				w.registry.hold = true
				for range 3 {
					t.Did("the registry hangs; %s, for which %v are left", name, customresource.ReconcileTimeout)
					ctx, cancel := context.WithTimeout(t.Context(), customresource.ReconcileTimeout)
					since := time.Now()
					err := do(ctx, w)
					cancel()
					require.Equal(t, customresource.RegistryTimeout, time.Since(since), "the time that %s took", name)
					require.Error(t, err, "the error of %s", name)
					require.Contains(t, w.stored().Finalizers, customresource.Finalizer, "the finalizers on the server")
				}
			})
		})
	}
}

func TestTask5_Registry_that_fails_late(t *testing.T) {
	guard.Test(t, "If the registry fails, Register returns the status's chain and an error that wraps the registry's: "+
		"also if the time is over.", func(t *guard.T) {
		exists := apierrors.NewAlreadyExists(customresource.Resource("registries"), "main")
		for _, failure := range []error{errAway, exists} {
			w := newWorld(t, demo(withFinalizer, registered, func(n *customresource.BitcoinNetwork) { n.Spec.Chain = "test" }))
			w.registry.entries[w.stored().UID] = customresource.Entry{Namespace: "default", Name: "demo", Chain: "regtest"}
			failing := "register"
			w.registry.before = func(call string) error {
				if !strings.HasPrefix(call, failing) {
					return nil
				}
				time.Sleep(customresource.RegistryTimeout + time.Second)
				return failure
			}
			t.Did("the registry cannot register, and says so a second after RegistryTimeout: %v", failure)
			chain, err := w.register()
			require.ErrorIs(t, err, failure, "the error of Register")
			require.Equal(t, "regtest", chain, "the returned chain")
			require.Equal(t, []string{"default/demo on regtest"}, w.registry.list(), "the entries of the registry")
			t.Rule("Any other error names the network and wraps the error of the registry or the server.")
			failing = "remove"
			_, err = w.deleted().finalize()
			require.ErrorIs(t, err, failure, "the error of Finalize")
			require.ErrorContains(t, err, "demo", "the error of Finalize")
			t.Rule("If the registry fails, Register returns the status's chain and an error that wraps the registry's.")
		}
	})
}

func TestTask5_Registry_that_answers_late(t *testing.T) {
	for name, c := range guard.InOrder(map[string]struct {
		do            func(w *world) error
		returns, late string
	}{
		"Register": {func(w *world) error {
			_, err := w.controller.Register(w.t.Context(), w.cached())
			return err
		}, "The call of the registry ends after RegistryTimeout, and Register returns after its end: an entry that is " +
			"written later would stay forever, if the network has ended by then.",
			"Register makes the registry list a network, and returns the chain under which it is listed: an answer that is " +
				"late is not an error."},
		"Finalize": {func(w *world) error { return w.controller.Finalize(w.t.Context(), w.cached()) },
			"The call of the registry ends after RegistryTimeout, and Finalize returns after its end: two attempts must " +
				"not run at once.",
			"It removes the network's entry from the registry, and then Finalizer: an answer that is late is not an error."},
	}) {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, c.returns, func(t *guard.T) {
				w := newWorld(t, demo(withFinalizer))
				if name == "Finalize" {
					w.deleted()
				}
				var ended atomic.Bool
				w.registry.before = func(string) error {
					time.Sleep(customresource.RegistryTimeout + time.Second)
					ended.Store(true)
					return nil
				}
				t.Did("%s; the registry answers a second after RegistryTimeout", name)
				err := c.do(w)
				require.True(t, ended.Load(), "the call has ended when %s returns %v", name, err)
				t.Rule("%s", c.late)
				require.NoError(t, err, "the error of %s", name)
			})
		})
	}
}
