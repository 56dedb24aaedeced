package ownwrites_test

// Task 4: two Deployments at once, contexts, what a read from the server leaves behind, and surplus Pods.

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
	ownwrites "client-go-workshop/labs/own-writes"
)

// withDB makes a world that has a second Deployment, db.
func withDB(t *guard.T, late time.Duration) *world {
	w := newWorld(t, late)
	w.Create(fakeapi.Deployment("db", 3))
	time.Sleep(late + time.Second)
	return w
}

// farAheadOf records a write of a Deployment that the cache never sees.
func (w *world) farAheadOf(name types.NamespacedName) {
	for _, obj := range w.Objects("deployments") {
		if obj.GetName() == name.Name {
			w.store.WroteAt(name, obj.GetUID(), pods, "999999")
		}
	}
}

func TestTask4_Stale_is_for_the_end_of_Patience(t *testing.T) {
	const rule = "Only the end of Patience calls Stale: it reports a cache that is late for long."
	guard.Test(t, rule, func(t *guard.T) {
		w := newWorld(t, time.Hour)
		t.Did("the watch is an hour late; the first Pod is created, and the answer to the second create is lost")
		w.Script("create", pass, fakeapi.Reset(true))
		require.Error(t, w.reconcile(), "the error of Reconcile")
		require.NoError(t, w.reconcile(), "the error of the next Reconcile")
		require.Len(t, w.names(), 3, "the server's Pods")
		require.Empty(t, w.stale, "the errors that Stale was called with")
		t.Rule("When EnsureReady has returned nothing but errors for Patience, Reconcile calls Stale with the last one " +
			"and reads the Pods from the server: also if the answer to a create was lost.")
		w.behind()
		w.deleteOne()
		w.scale(4)
		time.Sleep(patience)
		t.Did("Patience has passed; the read finds two Pods, and the answer to a create is lost again")
		w.Script("create", fakeapi.Reset(true))
		require.Error(t, w.reconcile(), "the error of Reconcile")
		require.Len(t, w.stale, 1, "the errors that Stale was called with")
		w.farAhead()
		w.Script("list pods", fakeapi.Times(2, fakeapi.Answer(http.StatusForbidden, ""))...)
		require.Error(t, w.reconcile(), "the error of Reconcile, whose read is refused")
		time.Sleep(patience)
		t.Did("Patience has passed once more")
		require.Error(t, w.reconcile(), "the error of Reconcile, whose read is refused")
		require.Len(t, w.stale, 2, "the errors that Stale was called with")
		t.Rule("After a read from the server, the newest version of the Pods that listed returned replaces the " +
			"Deployment's record, and Patience begins again: one read is enough for both reasons.")
		require.NoError(t, w.reconcile(), "the error of Reconcile, whose read succeeds")
		lists := len(w.sent("list"))
		w.behind()
		require.Len(t, w.sent("list"), lists, "the lists of Pods")
	})
}

func TestTask4_Patience_of_two_Deployments(t *testing.T) {
	guard.Test(t, "When EnsureReady has returned nothing but errors for Patience, Reconcile calls Stale with the last "+
		"one and reads the Pods from the server. Each Deployment waits for itself.", func(t *guard.T) {
		w := withDB(t, 0)
		start := time.Now()
		reconcile := func(name string, after time.Duration, reads int) {
			t.Helper()
			time.Sleep(time.Until(start.Add(after)))
			lists := len(w.sent("list"))
			t.Did("Reconcile default/%s after %v", name, after)
			err := w.reconcileOf(t.Context(), name)
			var behind *ownwrites.ConsistencyError
			require.Equal(t, reads == 0, errors.As(err, &behind), "the error is a *ConsistencyError: %v", err)
			require.Len(t, w.sent("list"), lists+reads, "the lists of Pods")
		}
		w.farAheadOf(web)
		reconcile("web", 0, 0)
		w.farAheadOf(db)
		reconcile("db", patience/2, 0)
		reconcile("db", patience, 0)
		reconcile("web", patience, 1)
		reconcile("db", patience+patience/2, 1)
		require.Len(t, w.names(), 6, "the server's Pods")
	})
}

func TestTask4_Lost_answers_of_two_Deployments(t *testing.T) {
	guard.Test(t, "After a create whose answer was lost, Reconcile reads the Pods from the server, whatever EnsureReady "+
		"returns. A read for one Deployment says nothing about another.", func(t *guard.T) {
		w := withDB(t, 10*time.Second)
		t.Did("the watch is 10 s late; the first create of web and that of db lose their answers")
		w.Script("create pods", fakeapi.Times(2, fakeapi.Reset(true))...)
		for _, name := range []string{"web", "db"} {
			require.Error(t, w.reconcileOf(t.Context(), name), "the error of Reconcile for %s", name)
		}
		for _, name := range []string{"web", "db"} {
			require.NoError(t, w.reconcileOf(t.Context(), name), "the error of the next Reconcile for %s", name)
		}
		require.Len(t, w.names(), 6, "the server's Pods")
	})
}

// upTo brings each Deployment to the point where its next Reconcile sends a request of this verb.
func (w *world) upTo(verb string) {
	w.t.Helper()
	for _, obj := range w.Objects("deployments") {
		d := obj.(*appsv1.Deployment)
		switch verb {
		case "list":
			w.Script("create pods", fakeapi.Reset(false))
			w.t.Did("Reconcile default/%s, whose create has no answer", d.Name)
			require.Error(w.t, w.reconcileOf(w.t.Context(), d.Name), "the error of Reconcile")
		case "delete":
			for _, suffix := range []string{"-a", "-b", "-c", "-d"} {
				pod := ownwrites.NewPod(d)
				pod.Name = d.Name + suffix
				w.create(pod)
			}
		}
	}
	settle()
}

func TestTask4_Two_Deployments_at_once(t *testing.T) {
	guard.Test(t, "Reconcile may run for different Deployments at once. A slow request for one does not stop another.",
		func(t *guard.T) {
			for _, verb := range []string{"create", "list", "delete"} {
				w := withDB(t, 0)
				w.upTo(verb)
				w.Script(verb+" pods", fakeapi.Slow(time.Minute))
				t.Did("the server takes a minute for the %s of a Reconcile of web; Reconcile default/db", verb)
				ended := make(chan error, 1)
				reconcile := func(name string) error {
					return w.controller.Reconcile(t.Context(), cache.NewObjectName("default", name))
				}
				t.Go(func() { ended <- reconcile("web") })
				settle()
				start := time.Now()
				require.NoError(t, reconcile("db"), "the error of Reconcile for db")
				require.Zero(t, time.Since(start), "the time that the Reconcile of db took")
				require.NoError(t, <-ended, "the error of Reconcile for web")
				require.Len(t, w.names(), 6, "the server's Pods")
			}
		})
}

// held carries a request out, and then does not answer until the client goes away.
func held(_ http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	select {
	case <-r.Context().Done():
	case <-time.After(time.Hour):
	}
}

func TestTask4_Context(t *testing.T) {
	guard.Test(t, endsWithContext, func(t *guard.T) {
		for _, verb := range []string{"create", "list", "delete"} {
			for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
				endsDuring(t, verb, end)
			}
		}
	})
}

const endsWithContext = "Each request ends with the context of its caller. A leader that has lost its lease must not " +
	"write."

// endsDuring ends the context of a Reconcile while it waits for the answer to a request.
func endsDuring(t *guard.T, verb string, end error) {
	t.Rule(endsWithContext)
	w := newWorld(t, 0)
	w.upTo(verb)
	w.Script(verb+" pods", held)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if end == context.Canceled {
		time.AfterFunc(30*time.Second, cancel)
	}
	t.Did("the server does not answer the %s of a Reconcile, whose context ends: %v", verb, end)
	start := time.Now()
	require.Error(t, w.reconcileOf(ctx, "web"), "the error of Reconcile")
	require.LessOrEqual(t, time.Since(start), time.Minute, "the time that Reconcile took")
	if verb == "create" {
		t.Rule("Any error counts as a lost answer, except a status from 400 to 499. The end of a context is one.")
		lists := len(w.sent("list"))
		require.NoError(t, w.reconcile(), "the error of the next Reconcile")
		require.Len(t, w.sent("list"), lists+1, "the lists of Pods")
		require.Len(t, w.names(), 3, "the server's Pods")
	}
}

func TestTask4_Record_after_a_read(t *testing.T) {
	guard.Test(t, "After a read from the server, the newest version of the Pods that listed returned replaces the "+
		"Deployment's record.",
		func(t *guard.T) {
			for _, uid := range []types.UID{"", "old-uid", "its own"} {
				w := newWorld(t, 0)
				if uid == "its own" {
					uid = w.web().UID
				}
				w.scale(0)
				t.Did("the record is of the UID %q, and at 999999; the server has no Pods", uid)
				w.store.WroteAt(web, uid, pods, "999999")
				w.behind()
				time.Sleep(patience)
				require.NoError(t, w.reconcile(), "the error of Reconcile after Patience")
				require.Empty(t, w.store.Written(web, pods), "the written version of Pods")
				for w.ResourceVersion() != "97" {
					w.Create(fakeapi.Deployment("other-"+w.ResourceVersion(), 0))
				}
				for wanted, names := range [][]string{
					{"web-c", "web-b", "web-a"}, {"web-a", "web-c", "web-b"}, {"web-b", "web-a", "web-c"},
				} {
					w.Delete(w.Objects("pods")...)
					w.scale(int32(wanted))
					w.add(names...)
					t.Did("three Pods are created, the last of them %s, at %s; %d are wanted", names[2], w.ResourceVersion(), wanted)
					newest := w.newest()
					settle()
					w.store.WroteAt(web, uid, pods, "999999")
					w.behind()
					time.Sleep(patience)
					require.NoError(t, w.reconcile(), "the error of Reconcile after Patience")
					require.Equal(t, newest, w.store.Written(web, pods), "the written version of Pods")
				}
				t.Did("Clear with the UID of the Deployment")
				w.store.Clear(web, w.web().UID)
				require.Empty(t, w.store.Written(web, pods), "the written version of Pods: their owner is the Deployment")
			}
		})
}

func TestTask4_Patience_after_a_lost_answer(t *testing.T) {
	guard.Test(t, "After a read from the server, the newest version of the Pods that listed returned replaces the "+
		"Deployment's record, and Patience begins again with the next error.", func(t *guard.T) {
		w := newWorld(t, time.Hour)
		t.Did("the answer to the second create is lost, and the first read after it is refused")
		w.Script("create", pass, fakeapi.Reset(true))
		w.Script("list pods", fakeapi.Answer(http.StatusForbidden, ""))
		require.Error(t, w.reconcile(), "the error of Reconcile")
		require.Error(t, w.reconcile(), "the error of the next Reconcile")
		time.Sleep(patience - time.Second)
		t.Did("29 s pass")
		require.NoError(t, w.reconcile(), "the error of Reconcile, whose read succeeds")
		lists := len(w.sent("list"))
		w.behind()
		time.Sleep(2 * time.Second)
		t.Did("2 s pass")
		w.behind()
		require.Len(t, w.sent("list"), lists, "the lists of Pods")
	})
}

func TestTask4_Surplus_Pods(t *testing.T) {
	guard.Test(t, "Of surplus Pods it deletes the last by name, each with its UID as a precondition: a second Reconcile "+
		"before an old cache chooses the same ones.", func(t *guard.T) {
		w := newWorld(t, 0)
		for _, name := range []string{"web-d", "web-a", "web-e", "web-10", "web-9", "web-b"} {
			w.add(name)
			time.Sleep(time.Minute)
		}
		for i, phase := range []string{"Failed", "Pending", "Unknown", "Running", "Running", "Succeeded"} {
			pod := w.Objects("pods")[i].(*unstructured.Unstructured)
			require.NoError(t, unstructured.SetNestedField(pod.Object, phase, "status", "phase"), "the error of a change")
			w.Update(pod)
		}
		settle()
		t.Did("the server and the cache have six Pods, of all ages and phases, in a random order")
		require.NoError(t, w.reconcile(), "the error of Reconcile")
		require.Equal(t, []string{"web-10", "web-9", "web-a"}, w.names(), "the server's Pods")
		w.scale(0)
		require.NoError(t, w.reconcile(), "the error of Reconcile")
		require.Empty(t, w.names(), "the server's Pods")
	})
}

func TestTask4_Another_Pod_of_the_same_name(t *testing.T) {
	guard.Test(t, "Of surplus Pods it deletes the last by name, each with its UID as a precondition. The name may have "+
		"passed to a new Pod, which the cache does not know.", func(t *guard.T) {
		for i, again := range []string{"web-d", "web-e"} {
			w := newWorld(t, time.Minute)
			w.add("web-a", "web-b", "web-c", "web-d", "web-e")
			time.Sleep(61 * time.Second)
			t.Did("the cache has web-a to web-e; then %s is deleted and created again", again)
			w.Delete(w.Objects("pods")[3+i])
			w.add(again)
			err := w.reconcile()
			require.Contains(t, w.names(), again, "the server's Pods")
			if err == nil { // the Pod that was meant is gone, so nil is right, if the other one is gone, too
				require.Equal(t, []string{"web-a", "web-b", "web-c", again}, w.names(), "the server's Pods after a Reconcile "+
					"without an error")
			} else {
				require.True(t, apierrors.IsConflict(err), "the error of Reconcile is the server's 409, or nil")
			}
		}
	})
}

func TestTask4_Surplus_Pod_is_gone(t *testing.T) {
	guard.Test(t, "A Pod that is gone already is no error.", func(t *guard.T) {
		w := newWorld(t, time.Minute)
		w.add("web-a", "web-b", "web-c", "web-d", "web-e")
		time.Sleep(61 * time.Second)
		t.Did("the cache has web-a to web-e, and its watch is a minute late")
		w.Delete(w.Objects("pods")[3])
		t.Did("another client deletes web-d")
		require.NoError(t, w.reconcile(), "the error of Reconcile")
		require.Equal(t, []string{"web-a", "web-b", "web-c"}, w.names(), "the server's Pods")
		require.NoError(t, w.reconcile(), "the error of a second Reconcile")
	})
}

func TestTask4_Surplus_Pod_has_changed(t *testing.T) {
	guard.Test(t, "Of surplus Pods it deletes the last by name, each with its UID as a precondition. Its version is none: "+
		"the cache may be older than the Pod.", func(t *guard.T) {
		w := newWorld(t, time.Minute)
		w.add("web-a", "web-b", "web-c", "web-d")
		time.Sleep(61 * time.Second)
		t.Did("the cache has web-a to web-d; then web-d changes")
		pod := w.Objects("pods")[3]
		pod.SetLabels(map[string]string{"changed": "yes"})
		w.Update(pod)
		require.NoError(t, w.reconcile(), "the error of Reconcile")
		require.Equal(t, []string{"web-a", "web-b", "web-c"}, w.names(), "the server's Pods")
	})
}
