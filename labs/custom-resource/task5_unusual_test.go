package customresource_test

// Task 5: finalizers with like names, errors of the registry, and a registry that is slow.

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/guard"
	customresource "client-go-workshop/labs/custom-resource"
)

func TestTask5_Finalizers_with_like_names(t *testing.T) {
	guard.Test(t, "The finalizers of other controllers stay, in their order, wherever Finalizer is in the list.",
		func(t *guard.T) {
			others := []string{"bitcoin.example.com/backup", customresource.Finalizer + "-2", "bitcoin.example.com/a"}
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
