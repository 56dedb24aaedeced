package ownwrites_test

// Task 4: a Deployment that goes or comes while Reconcile waits, a wait that ends, and which Pods count.

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
	ownwrites "client-go-workshop/labs/own-writes"
)

// renewed deletes the Deployment web, calls a function, and creates a Deployment of the same name.
func (w *world) renewed(between func()) {
	w.t.Did("the Deployment is deleted")
	w.Delete(w.web())
	settle()
	between()
	w.t.Did("a Deployment of the same name is created")
	w.Create(fakeapi.Deployment("web", 3))
	settle()
}

func TestTask4_Deployment_is_forgotten(t *testing.T) {
	const rule = "It then forgets the Deployment (also when EnsureReady returns nil), so that memory does not grow. One " +
		"of the same name is a new one"
	guard.Test(t, rule+".", func(t *guard.T) {
		w := newWorld(t, 0)
		w.farAhead()
		w.behind()
		w.renewed(func() {
			t.Did("the store is cleared, so EnsureReady returns nil")
			w.store.Clear(web, "")
			require.NoError(t, w.reconcile(), "the error of Reconcile without a Deployment")
			time.Sleep(patience)
			t.Did("Patience passes without a Reconcile")
		})
		w.farAhead()
		t.Rule(rule + ": Patience begins with its first error.")
		w.behind()
		require.Empty(t, w.stale, "the errors that Stale was called with")

		w = newWorld(t, 0)
		t.Did("in another cluster, the answer to a create is lost")
		w.Script("create", fakeapi.Reset(true))
		require.Error(t, w.reconcile(), "the error of Reconcile")
		w.farAhead()
		lists := len(w.sent("list"))
		w.renewed(func() {
			w.behind()
			time.Sleep(patience)
			t.Did("Patience has passed")
			require.NoError(t, w.reconcile(), "the error of Reconcile without a Deployment")
		})
		t.Rule(rule + ": it has no lost answer.")
		require.NoError(t, w.reconcile(), "the error of Reconcile")
		require.Len(t, w.sent("list"), lists, "the lists of Pods")
	})
}

func TestTask4_Deployment_comes_late(t *testing.T) {
	guard.Test(t, "When EnsureReady has returned nothing but errors for Patience, Reconcile calls Stale with the last "+
		"one and reads the Pods from the server: also if the Deployment was not in the cache at the first of them.",
		func(t *guard.T) {
			w := newWorld(t, 0)
			w.renewed(func() {
				t.Did("the store has a write at 999999")
				w.store.WroteAt(web, "", pods, "999999")
				w.behind()
				time.Sleep(patience / 2)
			})
			w.behind()
			time.Sleep(patience / 2)
			t.Did("Patience has passed since the first error")
			require.NoError(t, w.reconcile(), "the error of Reconcile")
			require.Len(t, w.stale, 1, "the errors that Stale was called with")
			require.Len(t, w.names(), 3, "the server's Pods")
		})
}

func TestTask4_Cache_arrives_after_a_read_that_failed(t *testing.T) {
	guard.Test(t, "When EnsureReady has returned nothing but errors for Patience, Reconcile calls Stale with the last "+
		"one and reads the Pods from the server. If EnsureReady returns nil at last, the cache is enough.",
		func(t *guard.T) {
			w := newWorld(t, 0)
			w.farAhead()
			w.behind()
			time.Sleep(patience)
			t.Did("Patience has passed; the read from the server is refused")
			w.Script("list pods", fakeapi.Answer(http.StatusForbidden, ""))
			require.True(t, apierrors.IsForbidden(w.reconcile()), "the error of Reconcile is the server's 403")
			lists := len(w.sent("list"))
			t.Did("the store is cleared, so EnsureReady returns nil")
			w.store.Clear(web, "")
			require.NoError(t, w.reconcile(), "the error of Reconcile")
			require.Len(t, w.sent("list"), lists, "the lists of Pods")
			require.Len(t, w.names(), 3, "the server's Pods")
		})
}

// beforeLook are the ways to a look at the Pods: into a cache that is ready, and those of beforeRead.
var beforeLook = append([]func(w *world){func(*world) {}}, beforeRead...)

func TestTask4_Pods_without_labels(t *testing.T) {
	guard.Test(t, "A Deployment never has more Pods than it wants, however late the watches of Pods are. Pods belong to "+
		"the Deployment that controls them, whatever their labels are.", func(t *guard.T) {
		for _, before := range beforeLook {
			w := newWorld(t, 0)
			before(w)
			for _, name := range []string{"web-a", "web-b", "web-c"} {
				pod := ownwrites.NewPod(w.web())
				pod.Name, pod.Labels = name, nil
				w.create(pod)
			}
			settle()
			t.Did("the server and the cache have three Pods of web without labels")
			require.NoError(t, w.reconcile(), "the error of Reconcile")
			require.Equal(t, []string{"web-a", "web-b", "web-c"}, w.names(), "the server's Pods")
		}
	})
}

// deleting is a client that notes the options of its deletions.
type deleting struct {
	ownwrites.PodClient
	options *[]metav1.DeleteOptions
}

func (c deleting) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	*c.options = append(*c.options, options)
	return c.PodClient.Delete(ctx, name, options)
}

func TestTask4_Grace_period(t *testing.T) {
	guard.Test(t, "It does not change their grace period. A Pod that has none cannot end its work.", func(t *guard.T) {
		for _, before := range beforeLook {
			w := newWorld(t, 0)
			options, config := []metav1.DeleteOptions{}, w.config()
			client := config.Client
			config.Client = func(namespace string) ownwrites.PodClient { return deleting{client(namespace), &options} }
			w.controller = ownwrites.New(config)
			before(w)
			w.add("web-a", "web-b", "web-c", "web-d")
			settle()
			t.Did("the server and the cache have web-a to web-d")
			require.NoError(t, w.reconcile(), "the error of Reconcile")
			require.Len(t, options, 1, "the deletions")
			require.Nil(t, options[0].GracePeriodSeconds, "the GracePeriodSeconds of a deletion")
			require.Empty(t, options[0].DryRun, "the DryRun of a deletion")
		}
	})
}
