package ownwrites_test

// Task 4: what Reconcile does after a read from the server is what it does after a look into the cache.

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
	ownwrites "client-go-workshop/labs/own-writes"
)

// beforeRead are the two ways to a read from the server: each returns when the next Reconcile reads.
var beforeRead = []func(w *world){
	func(w *world) {
		w.farAhead()
		w.behind()
		time.Sleep(patience)
		w.t.Did("Patience has passed")
	},
	func(w *world) {
		w.t.Did("a connection breaks before the answer to a create; no Pod is stored")
		w.Script("create", fakeapi.Reset(false))
		require.Error(w.t, w.reconcile(), "the error of Reconcile")
	},
}

func TestTask4_Versions_are_recorded_after_a_read(t *testing.T) {
	const rule = "Reconcile creates the missing Pods, and records the version of each: also those that a read from the " +
		"server did not find."
	guard.Test(t, rule, func(t *guard.T) {
		for _, before := range beforeRead {
			t.Rule(rule)
			w := newWorld(t, time.Hour)
			before(w)
			require.NoError(t, w.reconcile(), "the error of Reconcile, which reads from the server")
			require.Len(t, w.names(), 3, "the server's Pods")
			require.Equal(t, w.newest(), w.store.Written(web, pods), "the written version of Pods")
			t.Rule("If EnsureReady returns an error, Reconcile writes nothing and returns that error: one read is enough, " +
				"also if it found no Pods.")
			w.behind()
		}
	})
}

func TestTask4_Surplus_Pods_after_a_read(t *testing.T) {
	const rule = "Of surplus Pods it deletes the last by name, each with its UID as a precondition"
	guard.Test(t, rule+": also after a read from the server.", func(t *guard.T) {
		begin := func(before func(w *world)) *world {
			w := newWorld(t, time.Hour)
			before(w)
			t.Did("another client creates web-a to web-d")
			w.add("web-b", "web-d", "web-a", "web-c")
			return w
		}
		for _, before := range beforeRead {
			t.Rule(rule + ": also after a read from the server.")
			w := begin(before)
			require.NoError(t, w.reconcile(), "the error of Reconcile, which reads from the server")
			require.Equal(t, []string{"web-a", "web-b", "web-c"}, w.names(), "the server's Pods")

			t.Rule("After a read from the server, the newest version of the Pods that listed returned replaces the " +
				"Deployment's record: also if a deletion fails.")
			w = begin(before)
			t.Did("the server refuses the deletion of web-d")
			w.Script("delete", fakeapi.Answer(http.StatusForbidden, ""))
			require.True(t, apierrors.IsForbidden(w.reconcile()), "the error of Reconcile is the server's 403")
			require.Equal(t, w.newest(), w.store.Written(web, pods), "the written version of Pods")

			t.Rule("A Pod that is gone already is no error.")
			w = begin(before)
			t.Did("web-d is deleted before Reconcile's own deletion arrives")
			w.Script("delete", func(to http.ResponseWriter, r *http.Request, next http.Handler) {
				w.Delete(w.Objects("pods")[3])
				next.ServeHTTP(to, r)
			})
			require.NoError(t, w.reconcile(), "the error of Reconcile, which reads from the server")
			require.Equal(t, []string{"web-a", "web-b", "web-c"}, w.names(), "the server's Pods")

			t.Rule(rule + ". The name may have passed to a new Pod.")
			w = begin(before)
			t.Did("web-d is deleted and created again before Reconcile's deletion arrives")
			w.Script("delete", func(to http.ResponseWriter, r *http.Request, next http.Handler) {
				w.Delete(w.Objects("pods")[3])
				w.add("web-d")
				next.ServeHTTP(to, r)
			})
			if err := w.reconcile(); err != nil {
				require.True(t, apierrors.IsConflict(err), "the error of Reconcile is the server's 409, or nil")
			}
			require.Equal(t, []string{"web-a", "web-b", "web-c", "web-d"}, w.names(), "the server's Pods")
		}
	})
}

func TestTask4_Pod_that_ends(t *testing.T) {
	const recorded = "After a read from the server, the newest version of the Pods that listed returned replaces the " +
		"Deployment's record"
	guard.Test(t, recorded+".", func(t *guard.T) {
		for _, before := range beforeRead {
			w := newWorld(t, time.Hour)
			before(w)
			t.Did("another client creates web-a to web-d, and deletes web-b, which has a finalizer")
			w.add("web-a", "web-c", "web-d")
			pod := ownwrites.NewPod(w.web())
			pod.Name, pod.Finalizers = "web-b", []string{"example.com/slow"}
			w.create(pod)
			w.Delete(w.Objects("pods")[1])
			t.Rule(recorded + ": one that is being deleted may be the newest.")
			require.NoError(t, w.reconcile(), "the error of Reconcile, which reads from the server")
			require.Equal(t, w.newest(), w.store.Written(web, pods), "the written version of Pods")
			t.Rule("A Pod that is being deleted does not count.")
			require.Equal(t, []string{"web-a", "web-b", "web-c", "web-d"}, w.names(), "the server's Pods")
		}
	})
}

func TestTask4_Two_lost_answers_in_a_row(t *testing.T) {
	guard.Test(t, "After a create whose answer was lost, Reconcile reads the Pods from the server, whatever EnsureReady "+
		"returns: also if it has just read, and lost the next answer.", func(t *guard.T) {
		w := newWorld(t, time.Hour)
		since := len(w.Requests("list"))
		t.Did("the answers to the first two creates are lost, and the Pods are stored")
		w.Script("create", fakeapi.Reset(true), fakeapi.Reset(true))
		for stored := 1; stored <= 2; stored++ {
			require.Error(t, w.reconcile(), "the error of Reconcile")
			require.Len(t, w.names(), stored, "the server's Pods")
		}
		require.NoError(t, w.reconcile(), "the error of the third Reconcile")
		require.Len(t, w.names(), 3, "the server's Pods")
		t.Rule("After a create whose answer was lost, Reconcile reads the Pods from the server: a list at version 0 may come " +
			"from a cache that is as late as yours.")
		for _, r := range w.Requests("list")[since:] {
			require.Empty(t, r.Query.Get("resourceVersion"), "the resourceVersion of a list")
		}
	})
}

func TestTask4_Lost_answer_and_no_Pod_is_missing(t *testing.T) {
	guard.Test(t, "After a create whose answer was lost, Reconcile reads the Pods from the server, whatever EnsureReady "+
		"returns: also if no Pod is missing any more. One may be missing again before the cache has the lost one.",
		func(t *guard.T) {
			for wanted := range int32(5) {
				w := newWorld(t, 0)
				w.add("web-a", "web-b")
				settle()
				t.Did("the cache has web-a and web-b; the connection breaks before the answer to the third create")
				w.Script("create", fakeapi.Reset(false))
				require.Error(t, w.reconcile(), "the error of Reconcile")
				w.scale(wanted)
				lists := len(w.sent("list"))
				require.NoError(t, w.reconcile(), "the error of Reconcile, which reads from the server")
				require.Len(t, w.sent("list"), lists+1, "the lists of Pods")
				require.Len(t, w.names(), int(wanted), "the server's Pods")
			}
		})
}

func TestTask4_Patience_of_the_config(t *testing.T) {
	guard.Test(t, "When EnsureReady has returned nothing but errors for Patience, Reconcile calls Stale with the last "+
		"one and reads the Pods from the server. The caller sets Patience, and ReconcileTimeout is another limit.",
		func(t *guard.T) {
			for _, patience := range []time.Duration{1500 * time.Millisecond, time.Hour} {
				w := newWorld(t, 0)
				config := w.config()
				config.Patience = patience
				w.controller = ownwrites.New(config)
				t.Did("Patience is %v", patience)
				w.farAhead()
				w.behind()
				time.Sleep(patience - time.Millisecond)
				w.behind()
				time.Sleep(time.Millisecond)
				require.NoError(t, w.reconcile(), "the error of Reconcile after Patience")
				require.Len(t, w.stale, 1, "the errors that Stale was called with")
			}
		})
}

func TestTask4_Patience_while_reads_fail(t *testing.T) {
	guard.Test(t, "When EnsureReady has returned nothing but errors for Patience, Reconcile calls Stale with the last "+
		"one and reads the Pods from the server. A nil ends the wait, also if a read is still due.", func(t *guard.T) {
		w := newWorld(t, time.Hour)
		t.Did("the answer to a create is lost, and three reads from the server are refused")
		w.Script("create", fakeapi.Reset(true))
		w.Script("list pods", fakeapi.Times(3, fakeapi.Answer(http.StatusForbidden, ""))...)
		require.Error(t, w.reconcile(), "the error of Reconcile")
		w.farAhead()
		require.Error(t, w.reconcile(), "the error of Reconcile, whose read is refused")
		t.Did("the store is cleared, so EnsureReady returns nil")
		w.store.Clear(web, "")
		require.Error(t, w.reconcile(), "the error of Reconcile, whose read is refused")
		time.Sleep(patience)
		t.Did("Patience passes")
		w.farAhead()
		require.Error(t, w.reconcile(), "the error of Reconcile, whose read is refused")
		require.Empty(t, w.stale, "the errors that Stale was called with: EnsureReady has returned its first error just now")
	})
}
