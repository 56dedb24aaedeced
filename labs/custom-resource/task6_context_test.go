package customresource_test

// Task 6: each call ends with the context of its caller.

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"client-go-workshop/internal/testkit/gate"
	"client-go-workshop/internal/testkit/guard"
	customresource "client-go-workshop/labs/custom-resource"
)

func TestTask6_Every_call_ends_with_its_context(t *testing.T) {
	wrong := func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](9) }
	type network = *customresource.BitcoinNetwork
	begun := func(t *guard.T) *world { return newWorld(t, demo(withFinalizer)) }
	reconcile := func(ctx context.Context, w *world, n network) error {
		return w.controller.Reconcile(ctx, cache.MetaObjectToName(n))
	}
	for name, c := range guard.InOrder(map[string]struct {
		world func(t *guard.T) *world
		verb  string // of the request to hold; empty to hold the registry
		do    func(ctx context.Context, w *world, n network) error
	}{
		"AddFinalizer": {func(t *guard.T) *world { return newWorld(t, demo()) }, "update",
			func(ctx context.Context, w *world, n network) error { return w.controller.AddFinalizer(ctx, n) }},
		"Register": {func(t *guard.T) *world { return newWorld(t, demo(withFinalizer)) }, "",
			func(ctx context.Context, w *world, n network) error {
				_, err := w.controller.Register(ctx, n)
				return err
			}},
		"Finalize, the entry": {func(t *guard.T) *world { return ending(t) }, "",
			func(ctx context.Context, w *world, n network) error { return w.controller.Finalize(ctx, n) }},
		"Finalize, the finalizer": {func(t *guard.T) *world { return ending(t) }, "update",
			func(ctx context.Context, w *world, n network) error { return w.controller.Finalize(ctx, n) }},
		"SyncDeployment, a creation": {func(t *guard.T) *world { return newWorld(t, demo()) }, "create",
			func(ctx context.Context, w *world, n network) error {
				_, err := w.controller.SyncDeployment(ctx, n)
				return err
			}},
		"SyncDeployment, an update": {func(t *guard.T) *world { return withDeployment(t, wrong) }, "update",
			func(ctx context.Context, w *world, n network) error {
				_, err := w.controller.SyncDeployment(ctx, n)
				return err
			}},
		"SyncStatus": {func(t *guard.T) *world { return newWorld(t, demo()) }, "update",
			func(ctx context.Context, w *world, n network) error { return w.controller.SyncStatus(ctx, n, ready()) }},
		"Reconcile, the finalizer":  {func(t *guard.T) *world { return newWorld(t, demo()) }, "update", reconcile},
		"Reconcile, the entry":      {begun, "", reconcile},
		"Reconcile, the Deployment": {begun, "create", reconcile},
		"Reconcile, the status":     {begun, "update", reconcile},
		"Reconcile, the end":        {func(t *guard.T) *world { return ending(t) }, "update", reconcile},
	}) {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, "Each request, and each call of the registry, ends with the context of its caller: a Reconcile that "+
				"outlives its time would keep its worker.", func(t *guard.T) {
				w := c.world(t)
				door := gate.New(t)
				if w.registry.hold = c.verb == ""; !w.registry.hold {
					w.Script(c.verb, func(http.ResponseWriter, *http.Request, http.Handler) { door.Wait() })
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				t.Did("%s; its call takes long", name)
				t.Go(func() { ended <- c.do(ctx, w, w.cached()) })
				synctest.Wait()
				require.Empty(t, ended, "%s has returned before its call", name)
				t.Did("the context ends")
				cancel()
				settle()
				require.Len(t, ended, 1, "results of %s after the end of its context", name)
				require.ErrorIs(t, <-ended, context.Canceled, "the error of %s", name)
				door.Open()
			})
		})
	}
}
