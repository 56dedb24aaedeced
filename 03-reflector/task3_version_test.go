package reflector_test

// Task 3: versions, and 410.

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

var (
	errExpired  = apierrors.NewResourceExpired("too old resource version")
	errGone     = apierrors.NewGone("too old resource version, with reason Gone")
	errOnly410  = apierrors.NewGenericServerResponse(410, "get", schema.GroupResource{}, "", "no reason", 0, true)
	errTooLarge = timeout("Too large resource version: 7, current: 5", metav1.StatusCause{
		Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version",
	})
	// Servers from 1.17.0 to 1.18.5 leave out the type of the cause; servers before 1.17 leave out the cause.
	errTooLargeIn1_17 = timeout("Too large resource version: 7, current: 5",
		metav1.StatusCause{Message: "Too large resource version"})
	errTooLargeBefore1_17  = timeout("Too large resource version: 7, current: 5")
	errTooLargeAmongOthers = timeout("try again", metav1.StatusCause{Message: "etcd is slow"},
		metav1.StatusCause{Message: "Too large resource version"}, metav1.StatusCause{Message: "the cache is behind"})
	errTooLargeFromProxy = timeout("etcd reports: Too large resource version: 7, current: 5",
		metav1.StatusCause{Message: "etcd is slow"})
	// The type of the cause is enough, and so is code 410 if the reason is not one that apierrors knows. A reason that
	// apierrors knows counts more than the code.
	errTooLargeByCause = status(503, "TryLater", metav1.StatusCause{Message: "etcd is slow"},
		metav1.StatusCause{Type: metav1.CauseTypeResourceVersionTooLarge})
	errNewReason     = status(410, "TooOld")
	errExpiredBy500  = status(500, metav1.StatusReasonExpired)
	errGoneBy500     = status(500, metav1.StatusReasonGone)
	errTooLargeBy500 = status(500, metav1.StatusReasonTimeout,
		metav1.StatusCause{Message: "Too large resource version"})

	// errTimeout is a timeout of something else, from a proxy that gives no details.
	errTimeout = &apierrors.StatusError{ErrStatus: metav1.Status{Status: "Failure", Code: 504,
		Reason: metav1.StatusReasonTimeout, Message: "no answer from upstream"}}
)

// status is an answer with this code and reason, and with these causes.
func status(code int32, reason metav1.StatusReason, causes ...metav1.StatusCause) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: "Failure", Code: code, Reason: reason,
		Message: "no", Details: &metav1.StatusDetails{Causes: causes}}}
}

// timeout is an answer with reason Timeout and these causes.
func timeout(message string, causes ...metav1.StatusCause) error {
	err := apierrors.NewTimeoutError(message, 1)
	err.ErrStatus.Details.Causes = causes
	return err
}

// didAnswer tells what a failing list was answered: all that the functions of task 3 may look at.
func didAnswer(t *guard.T, err error) {
	t.Did("  %v", err)
	var answer *apierrors.StatusError
	if !errors.As(err, &answer) {
		return
	}
	s := answer.ErrStatus
	t.Did("  its Status: code %d, reason %q", s.Code, s.Reason)
	if s.Details == nil {
		return
	}
	for _, cause := range s.Details.Causes {
		t.Did("  a cause in it: type %q, message %q", cause.Type, cause.Message)
	}
}

// failing is a watch event of type ERROR.
func failing(err *apierrors.StatusError) watch.Event {
	return watch.Event{Type: watch.Error, Object: &err.ErrStatus}
}

func TestTask3_Gone_watch_makes_a_list_due(t *testing.T) {
	const (
		due = "A watch that gets 410 makes a list due. The server has forgotten the deletion of b, and " +
			"only a list shows that b is gone."
		version = "After a watch that got 410 the list asks for the last version: any server can answer " +
			"with a list that is not older."
	)
	guard.Test(t, due, func(t *guard.T) {
		w := newWorld(t, "a", "b").run()
		w.pass(time.Minute)
		w.did("the watch ends, and the next one brings 410; b is deleted before the list is answered")
		w.server.Script("watch", fakeapi.Event(410))
		w.server.Script("list", fakeapi.Slow(time.Second))
		w.store.calls()
		w.server.EndWatches()
		synctest.Wait()
		w.server.Delete(deployment("b"))
		w.server.Compact()
		w.pass(3 * time.Minute)
		require.Equal(t, []string{"Replace [a@2] @4"}, w.store.calls(), "calls of the store after 410")
		t.Rule(version)
		require.Equal(t, []string{"list@0", "watch@3", "watch@3", "list@3", "watch@4"}, w.requests(),
			"requests to the server")
	})
}

func TestTask3_Refused_version_is_given_up_at_once(t *testing.T) {
	const (
		refusal = "If the server refuses the version of a list (410 Expired or Gone, or too large), the " +
			"next list comes at once, without a version. With the version, the server may refuse every " +
			"list for hours (#91073)."
		restore = "The store takes the list without a version, even if it is at a smaller version: the " +
			"server may have been restored from a backup."
	)
	guard.Test(t, refusal, func(t *guard.T) {
		for _, refused := range []error{
			errExpired, errGone, errTooLarge, errTooLargeIn1_17, errTooLargeBefore1_17, errTooLargeAmongOthers,
			fmt.Errorf("list: %w", errExpired), fmt.Errorf("list: %w", errGone), fmt.Errorf("list: %w", errTooLarge),
			errOnly410, fmt.Errorf("list: %w", errOnly410), errNewReason, errTooLargeFromProxy, errTooLargeByCause,
			errExpiredBy500, errGoneBy500, errTooLargeBy500,
		} {
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
			t.Did("RunWithContext; the second list, at 7, is answered:")
			didAnswer(t, refused)
			runFor(t, r, 10*time.Minute)
			asked := s.requests()
			require.Equal(t, []string{"list@0", "watch@7", "list@7", "list@", "watch@3"}, asked[:min(5, len(asked))],
				"the first 5 requests to the source")
			require.Equal(t, time.Duration(0), moments[1].Sub(moments[0]), "wait before the repeated list")
			require.Empty(t, s.options[3].ResourceVersionMatch, "resourceVersionMatch of the list without a version")
			t.Rule(restore)
			require.Equal(t, []string{"Replace [a@1] @7", "Replace [b@1] @3"}, st.calls(), "calls of the store")
			require.Equal(t, "3", r.LastSyncResourceVersion(), "LastSyncResourceVersion after the list at 3")
		}
	})
}

func TestTask3_Version_is_used_again_after_a_good_list(t *testing.T) {
	guard.Test(t, "After a list that succeeds, the next one asks for its version again. A list without a "+
		"version is the most expensive one, and after one refusal it is needed once.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7"), listFails(errTooLarge), lists("8"), lists("9"))
		s.watches = append(s.watches, s.sends(failing(errExpired)), s.sends(failing(errExpired)))
		t.Did("RunWithContext; the second list is refused once, and the watches after the first and the repeated " +
			"list end with 410")
		runFor(t, newScripted(s, &store{}), 10*time.Minute)
		require.Equal(t, []string{"list@0", "watch@7", "list@7", "list@", "watch@8", "list@8", "watch@9"}, s.requests(),
			"requests to the source")

		t.Rule("If the server refuses the version of a list, the next list comes without a version. After any other error " +
			"the version is as good as before.")
		for _, failure := range []error{errTimeout, busy, internal, forbidden, errors.New("away")} {
			t.Story(8)
			s := &script{}
			s.lists = append(s.lists, lists("7"), listFails(failure), lists("8"))
			s.watches = append(s.watches, s.sends(failing(errExpired)))
			t.Did("RunWithContext; the second list is answered:")
			didAnswer(t, failure)
			runFor(t, newScripted(s, &store{}), 10*time.Minute)
			require.Equal(t, []string{"list@0", "watch@7", "list@7", "list@7", "watch@8"}, s.requests(),
				"requests to the source")
		}
	})
}

func TestTask3_Refused_twice_stays_refused(t *testing.T) {
	guard.Test(t, "After a refused version, lists ask for no version until one has succeeded.", func(t *guard.T) {
		for _, failure := range []error{errTooLarge, errRefused, busy, internal, forbidden, errors.New("away")} {
			t.Story(8)
			t.Rule("After a refused version, lists ask for no version until one has succeeded.")
			s := &script{}
			s.lists = append(s.lists, lists("7"), listFails(errTooLarge), listFails(failure), lists("8"))
			s.watches = append(s.watches, s.sends(failing(errExpired)))
			r := newScripted(s, &store{})
			var versions []string
			s.onRequest = func(request string) { versions = append(versions, r.LastSyncResourceVersion()) }
			t.Did("RunWithContext; the list after the refused one fails too: %v", failure)
			runFor(t, r, 10*time.Minute)
			require.Equal(t, []string{"list@0", "watch@7", "list@7", "list@", "list@", "watch@8"}, s.requests(),
				"requests to the source")
			t.Rule("LastSyncResourceVersion returns the version of the last list, event or bookmark that the " +
				"store has received. A refusal does not change the store.")
			require.Equal(t, []string{"", "7", "7", "7", "7", "8"}, versions, "LastSyncResourceVersion at each request")
		}
	})
}

func TestTask3_Other_failures_say_nothing_about_the_version(t *testing.T) {
	guard.Test(t, "After a list that failed for another reason, the next list asks for the same version again. "+
		"Without a version a list costs more, and at 0 the store may go back in time (#59848).", func(t *guard.T) {
		for _, failure := range []error{
			timeout("the server is slow"),
			timeout("the server is slow", metav1.StatusCause{Message: "etcd is slow"}),
			apierrors.NewInternalError(errors.New("etcd is away")),
			apierrors.NewInternalError(errors.New("a proxy reports: Too large resource version")),
			errors.New("the network is away"), errors.New("a proxy reports: too old resource version"), invalid, notFound,
			apierrors.NewBadRequest("no such field"), apierrors.NewServerTimeout(schema.GroupResource{}, "list", 1),
			status(410, metav1.StatusReasonTimeout),
			status(500, metav1.StatusReasonServerTimeout, metav1.StatusCause{Message: "Too large resource version"}),
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

func TestTask3_First_list_may_be_refused_too(t *testing.T) {
	guard.Test(t, "If the server refuses the version of a list (410 Expired or Gone, or too large), the next "+
		"list comes at once, without a version. That holds for the first list too.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, listFails(errExpired), lists("9"))
		t.Did("the list at 0 is answered: %v", errExpired)
		once(t, s, &store{})
		require.Equal(t, []string{"list@0", "list@", "watch@9"}, s.requests(), "requests to the source")

		t.Rule("ListAndWatchWithContext returns an error if a list failed. Here it is the list without a version.")
		for _, failure := range []error{errors.New("the network is away"), errRefused, busy, errExpired, errTooLarge} {
			t.Story(8)
			s = &script{}
			s.lists = append(s.lists, listFails(errGone), listFails(failure))
			t.Did("the list at 0 is answered: %v; the list without a version fails: %v", errGone, failure)
			_, err := once(t, s, &store{})
			require.ErrorIs(t, err, failure, "the error of ListAndWatchWithContext")
			require.Equal(t, []string{"list@0", "list@"}, s.requests(), "requests to the source")
		}

		t.Rule("When the context ends, every request, watch and wait ends at once: the list without a version too.")
		s.lists = append(s.lists, listFails(errExpired), func(metav1.ListOptions) (runtime.Object, error) {
			time.Sleep(24 * time.Hour)
			return nil, errors.New("too late")
		})
		t.Did("the next Reflector's list at 0 is answered: %v; the list without a version takes a day, and the context ends "+
			"after a minute", errExpired)
		start := time.Now()
		listAndWatchFor(t, newReflector(cancellable{s}, &store{}), time.Minute)
		took := time.Since(start)
		time.Sleep(24 * time.Hour) // until the list returns its answer, which nothing waits for
		require.Equal(t, time.Minute, took, "time until ListAndWatchWithContext returned")
	})
}

func TestTask3_List_without_a_version_is_as_none(t *testing.T) {
	guard.Test(t, "After a list without a version, the next list asks for 0, as the first one does: there is no last "+
		"version.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("", "a"), lists("7"), lists("", "a"), lists("8"))
		s.watches = append(s.watches, s.ends(), s.ends(), s.ends(), s.sends())
		t.Did("RunWithContext; the first and the third list have no version, and three watches end at once")
		runFor(t, newScripted(s, &store{}), time.Minute)
		require.Equal(t, []string{"list@0", "watch@", "list@0", "watch@7", "list@7", "watch@", "list@0", "watch@8"},
			s.requests(), "requests to the source")
		t.Rule("A watch asks for bookmarks, if it has no version too: the first one moves the version.")
		require.True(t, s.options[1].AllowWatchBookmarks, "AllowWatchBookmarks of the watch without a version")

		t.Rule("A relist asks for the last version, so the store never goes back in time. A watch after a list without a " +
			"version may have moved it.")
		s = &script{}
		s.lists = append(s.lists, lists("", "a"), lists("9"))
		s.watches = append(s.watches, s.sends(event(watch.Modified, "a", "8"), expiredEvent()))
		t.Did("RunWithContext; the list has no version, and its watch brings a@8 and 410")
		runFor(t, newScripted(s, &store{}), time.Minute)
		require.Equal(t, []string{"list@0", "watch@", "list@8", "watch@9"}, s.requests(), "requests to the source")
	})
}

func TestTask3_Synthetic_events_do_not_move_the_version(t *testing.T) {
	guard.Test(t, "After a watch without a version has started, the first event that is not ADDED moves the "+
		"version, and each event after it. Before that, the watch brings the current objects in any order: "+
		"a watch from 9 would miss events, and one from 3 would get 410 (#136583).", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists(""))
		s.watches = append(s.watches, s.sends(event(watch.Added, "c", "9"), event(watch.Added, "a", "3")))
		r := newScripted(s, &store{})
		t.Did("the list has no version, so the watch sends the current objects first: c@9, a@3")
		listAndWatchFor(t, r, time.Minute)
		require.Equal(t, "", r.LastSyncResourceVersion(), "LastSyncResourceVersion after c@9, a@3")

		s = &script{}
		s.lists = append(s.lists, lists(""))
		other := replicaSet("r", "4")
		other.Type = watch.Modified
		s.watches = append(s.watches, s.sends(event(watch.Added, "c", "9"), event("RENAMED", "b", "5"), other,
			event(watch.Added, "a", "3")))
		r = newScripted(s, &store{})
		t.Did("the list has no version, so the watch sends the current objects first: c@9, a@3; between them come an " +
			"event of an unknown type and a ReplicaSet that is changed")
		listAndWatchFor(t, r, time.Minute)
		require.Equal(t, "", r.LastSyncResourceVersion(), "LastSyncResourceVersion after c@9, a@3")

		t.Rule("After a watch without a version has started, the first event that is not ADDED moves the version. Nothing " +
			"else does: the next watch starts without a version too, and brings the current objects again.")
		s = &script{}
		s.lists = append(s.lists, lists(""))
		added := s.ends(event(watch.Added, "c", "9"), event(watch.Added, "a", "3"))
		s.watches = append(s.watches, added, added, s.sends())
		t.Did("the list has no version, and two watches end after c@9, a@3")
		once(t, s, &store{})
		require.Equal(t, []string{"list@0", "watch@", "watch@", "watch@"}, s.requests(), "requests to the source")

		t.Rule("After a watch without a version has started, the first event that is not ADDED moves the version. It " +
			"does not matter what the watches before the list have brought.")
		s = &script{}
		s.lists = append(s.lists, lists("7"), lists(""))
		s.watches = append(s.watches, s.sends(event(watch.Modified, "a", "8"), expiredEvent()), added, s.sends())
		r = newScripted(s, &store{})
		t.Did("RunWithContext; the watch from 7 brings a@8 and 410; the next list has no version, and its watch ends " +
			"after c@9, a@3")
		runFor(t, r, time.Minute)
		require.Equal(t, []string{"list@0", "watch@7", "list@8", "watch@", "watch@"}, s.requests(),
			"requests to the source")
		require.Equal(t, "", r.LastSyncResourceVersion(), "LastSyncResourceVersion after c@9, a@3")

		t.Rule("After a watch without a version has started, the first event that is not ADDED moves the version, " +
			"and each event after it.")
		for _, eventType := range []watch.EventType{watch.Modified, watch.Deleted} {
			s = &script{}
			r = newScripted(s, &store{onCall: refuseEvents})
			s.lists = append(s.lists, lists(""))
			s.watches = append(s.watches, s.sends(event(watch.Added, "c", "9"), event(watch.Added, "a", "3"),
				event(eventType, "a", "10"), event(watch.Added, "d", "11")))
			t.Did("the same, but the first watch goes on: a@10 is %s, d@11 is created; the store refuses each event", eventType)
			listAndWatchFor(t, r, time.Minute)
			require.Equal(t, "11", r.LastSyncResourceVersion(), "LastSyncResourceVersion after c@9, a@3, a@10, d@11")
		}
	})
}
