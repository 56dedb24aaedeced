package ownwrites_test

// Task 4: one Reconcile.

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
	ownwrites "client-go-workshop/labs/own-writes"
)

// newest returns the newest version of the Pods that the server has.
func (w *world) newest() string {
	return slices.MaxFunc(w.stored(), func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(len(a.ResourceVersion), len(b.ResourceVersion)),
			cmp.Compare(a.ResourceVersion, b.ResourceVersion))
	}).ResourceVersion
}

// names returns the names of the Pods that the server has, in order.
func (w *world) names() []string {
	names := []string{}
	for _, pod := range w.stored() {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	return names
}

// farAhead records a write that the cache never sees, as after etcd was restored from an old copy.
func (w *world) farAhead() {
	w.t.Did("the store has a write at 999999")
	w.store.WroteAt(web, w.web().UID, pods, "999999")
}

func TestTask4_Missing_Pods(t *testing.T) {
	guard.Test(t, "Reconcile gives one Deployment the wanted number of Pods.", func(t *guard.T) {
		w := newWorld(t, 0)
		require.NoError(t, w.reconcile(), "the error of Reconcile")
		require.Len(t, w.names(), 3, "the server's Pods")
		for _, pod := range w.stored() {
			owner := ownwrites.OwnerOf(pod)
			require.NotNil(t, owner, "the owner of a Pod")
			require.Equal(t, w.web().UID, owner.UID, "the UID of a Pod's owner")
		}
		settle()
		w.scale(5)
		require.NoError(t, w.reconcile(), "the error of Reconcile")
		require.Len(t, w.names(), 5, "the server's Pods")
		settle()
		require.NoError(t, w.reconcile(), "the error of Reconcile")
		require.Len(t, w.sent("create"), 5, "the requests to create a Pod")
	})
}

func TestTask4_Cache_is_behind(t *testing.T) {
	guard.Test(t, "If EnsureReady returns an error, Reconcile writes nothing and returns that error.",
		func(t *guard.T) {
			w := newWorld(t, 10*time.Second)
			t.Did("the watch is 10 s late")
			require.NoError(t, w.reconcile(), "the error of Reconcile")
			w.behind()
			require.Len(t, w.names(), 3, "the server's Pods")
			time.Sleep(11 * time.Second)
			t.Did("11 s pass")
			require.NoError(t, w.reconcile(), "the error of Reconcile")
			require.Len(t, w.sent("create", "delete"), 3, "the writes")
			t.Did("the cache has two Pods too many, and is behind another write")
			w.add("web-y", "web-z")
			time.Sleep(11 * time.Second)
			w.farAhead()
			w.behind()
			require.Len(t, w.sent("create", "delete"), 3, "the writes")
		})
}

func TestTask4_Versions_are_recorded(t *testing.T) {
	guard.Test(t, "Reconcile creates the missing Pods, and records the version of each.", func(t *guard.T) {
		w := newWorld(t, 10*time.Second)
		require.NoError(t, w.reconcile(), "the error of Reconcile")
		require.Equal(t, w.newest(), w.store.Written(web, pods), "the written version of Pods")
		w.scale(5)
		time.Sleep(11 * time.Second)
		t.Did("11 s pass; the server refuses the second create")
		w.Script("create", pass, fakeapi.Answer(http.StatusForbidden, ""))
		require.Error(t, w.reconcile(), "the error of Reconcile")
		require.Equal(t, w.newest(), w.store.Written(web, pods), "the written version of Pods")
		t.Did("Clear with the UID of the Deployment")
		w.store.Clear(web, w.web().UID)
		require.Empty(t, w.store.Written(web, pods), "the written version of Pods: their owner is the Deployment")
	})
}

// pass lets a request pass.
func pass(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) }

func TestTask4_Deployment_is_gone(t *testing.T) {
	const rule = "A Deployment that is not in the cache is gone, or the cache does not have it yet: Reconcile returns " +
		"EnsureReady's error for it too, but after Patience it clears the record and reads nothing."
	guard.Test(t, rule, func(t *guard.T) {
		w := newWorld(t, 0)
		w.add("web-a")
		t.Did("there is a Pod, and a write of an older Deployment at 999999")
		w.store.WroteAt(web, "old-uid", pods, "999999")
		start := time.Now()
		w.behind()
		t.Did("the Deployment is deleted")
		w.Delete(w.web())
		settle()
		lists := len(w.sent("list"))
		for range 3 {
			w.behind()
			require.Equal(t, 1, w.store.Owners(), "the number of owners in the store")
			time.Sleep(patience / 4)
		}
		time.Sleep(time.Until(start.Add(patience)))
		t.Did("Patience has passed since the first Reconcile")
		require.NoError(t, w.reconcile(), "the error of Reconcile")
		require.Equal(t, 0, w.store.Owners(), "the number of owners in the store")
		require.Empty(t, w.sent("create", "delete"), "the writes")
		require.Len(t, w.sent("list"), lists, "the lists of Pods")
		t.Rule("Only the end of Patience calls Stale, and only for a read: a Deployment that is gone has none.")
		require.Empty(t, w.stale, "the errors that Stale was called with")
		t.Rule("It then forgets the Deployment, so that memory does not grow. One of the same name is a new one.")
		w.Create(fakeapi.Deployment("web", 3))
		settle()
		t.Did("a Deployment of the same name is created")
		w.farAhead()
		w.behind()
		require.Empty(t, w.stale, "the errors that Stale was called with: Patience has just begun")
		w.store.Clear(web, "")
		w.Delete(w.Objects("pods")[0])
		settle()
		w.Script("create", fakeapi.Reset(true))
		require.Error(t, w.reconcile(), "the error of Reconcile, whose create has no answer")
		t.Did("the answer to a create is lost; the Deployment is deleted, and created again")
		w.Delete(w.web())
		settle()
		require.NoError(t, w.reconcile(), "the error of Reconcile without a Deployment")
		w.Create(fakeapi.Deployment("web", 3))
		settle()
		require.NoError(t, w.reconcile(), "the error of Reconcile")
		require.Len(t, w.sent("list"), lists, "the lists of Pods")
		t.Rule(rule)
		t.Did("in another cluster, the answer to a create is lost")
		other := newWorld(t, 0)
		other.Script("create", fakeapi.Reset(true))
		require.Error(t, other.reconcile(), "the error of Reconcile")
		other.farAhead()
		t.Did("the Deployment is deleted")
		other.Delete(other.web())
		settle()
		other.behind()
		require.Equal(t, 1, other.store.Owners(), "the number of owners in the store")
		markOutlivesTheWait(other)
	})
}

func TestTask4_Patience_ends(t *testing.T) {
	guard.Test(t, "When EnsureReady has returned nothing but errors for Patience, Reconcile calls Stale with the last "+
		"one and reads the Pods from the server.", func(t *guard.T) {
		w := newWorld(t, 0)
		w.add("web-a")
		settle()
		w.farAhead()
		lists := len(w.sent("list"))
		w.behind()
		for range patience/time.Second - 2 {
			time.Sleep(time.Second)
			w.behind()
		}
		time.Sleep(2*time.Second - time.Millisecond)
		t.Did("Patience has almost passed; the store has a newer write, at 9999999")
		w.store.WroteAt(web, w.web().UID, pods, "9999999")
		behind := w.behind()
		require.Empty(t, w.stale, "the errors that Stale was called with")
		require.Len(t, w.sent("list"), lists, "the lists of Pods")
		time.Sleep(time.Millisecond)
		t.Did("Patience has passed")
		require.NoError(t, w.reconcile(), "the error of Reconcile")
		require.Equal(t, []error{behind}, w.stale, "the errors that Stale was called with")
		require.Len(t, w.sent("list"), lists+1, "the lists of Pods")
		require.Len(t, w.names(), 3, "the server's Pods")
	})
}

func TestTask4_Patience_starts_again(t *testing.T) {
	guard.Test(t, "When EnsureReady has returned nothing but errors for Patience, Reconcile calls Stale with the last "+
		"one and reads the Pods from the server: Patience begins again after each time that the cache was "+
		"ready.", func(t *guard.T) {
		w := newWorld(t, 0)
		for _, wait := range []time.Duration{patience - time.Second, patience + time.Second} {
			w.farAhead()
			w.behind()
			time.Sleep(wait)
			t.Did("after %v, the store is cleared", wait)
			w.store.Clear(web, "")
			require.NoError(t, w.reconcile(), "the error of Reconcile")
			settle()
			w.farAhead()
			w.behind()
			time.Sleep(2 * time.Second)
			w.behind()
			require.Empty(t, w.stale, "the errors that Stale was called with")
		}
		t.Rule("After a read from the server, the newest version of the Pods that listed returned replaces the " +
			"Deployment's record, and Patience begins again with the next error.")
		t.Did("the answer to a create is lost, and the next Reconcile reads from the server")
		w.store.Clear(web, "")
		w.deleteOne()
		w.Script("create", fakeapi.Reset(true))
		require.Error(t, w.reconcile(), "the error of Reconcile")
		require.NoError(t, w.reconcile(), "the error of the next Reconcile")
		time.Sleep(patience)
		t.Did("Patience passes without a Reconcile")
		w.farAhead()
		require.Error(t, w.reconcile(), "the error of Reconcile")
		require.Empty(t, w.stale, "the errors that Stale was called with: the first error after the read is that of now")
	})
}

func TestTask4_Lost_answer(t *testing.T) {
	guard.Test(t, "After a create whose answer was lost, Reconcile reads the Pods from the server, whatever EnsureReady "+
		"returns. The Pod may be there, and its version is unknown.", func(t *guard.T) {
		w := newWorld(t, 10*time.Second)
		t.Did("the watch is 10 s late; the server stores the first Pod, and the connection breaks before the answer")
		w.Script("create", fakeapi.Reset(true))
		require.Error(t, w.reconcile(), "the error of Reconcile")
		require.Len(t, w.names(), 1, "the server's Pods")
		require.NoError(t, w.reconcile(), "the error of the next Reconcile")
		require.Len(t, w.names(), 3, "the server's Pods")
		require.Empty(t, w.stale, "the errors that Stale was called with")
		lists := len(w.sent("list"))
		w.behind()
		require.Len(t, w.sent("list"), lists, "the lists of Pods: one read is enough")
		require.Equal(t, w.newest(), w.store.Written(web, pods), "the written version of Pods")
		w.scale(4)
		time.Sleep(11 * time.Second)
		t.Did("11 s pass: the cache has three Pods; all are gone from the server; a connection breaks before a create")
		w.Delete(w.Objects("pods")...)
		w.Script("create", fakeapi.Reset(false))
		require.Error(t, w.reconcile(), "the error of Reconcile")
		require.NoError(t, w.reconcile(), "the error of the next Reconcile")
		require.Len(t, w.names(), 4, "the server's Pods")
	})
}

func TestTask4_Read_fails(t *testing.T) {
	guard.Test(t, "After a create whose answer was lost, Reconcile reads the Pods from the server, whatever EnsureReady "+
		"returns, until a read succeeds.",
		func(t *guard.T) {
			w := newWorld(t, 10*time.Second)
			t.Did("the connection breaks after the server has stored the first Pod; the next read is refused")
			w.Script("create", fakeapi.Reset(true))
			w.Script("list pods", fakeapi.Answer(http.StatusForbidden, ""))
			require.Error(t, w.reconcile(), "the error of Reconcile")
			require.Error(t, w.reconcile(), "the error of the next Reconcile")
			require.Len(t, w.names(), 1, "the server's Pods")
			require.NoError(t, w.reconcile(), "the error of the third Reconcile")
			require.Len(t, w.names(), 3, "the server's Pods")
		})
}

func TestTask4_Read_after_Patience_fails(t *testing.T) {
	guard.Test(t, "When EnsureReady has returned nothing but errors for Patience, Reconcile calls Stale with the last one "+
		"and reads the Pods from the server. If that read fails, nothing is known that was not known before.",
		func(t *guard.T) {
			w := newWorld(t, time.Hour)
			require.NoError(t, w.reconcile(), "the error of Reconcile, which creates three Pods")
			w.behind()
			time.Sleep(patience)
			t.Did("Patience has passed; the read from the server is refused, three times")
			w.Script("list pods", fakeapi.Times(3, fakeapi.Answer(http.StatusForbidden, ""))...)
			for range 3 {
				require.True(t, apierrors.IsForbidden(w.reconcile()), "the error of Reconcile is the server's 403")
			}
			require.NoError(t, w.reconcile(), "the error of Reconcile, whose read succeeds")
			require.Len(t, w.stale, 4, "the errors that Stale was called with")
			require.Len(t, w.names(), 3, "the server's Pods")
			t.Rule("After a read from the server, the newest version of the Pods that listed returned replaces the " +
				"Deployment's record, and Patience begins again with the next error: otherwise each Reconcile would read from " +
				"the server.")
			lists := len(w.sent("list"))
			time.Sleep(patience)
			t.Did("Patience passes without a Reconcile")
			w.behind()
			time.Sleep(patience / 2)
			w.behind()
			require.Len(t, w.sent("list"), lists, "the lists of Pods")
		})
}

func TestTask4_What_counts_as_an_answer(t *testing.T) {
	guard.Test(t, "Any error counts as a lost answer, except a status from 400 to 499.", func(t *guard.T) {
		w := newWorld(t, 0)
		require.NoError(t, w.reconcile(), "the error of Reconcile")
		settle()
		for _, failure := range []struct {
			text  string
			fault fakeapi.Fault
			reads int
		}{
			{"400", fakeapi.Answer(http.StatusBadRequest, ""), 0},
			{"401", fakeapi.Answer(http.StatusUnauthorized, ""), 0},
			{"403", fakeapi.Answer(http.StatusForbidden, ""), 0},
			{"404", fakeapi.Answer(http.StatusNotFound, ""), 0},
			{"408", fakeapi.Answer(http.StatusRequestTimeout, ""), 0},
			{"409", fakeapi.Answer(http.StatusConflict, ""), 0},
			{"422", fakeapi.Answer(http.StatusUnprocessableEntity, ""), 0},
			{"429", fakeapi.Answer(http.StatusTooManyRequests, ""), 0},
			{"499", fakeapi.Answer(499, ""), 0},
			{"500", fakeapi.Answer(http.StatusInternalServerError, ""), 1},
			{"501", fakeapi.Answer(http.StatusNotImplemented, ""), 1},
			{"502", fakeapi.Answer(http.StatusBadGateway, ""), 1},
			{"503", fakeapi.Answer(http.StatusServiceUnavailable, ""), 1},
			{"504", fakeapi.Answer(http.StatusGatewayTimeout, ""), 1},
			{"507", fakeapi.Answer(http.StatusInsufficientStorage, ""), 1},
			{"599", fakeapi.Answer(599, ""), 1},
			{"a broken connection", fakeapi.Reset(false), 1},
		} {
			w.deleteOne()
			t.Did("the create of a missing Pod fails with %s", failure.text)
			w.Script("create", failure.fault)
			require.Error(t, w.reconcile(), "the error of Reconcile")
			lists := len(w.sent("list"))
			require.NoError(t, w.reconcile(), "the error of the next Reconcile")
			require.Len(t, w.sent("list"), lists+failure.reads, "the lists of Pods")
			settle()
		}
	})
}

// deleteOne deletes a Pod as another client would, and waits for the cache.
func (w *world) deleteOne() {
	w.Delete(w.Objects("pods")[0])
	settle()
}

func TestTask4_What_was_read_is_recorded(t *testing.T) {
	guard.Test(t, "After a read from the server, the newest version of the Pods that listed returned replaces the "+
		"Deployment's record.",
		func(t *guard.T) {
			w := newWorld(t, 10*time.Second)
			t.Did("the watch is 10 s late; the answer to the third create is lost")
			w.Script("create", pass, pass, fakeapi.Reset(true))
			require.Error(t, w.reconcile(), "the error of Reconcile")
			require.NoError(t, w.reconcile(), "the error of the next Reconcile, which finds three Pods")
			require.Equal(t, w.newest(), w.store.Written(web, pods), "the written version of Pods")
			w.behind()
			time.Sleep(11 * time.Second)
			w.farAhead()
			w.behind()
			time.Sleep(patience)
			t.Did("Patience has passed")
			require.NoError(t, w.reconcile(), "the error of Reconcile")
			require.Equal(t, w.newest(), w.store.Written(web, pods), "the written version of Pods")
			require.NoError(t, w.reconcile(), "the error of the next Reconcile")
			w.deleteOne()
			w.deleteOne()
			time.Sleep(11 * time.Second)
			t.Did("two Pods are gone; the answer to a create is lost, and the next one is refused; a record is at 999999")
			w.Script("create", fakeapi.Reset(true), fakeapi.Answer(http.StatusForbidden, ""))
			require.Error(t, w.reconcile(), "the error of Reconcile")
			w.farAhead()
			require.True(t, apierrors.IsForbidden(w.reconcile()), "the error of Reconcile is the server's 403")
			require.Equal(t, w.newest(), w.store.Written(web, pods), "the written version of Pods")
		})
}

func TestTask4_First_error_ends_it(t *testing.T) {
	guard.Test(t, "After an error it writes nothing more, and returns the error.", func(t *guard.T) {
		w := newWorld(t, 0)
		t.Did("the server refuses the second create")
		w.Script("create", pass, fakeapi.Answer(http.StatusForbidden, ""))
		require.True(t, apierrors.IsForbidden(w.reconcile()), "the error of Reconcile is the server's 403")
		require.Len(t, w.sent("create"), 2, "the requests to create a Pod")
		settle()
		w.add("web-a", "web-b", "web-c", "web-d")
		settle()
		for i, code := range []int{403, 429, 500, 503, 504} {
			t.Did("there are three Pods too many; the server answers the first deletion with %d", code)
			w.Script("delete", fakeapi.Answer(code, ""))
			err := w.reconcile()
			var status apierrors.APIStatus
			require.True(t, errors.As(err, &status), "the error of Reconcile is a status: %v", err)
			require.EqualValues(t, code, status.Status().Code, "the code of the error")
			require.Len(t, w.sent("delete"), i+1, "the requests to delete a Pod")
		}
	})
}
