package reflector_test

// Task 3: versions, and 410.

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

var (
	errExpired  = apierrors.NewResourceExpired("too old resource version")
	errGone     = apierrors.NewGone("too old resource version")
	errTooLarge = func() error {
		err := apierrors.NewTimeoutError("Too large resource version: 7, current: 5", 1)
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{
			Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version",
		}}
		return err
	}()
)

// failing is a watch event of type ERROR.
func failing(err *apierrors.StatusError) watch.Event {
	return watch.Event{Type: watch.Error, Object: &err.ErrStatus}
}

func TestTask3_Relist_asks_for_the_last_version(t *testing.T) {
	guard.Test(t, "A relist asks for the last version: the answer is not older. At 0 it may be older than the store, "+
		"which would go back in time (#59848).", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7", "a"), lists("9", "a"))
		s.watches = append(s.watches, s.sends(event(watch.Added, "b", "8"), failing(errExpired)))
		t.Did("RunWithContext; the watch brings an event of version 8, and then 410")
		runFor(t, newScripted(s, &store{}), time.Minute)
		require.Equal(t, []string{"list@0", "watch@7", "list@8", "watch@9"}, s.requests(), "requests to the source")
	})
}

func TestTask3_Gone_watch_makes_a_list_due(t *testing.T) {
	const (
		due = "A watch that gets 410 makes a list due: the deletion of b is forgotten, and only a list shows that b is " +
			"gone."
		version = "After a watch that got 410 the list asks for the last version: any server can give something that is " +
			"not older."
	)
	guard.Test(t, due, func(t *guard.T) {
		for _, how := range []string{"as an event", "as an answer"} {
			t.Rule(due)
			w := newWorld(t, "a", "b").run()
			w.pass(time.Minute)
			w.did("the watch ends, and the next one gets 410, %s; b is deleted before the list is answered", how)
			fault := fakeapi.Event(410)
			if how == "as an answer" {
				fault = fakeapi.Answer(410, "")
			}
			w.server.Script("watch", fault)
			w.server.Script("list", fakeapi.Slow(time.Second))
			w.store.calls()
			w.server.EndWatches()
			synctest.Wait()
			w.server.Delete(deployment("b"))
			w.server.Compact()
			w.pass(3 * time.Minute)
			require.Equal(t, []string{"Replace [a@2] @4"}, w.store.calls(), "calls of the store after 410 %s", how)
			t.Rule(version)
			require.Equal(t, []string{"list@0", "watch@3", "watch@3", "list@3", "watch@4"}, w.requests(),
				"requests to the server, with 410 %s", how)
			w.stop()
		}
	})
}

func TestTask3_Refused_version_is_given_up_at_once(t *testing.T) {
	const (
		refusal = "A list that is refused (410 Expired or Gone, or too large) is repeated at once, without a version. With " +
			"the version, the server refuses it for hours (#91073)."
		restore = "The list without a version is right, even if its version is smaller: the server may have been restored " +
			"from a backup."
	)
	guard.Test(t, refusal, func(t *guard.T) {
		for _, refused := range []error{errExpired, errGone, errTooLarge} {
			t.Story(8)
			t.Rule(refusal)
			s := &script{}
			var moments []time.Time
			at := func(next listFunc) listFunc {
				return func(o metav1.ListOptions) (runtime.Object, error) {
					moments = append(moments, time.Now())
					return next(o)
				}
			}
			s.lists = append(s.lists, lists("7", "a"), at(listFails(refused)), at(lists("3", "b")))
			s.watches = append(s.watches, s.sends(failing(errExpired)))
			st := &store{}
			r := newScripted(s, st)
			t.Did("RunWithContext; the second list, at 7, is answered: %v", refused)
			runFor(t, r, 10*time.Minute)
			require.Equal(t, []string{"list@0", "watch@7", "list@7", "list@", "watch@3"}, s.requests()[:5],
				"the first 5 requests to the source")
			require.Equal(t, time.Duration(0), moments[1].Sub(moments[0]), "wait before the repeated list")
			t.Rule(restore)
			require.Equal(t, []string{"Replace [a@1] @7", "Replace [b@1] @3"}, st.calls(), "calls of the store")
			require.Equal(t, "3", r.LastSyncResourceVersion(), "LastSyncResourceVersion after the list at 3")
		}
	})
}

func TestTask3_Version_is_used_again_after_a_good_list(t *testing.T) {
	guard.Test(t, "After a good list, the next one asks for its version again. A list without a version is the most "+
		"expensive one, and one refusal is no reason for more of them.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7"), listFails(errTooLarge), lists("8"), lists("9"))
		s.watches = append(s.watches, s.sends(failing(errExpired)), s.sends(failing(errExpired)))
		t.Did("RunWithContext; the second list is refused once, and the watches after the first and the repeated list " +
			"end with 410")
		runFor(t, newScripted(s, &store{}), 10*time.Minute)
		require.Equal(t, []string{"list@0", "watch@7", "list@7", "list@", "watch@8", "list@8", "watch@9"}, s.requests(),
			"requests to the source")
	})
}

func TestTask3_Refused_twice_stays_refused(t *testing.T) {
	guard.Test(t, "A refused version is not used again before a list has succeeded.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7"), listFails(errTooLarge), listFails(errTooLarge), lists("8"))
		s.watches = append(s.watches, s.sends(failing(errExpired)))
		t.Did("RunWithContext; the list after the refused one fails too")
		runFor(t, newScripted(s, &store{}), 10*time.Minute)
		require.Equal(t, []string{"list@0", "watch@7", "list@7", "list@", "list@", "watch@8"}, s.requests(),
			"requests to the source")
	})
}

func TestTask3_Other_failures_say_nothing_of_the_version(t *testing.T) {
	guard.Test(t, "Only a server that refuses the version makes it useless. After any other failure the list asks for "+
		"it again: without it a list costs more, and at 0 the store may go back in time (#59848).", func(t *guard.T) {
		for _, failure := range []error{
			apierrors.NewTimeoutError("the server is slow", 1),
			apierrors.NewInternalError(errors.New("etcd is away")),
			errors.New("the network is away"),
		} {
			t.Story(8)
			s := &script{}
			s.lists = append(s.lists, listFails(failure), lists("7"), listFails(failure), lists("8"))
			s.watches = append(s.watches, s.sends(failing(errExpired)))
			t.Did("RunWithContext; the first list, and the first at 7, are answered: %v", failure)
			runFor(t, newScripted(s, &store{}), 10*time.Minute)
			require.Equal(t, []string{"list@0", "list@0", "watch@7", "list@7", "list@7", "watch@8"}, s.requests(),
				"requests to the source")
		}
	})
}

func TestTask3_Relist_comes_in_one_piece(t *testing.T) {
	guard.Test(t, "A relist comes in one piece: the server answers it from its memory. It reads a list with a limit "+
		"from etcd, and after an outage every client lists at once.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7"), lists("8"))
		s.watches = append(s.watches, s.sends(failing(errExpired)))
		t.Did("RunWithContext, with a watch that ends with 410")
		runFor(t, newScripted(s, &store{}), 10*time.Minute)
		require.Equal(t, "7", s.options[2].ResourceVersion, "version that the relist asks for")
		require.Equal(t, int64(0), s.options[2].Limit, "limit of the relist")
	})
}

func TestTask3_Relist_comes_in_pages_where_the_first_list_did(t *testing.T) {
	guard.Test(t, "If the list at 0 came in pages, relists come in pages too. This server has no list in its memory, "+
		"and would read all of it from etcd at once.", func(t *guard.T) {
		s := &script{}
		first := func(o metav1.ListOptions) (runtime.Object, error) {
			list, err := lists("7", "a")(o)
			list.(*appsv1.DeploymentList).Continue = "more"
			return list, err
		}
		s.lists = append(s.lists, first, lists("7", "b"), lists("8", "a", "b"))
		s.watches = append(s.watches, s.sends(failing(errExpired)))
		t.Did("RunWithContext; the list at 0 comes in two pages, and the watch ends with 410")
		runFor(t, newScripted(s, &store{}), 10*time.Minute)
		require.Equal(t, "list@7", s.requests()[3], "the request for the relist")
		require.NotZero(t, s.options[3].Limit, "limit of the relist")
	})
}

func TestTask3_Synthetic_events_do_not_move_the_version(t *testing.T) {
	guard.Test(t, "A watch without a version first sends the current objects as ADDED, in any order: none of their "+
		"versions is a place to resume from. At 9 events are missed, at 3 the answer is 410 (#136583).", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists(""))
		s.watches = append(s.watches, s.sends(event(watch.Added, "c", "9"), event(watch.Added, "a", "3")))
		r := newScripted(s, &store{})
		t.Did("the list has no version, so the watch sends the current objects first: c@9, a@3")
		listAndWatchFor(t, r, time.Minute)
		require.Equal(t, "", r.LastSyncResourceVersion(), "LastSyncResourceVersion after c@9, a@3")

		t.Rule("The first event that is not ADDED ends the current objects. From there on the events are in order, and " +
			"each moves the version.")
		s.lists = append(s.lists, lists(""))
		s.watches = append(s.watches, s.sends(event(watch.Added, "c", "9"), event(watch.Added, "a", "3"),
			event(watch.Modified, "a", "10"), event(watch.Added, "d", "11")))
		t.Did("the same, and then a is changed to a@10, and d@11 is created")
		listAndWatchFor(t, r, time.Minute)
		require.Equal(t, "11", r.LastSyncResourceVersion(), "LastSyncResourceVersion after c@9, a@3, a@10, d@11")
	})
}
