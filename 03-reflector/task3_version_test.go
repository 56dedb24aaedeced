package reflector_test

// Task 3: versions, and 410.

import (
	"context"
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

	reflector "client-go-workshop/03-reflector"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

var (
	errExpired  = apierrors.NewResourceExpired("too old resource version")
	errGone     = apierrors.NewGone("too old resource version")
	errTooLarge = func() error {
		err := apierrors.NewTimeoutError("Too large resource version: 7, current: 5", 1)
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
		return err
	}()
)

// failing is a watch event of type ERROR.
func failing(err *apierrors.StatusError) watch.Event {
	return watch.Event{Type: watch.Error, Object: &err.ErrStatus}
}

func TestTask3_Relist_asks_for_the_last_version(t *testing.T) {
	guard.Test(t, "at 0 the server may answer with something older than what the store has, and the cache goes "+
		"back in time (#59848); 8 is not older", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7", "a"), lists("9", "a"))
		s.watches = append(s.watches, s.tells(event(watch.Added, "b", "8"), failing(errExpired)))
		r := reflector.NewReflector(s, &appsv1.Deployment{}, &store{}, 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		t.Did("RunWithContext; the watch brings an event of version 8, and then 410")
		r.RunWithContext(ctx)
		require.Equal(t, []string{"list@0", "watch@7", "list@8", "watch@9"}, s.requests())
	})
}

func TestTask3_Gone_watch_makes_a_list_due(t *testing.T) {
	guard.Test(t, "nobody will ever send the deletion of b; only a list can tell", func(t *guard.T) {
		for _, how := range []string{"as an event", "as an answer"} {
			w := newWorld(t, "a", "b").run()
			w.pass(time.Minute)
			w.did("the watch ends, and the next one is told 410, %s; b is deleted before the list is answered", how)
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
			require.Equal(t, []string{"Replace [a@2] @4"}, w.store.calls())
			t.Rule("the list still asks for the last version: not older than that is all it means, and no server " +
				"forgets what is newer")
			require.Equal(t, []string{"list@0", "watch@3", "watch@3", "list@3", "watch@4"}, w.asked())
			w.stop()
		}
	})
}

func TestTask3_Refused_version_is_given_up_at_once(t *testing.T) {
	guard.Test(t, "at once, with no version, which is the newest: a version that the server does not have is "+
		"refused again and again, and this client would not recover for hours (#91073)", func(t *guard.T) {
		for _, refused := range []error{errExpired, errGone, errTooLarge} {
			s := &script{}
			var moments []time.Time
			at := func(next func(metav1.ListOptions) (runtime.Object, error)) func(metav1.ListOptions) (runtime.Object, error) {
				return func(o metav1.ListOptions) (runtime.Object, error) {
					moments = append(moments, time.Now())
					return next(o)
				}
			}
			s.lists = append(s.lists, lists("7", "a"), at(listFails(refused)), at(lists("3", "b")))
			s.watches = append(s.watches, s.tells(failing(errExpired)))
			st := &store{}
			r := reflector.NewReflector(s, &appsv1.Deployment{}, st, 0)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			t.Did("RunWithContext; the second list, at 7, is answered: %v", refused)
			r.RunWithContext(ctx)
			require.Equal(t, []string{"list@0", "watch@7", "list@7", "list@", "watch@3"}, s.requests()[:5])
			t.Rule("at once, without a wait: the server is well, and all that it has said is that it cannot give " +
				"this version")
			require.Equal(t, time.Duration(0), moments[1].Sub(moments[0]))
			t.Rule("what the server has now is right, even if its numbers are smaller: it may have been restored " +
				"from a backup")
			require.Equal(t, []string{"Replace [a@1] @7", "Replace [b@1] @3"}, st.calls())
			t.Rule("and from there it goes on")
			require.Equal(t, "3", r.LastSyncResourceVersion())
		}
	})
}

func TestTask3_Version_is_used_again_after_a_good_list(t *testing.T) {
	guard.Test(t, "one refusal is no reason to ask for the newest for ever: that is the dearest list there is", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7"), listFails(errTooLarge), lists("8"), lists("9"))
		s.watches = append(s.watches, s.tells(failing(errExpired)), s.tells(failing(errExpired)))
		r := reflector.NewReflector(s, &appsv1.Deployment{}, &store{}, 0)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		t.Did("RunWithContext; the second list is refused once, and the watches behind the first and the second end with 410")
		r.RunWithContext(ctx)
		require.Equal(t, []string{"list@0", "watch@7", "list@7", "list@", "watch@8", "list@8", "watch@9"}, s.requests())
	})
}

func TestTask3_Refused_twice_stays_refused(t *testing.T) {
	guard.Test(t, "as long as no list has succeeded, the version is as useless as before", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7"), listFails(errTooLarge), listFails(errTooLarge), lists("8"))
		s.watches = append(s.watches, s.tells(failing(errExpired)))
		r := reflector.NewReflector(s, &appsv1.Deployment{}, &store{}, 0)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		t.Did("RunWithContext; the list behind the refused one fails too")
		r.RunWithContext(ctx)
		require.Equal(t, []string{"list@0", "watch@7", "list@7", "list@", "list@", "watch@8"}, s.requests())
	})
}

func TestTask3_Other_failures_say_nothing_of_the_version(t *testing.T) {
	guard.Test(t, "only a server that refuses the version has a word against it: without it a list is dearer, and "+
		"at 0 the cache may go back in time (#59848)", func(t *guard.T) {
		for _, failure := range []error{apierrors.NewTimeoutError("the server is slow", 1), apierrors.NewInternalError(errors.New("etcd is away")), errors.New("the network is away")} {
			s := &script{}
			s.lists = append(s.lists, listFails(failure), lists("7"), listFails(failure), lists("8"))
			s.watches = append(s.watches, s.tells(failing(errExpired)))
			r := reflector.NewReflector(s, &appsv1.Deployment{}, &store{}, 0)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			t.Did("RunWithContext; the first list, and the first at 7, are answered: %v", failure)
			r.RunWithContext(ctx)
			require.Equal(t, []string{"list@0", "list@0", "watch@7", "list@7", "list@7", "watch@8"}, s.requests())
		}
	})
}

func TestTask3_Relist_comes_in_one_piece(t *testing.T) {
	guard.Test(t, "the relist", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7"), lists("8"))
		s.watches = append(s.watches, s.tells(failing(errExpired)))
		r := reflector.NewReflector(s, &appsv1.Deployment{}, &store{}, 0)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		t.Did("RunWithContext, with a watch that ends with 410")
		r.RunWithContext(ctx)
		require.Equal(t, "7", s.options[2].ResourceVersion)
		t.Rule("a list with a limit is read from etcd, and one without from the server's memory; after an " +
			"outage everybody lists at once")
		require.Zero(t, s.options[2].Limit)
	})
}

func TestTask3_Relist_comes_in_pages_where_the_first_list_did(t *testing.T) {
	guard.Test(t, "the relist", func(t *guard.T) {
		s := &script{}
		first := func(o metav1.ListOptions) (runtime.Object, error) {
			list, err := lists("7", "a")(o)
			list.(*appsv1.DeploymentList).Continue = "more"
			return list, err
		}
		s.lists = append(s.lists, first, lists("7", "b"), lists("8", "a", "b"))
		s.watches = append(s.watches, s.tells(failing(errExpired)))
		r := reflector.NewReflector(s, &appsv1.Deployment{}, &store{}, 0)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		t.Did("RunWithContext; the list at 0 comes in two pages, and the watch ends with 410")
		r.RunWithContext(ctx)
		require.Equal(t, "list@7", s.requests()[3])
		t.Rule("a server that sends even what it has at hand in pages has no list in its memory; in one piece, " +
			"all of it would be read from etcd at once")
		require.NotZero(t, s.options[3].Limit)
	})
}

func TestTask3_Synthetic_events_do_not_move_the_version(t *testing.T) {
	guard.Test(t, "they come in any order: who resumes at 9 misses what was to come behind c, and who resumes at "+
		"3 is told 410 (#136583)", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists(""))
		s.watches = append(s.watches, s.tells(event(watch.Added, "c", "9"), event(watch.Added, "a", "3")))
		r := reflector.NewReflector(s, &appsv1.Deployment{}, &store{}, 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		t.Did("the list has no version, and so the watch begins with what there is: c@9, a@3")
		r.ListAndWatchWithContext(ctx)
		require.Equal(t, "", r.LastSyncResourceVersion())

		s.lists = append(s.lists, lists(""))
		s.watches = append(s.watches, s.tells(event(watch.Added, "c", "9"), event(watch.Added, "a", "3"), event(watch.Modified, "a", "10"), event(watch.Added, "d", "11")))
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		t.Did("the same, and then a is changed, and d is created")
		r.ListAndWatchWithContext(ctx)
		t.Rule("with the first event that is no ADDED the beginning is over, and from there on they are in " +
			"order")
		require.Equal(t, "11", r.LastSyncResourceVersion())
	})
}
