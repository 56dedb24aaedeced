package reflector_test

// Bonus task 7: streaming lists.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/03-reflector"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/todo"
)

// callStreamList calls the function that the bonus asks for. guard.Bonus skips a test while it is missing. If
// ListAndWatchWithContext does not call it, callStreamList reports it as missing.
func callStreamList() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := &script{}
	s.watches = append(s.watches, watchFails(errors.New("no watch in this test")))
	reflector.NewReflector(streaming{s}, &appsv1.Deployment{}, &store{}, 0).ListAndWatchWithContext(ctx)
	if len(s.asked) > 0 && strings.HasPrefix(s.asked[0], "list") {
		panic(todo.Task(7, "Reflector.streamList"))
	}
}

// bonus is guard.Test for a test of the bonus.
func bonus(t *testing.T, rule string, f func(t *guard.T)) {
	t.Helper()
	guard.Bonus(t, callStreamList)
	guard.Test(t, rule, f)
}

// streaming is a source that can stream lists.
type streaming struct{ cache.ListerWatcher }

func (l streaming) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return cache.ToListerWatcherWithContext(l.ListerWatcher).ListWithContext(ctx, options)
}

func (l streaming) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return cache.ToListerWatcherWithContext(l.ListerWatcher).WatchWithContext(ctx, options)
}

// newStreaming is newWorld with a source that can stream lists.
func newStreaming(t *guard.T, names ...string) *world {
	w := newWorld(t, names...)
	w.r = reflector.NewReflector(w.source(), &appsv1.Deployment{}, w.store, 0)
	return w
}

func TestTask7_List_comes_as_a_watch(t *testing.T) {
	const oneWatch = "streamList replaces the store's contents by a streamed list, and returns the watch, which goes " +
		"on from there. There is no list, and no other watch."
	bonus(t, "The store receives nothing of a stream that did not reach its bookmark. Then it receives one "+
		"Replace.", func(t *guard.T) {
		w := newStreaming(t, "a", "b").run()
		q := w.server.Requests("watch")[0].Query
		asked := fmt.Sprintf("sendInitialEvents=%s resourceVersionMatch=%s allowWatchBookmarks=%s",
			q.Get("sendInitialEvents"), q.Get("resourceVersionMatch"), q.Get("allowWatchBookmarks"))
		t.Rule("A stream is a watch with SendInitialEvents, AllowWatchBookmarks and ResourceVersionMatch NotOlderThan. " +
			"Without the last one the server answers 422.")
		require.Equal(t, "sendInitialEvents=true resourceVersionMatch=NotOlderThan allowWatchBookmarks=true", asked,
			"query of the watch")
		t.Rule("The store receives nothing of a stream that did not reach its bookmark. Then it receives one " +
			"Replace.")
		require.Equal(t, []string{"Replace [a@2 b@3] @3"}, w.store.calls(), "calls of the store for the stream")
		t.Rule("No version before the bookmark counts. The version of a streamed list is that of the bookmark.")
		require.Equal(t, "3", w.r.LastSyncResourceVersion(), "LastSyncResourceVersion after the stream")
		t.Rule(oneWatch)
		require.Equal(t, []string{"watch@newest"}, w.requests(), "requests to the server")
		w.create("c")
		synctest.Wait()
		t.Rule("The version moves only after the store has received the list or event. The events behind " +
			"the bookmark are in order, so each moves the version, ADDED too.")
		require.Equal(t, "4", w.r.LastSyncResourceVersion(), "LastSyncResourceVersion after c@4")
		w.remove("a")
		t.Rule(oneWatch)
		require.Equal(t, []string{"Add c@4", "Delete a@5"}, w.store.calls(), "calls of the store after the stream")
		require.Equal(t, []string{"watch@newest"}, w.requests(), "requests to the server after all events")
	})
}

func TestTask7_Version_comes_after_the_streamed_list(t *testing.T) {
	bonus(t, "The version moves only after the store has received the list or event. The store may ask for it "+
		"meanwhile.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.watches = append(s.watches, s.sends(allOfIt("7"), event(watch.Added, "a", "8"), expiredEvent()),
			s.sends(allOfIt("9")))
		r := newReflector(streaming{s}, st)
		var seen []string
		st.onCall = func(call string) error {
			seen = append(seen, call+" at "+r.LastSyncResourceVersion())
			return nil
		}
		t.Did("RunWithContext; a stream comes to 7, and brings a@8 and 410; the next one comes to 9")
		runFor(t, r, time.Minute)
		require.Equal(t, []string{"Replace [] @7 at ", "Add a@8 at 7", "Replace [] @9 at 8"}, seen,
			"calls of the store, each at LastSyncResourceVersion")

		t.Rule("LastSyncResourceVersion returns the version of the last list, event or bookmark that the store has " +
			"received. After a streamed list the store receives events, bookmarks and versions as in any watch.")
		s, st = &script{}, &store{}
		s.watches = append(s.watches, s.sends(allOfIt("7"), event(watch.Bookmark, "", "8"), event(watch.Added, "a", "9")))
		t.Did("a store that receives bookmarks and versions; a stream comes to 7, and brings the bookmark 8 and a@9")
		stream(t, s, versionStore{st})
		calls := st.calls()
		require.Equal(t, []string{"Bookmark @8", "version 8", "Add a@9", "version 9"}, calls[max(0, len(calls)-4):],
			"the last 4 calls of the store")
	})
}

func TestTask7_Empty_stream_is_an_empty_list(t *testing.T) {
	const rule = "An empty list goes into the store too. A stream with a bookmark and no object is an empty list."
	bonus(t, rule, func(t *guard.T) {
		w := newStreaming(t).run()
		require.Equal(t, []string{"Replace [] @1"}, w.store.calls(), "calls of the store")
	})
}

func TestTask7_Broken_stream_leaves_no_trace(t *testing.T) {
	bonus(t, "The store receives nothing of a stream that did not reach its bookmark. Half a list would delete the "+
		"other half.", func(t *guard.T) {
		w := newStreaming(t, "a", "b")
		w.script("breaks the first stream after the first event", "watch", fakeapi.Cut(1300))
		w.run()
		w.pass(2 * time.Minute)
		require.Equal(t, []string{"Replace [a@2 b@3] @3"}, w.store.calls(), "calls of the store")
		t.Rule("If a stream ends before its bookmark, a new stream starts after the back-off.")
		require.Equal(t, []string{"watch@newest", "watch@newest"}, w.requests(), "requests to the server")
	})
}

func TestTask7_Outage_resumes_without_a_list(t *testing.T) {
	bonus(t, "If the server refuses connections or has too much to do (429), the next watch starts after the "+
		"back-off, at the last version. No list and no stream is due.", func(t *guard.T) {
		w := newStreaming(t, "a").run()
		w.pass(time.Minute)
		w.store.calls()
		w.did("the server goes away for five minutes; meanwhile b is created")
		w.server.Down()
		w.pass(5 * time.Minute)
		w.server.Create(deployment("b"))
		w.server.Up()
		w.pass(2 * time.Minute)
		require.Equal(t, []string{"Add b@3"}, w.store.calls(), "calls of the store after the outage")
		require.Equal(t, []string{"watch@newest", "watch@2"}, w.requests(), "requests to the server")

		s := &script{}
		s.watches = append(s.watches, s.sends(allOfIt("7"), failing(busy)), watchFails(busy), watchFails(errRefused),
			s.sends(failing(busy)), s.sends())
		t.Did("a stream comes to 7 and brings 429; the next three watches are answered 429, refused, and bring 429")
		runFor(t, newReflector(streaming{s}, &store{}), time.Hour)
		require.Equal(t, []string{"watch@", "watch@7", "watch@7", "watch@7", "watch@7"}, s.requests(),
			"requests to the source")
		for i, options := range s.options[1:] {
			require.Nil(t, options.SendInitialEvents, "sendInitialEvents of request %d", i+2)
		}
	})
}

func TestTask7_Gone_watch_makes_a_stream_due(t *testing.T) {
	bonus(t, "ListAndWatchWithContext calls streamList first, on every call, if r.streams. A watch that gets 410 "+
		"makes a new stream due.", func(t *guard.T) {
		w := newStreaming(t, "a", "b").run()
		w.pass(time.Minute)
		w.store.calls()
		w.did("an outage, in which b is deleted and the history forgotten")
		w.server.Down()
		w.server.Delete(deployment("b"))
		w.server.Compact()
		w.server.Up()
		w.pass(3 * time.Minute)
		require.Equal(t, []string{"Replace [a@2] @4"}, w.store.calls(), "calls of the store after the outage")
		t.Rule("A stream asks for the last version, or for none before the first list.")
		require.Equal(t, []string{"watch@newest", "watch@3", "watch@3"}, w.requests(), "requests to the server")
		t.Rule("ListAndWatchWithContext calls streamList first, on every call, if r.streams.")
		require.Equal(t, "true", w.server.Requests("watch")[2].Query.Get("sendInitialEvents"),
			"sendInitialEvents of the 3rd watch")
	})
}

// allOfIt is the bookmark that ends the initial events.
func allOfIt(version string) watch.Event { return endOf(version, "true") }

// endOf is a bookmark with the annotation of the initial events.
func endOf(version, value string) watch.Event {
	e := event(watch.Bookmark, "", version)
	e.Object.(*appsv1.Deployment).Annotations = map[string]string{metav1.InitialEventsAnnotationKey: value}
	return e
}

// stream runs a Reflector for ten minutes, on a script that can stream lists.
func stream(t *guard.T, s *script, st cache.ReflectorStore) {
	t.Did("RunWithContext")
	runFor(t, reflector.NewReflector(streaming{s}, &appsv1.Deployment{}, st, 0), 10*time.Minute)
}

func TestTask7_Half_a_stream_has_no_version(t *testing.T) {
	bonus(t, "No version before the bookmark counts. The events before it are in no order: a stream from version 6 "+
		"would leave out b@2.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.watches = append(s.watches,
			s.ends(event(watch.Added, "a", "5"), event(watch.Modified, "a", "6"), event(watch.Added, "c", "4"),
				event(watch.Bookmark, "", "6")),
			s.sends(event(watch.Added, "a", "6"), event(watch.Added, "b", "2"), allOfIt("7")))
		t.Did("the first stream sends a@5, a@6, c@4, a bookmark, and ends; then c is deleted; the second stream sends a@6, " +
			"b@2 and the bookmark of version 7")
		stream(t, s, versionStore{st})
		require.Equal(t, []string{"watch@", "watch@"}, s.requests(), "requests to the source")
		t.Rule("The store receives nothing of a stream that did not reach its bookmark. The next stream brings all objects " +
			"that are still there.")
		calls := slices.DeleteFunc(st.calls(), func(call string) bool { // a design may pass on the last bookmark, too
			return call == "Bookmark @7" || call == "version 7"
		})
		require.Equal(t, []string{"Replace [a@6 b@2] @7"}, calls, "calls of the store")
	})
}

func TestTask7_What_changes_during_the_stream(t *testing.T) {
	bonus(t, "The bookmark that ends a streamed list has the annotation InitialEventsAnnotationKey, with the "+
		"value true. The store receives the objects as they are then.", func(t *guard.T) {
		s, st := &script{}, &store{}
		annotated, changed := allOfIt("6"), allOfIt("6")
		annotated.Type, changed.Type = watch.Added, watch.Modified
		annotated.Object.(*appsv1.Deployment).Name, changed.Object.(*appsv1.Deployment).Name = "copy", "copy"
		s.watches = append(s.watches, s.sends(event(watch.Added, "a", "2"), event(watch.Added, "b", "3"),
			event(watch.Modified, "a", "4"), event(watch.Deleted, "b", "5"), event(watch.Bookmark, "", "5"),
			in("other", event(watch.Added, "a", "6")), in("defaul", event(watch.Added, "ta", "6")), endOf("6", "false"),
			endOf("6", "True"), endOf("6", "1"), endOf("6", ""), annotated, changed, event(watch.Added, "c", "6"),
			allOfIt("6")))
		t.Did("during the stream a is changed and b is deleted; bookmarks without the annotation, and with \"false\" or " +
			"\"True\", come before c, and so does an object with the annotation")
		stream(t, s, st)
		require.Equal(t, []string{"Replace [a@4 c@6 copy@6 defaul/ta@6 other/a@6] @6"}, st.calls(), "calls of the store")
	})
}

func TestTask7_List_after_a_refused_stream(t *testing.T) {
	bonus(t, "After a refused version, lists ask for no version until one has succeeded. It may be a stream that was "+
		"refused.", func(t *guard.T) {
		s := &script{}
		s.watches = append(s.watches, s.sends(allOfIt("7"), expiredEvent()), watchFails(errExpired), watchFails(invalid),
			s.sends())
		s.lists = append(s.lists, lists("9"))
		r := newReflector(streaming{s}, &store{})
		var versions []string
		s.onRequest = func(string) { versions = append(versions, r.LastSyncResourceVersion()) }
		t.Did("RunWithContext; a stream comes to 7 and gets 410; the stream at 7 is refused, and the next one is invalid")
		runFor(t, r, 10*time.Minute)
		require.Equal(t, []string{"watch@", "watch@7", "watch@", "list@", "watch@9"}, s.requests(), "requests to the source")
		t.Rule("LastSyncResourceVersion returns the version of the last list, event or bookmark that the store has " +
			"received. A refusal does not change the store.")
		require.Equal(t, []string{"", "7", "7", "7", "9"}, versions, "LastSyncResourceVersion at each request")
	})
}

func TestTask7_Resync_goes_on_after_a_stream(t *testing.T) {
	bonus(t, "resync calls the store's Resync once each resyncPeriod, until the context ends. It does so after a "+
		"streamed list too.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.watches = append(s.watches, s.sends(allOfIt("7")))
		r := reflector.NewReflector(streaming{s}, &appsv1.Deployment{}, st, time.Minute)
		t.Did("RunWithContext with a resync period of a minute; a stream comes to its bookmark")
		runFor(t, r, 150*time.Second)
		require.Equal(t, []string{"Replace [] @7", "Resync", "Resync"}, st.calls(), "calls of the store in 2.5 minutes")

		t.Rule("resync calls the store's Resync once each resyncPeriod, until the context ends. Before the first list " +
			"the store has nothing to go over.")
		c := s.channel(event(watch.Added, "a", "2"))
		s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) { return c, nil })
		time.AfterFunc(10*time.Minute, func() { c.send(allOfIt("7")) })
		r = reflector.NewReflector(streaming{s}, &appsv1.Deployment{}, st, time.Minute)
		t.Did("the same with a stream whose bookmark comes after ten minutes")
		runFor(t, r, 12*time.Minute+30*time.Second)
		require.Equal(t, []string{"Replace [a@2] @7", "Resync", "Resync"}, st.calls(), "calls of the store")

		t.Rule("resync calls the store's Resync once each resyncPeriod, until the context ends. It does so after a list " +
			"that comes instead of a stream too.")
		s.lists, s.watches = append(s.lists, lists("7")), append(s.watches, watchFails(invalid))
		r = reflector.NewReflector(streaming{s}, &appsv1.Deployment{}, st, time.Minute)
		t.Did("RunWithContext with a resync period of a minute; the stream is answered: %v", invalid)
		runFor(t, r, 150*time.Second)
		require.Equal(t, []string{"Replace [] @7", "Resync", "Resync"}, st.calls(), "calls of the store in 2.5 minutes")
	})
}

func TestTask7_Other_types_in_a_stream_are_left_out(t *testing.T) {
	bonus(t, "Objects of other types, and events of unknown types, are left out. A stream may bring such objects "+
		"too.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.watches = append(s.watches, s.sends(replicaSet("r", "2"), event(watch.Added, "a", "3"),
			watch.Event{Type: "RENAMED", Object: deployment("b")}, allOfIt("7")))
		t.Did("a Reflector for Deployments; a stream brings a ReplicaSet, a Deployment and an event of type RENAMED")
		stream(t, s, st)
		require.Equal(t, []string{"Replace [a@3] @7"}, st.calls(), "calls of the store")
	})
}

func TestTask7_Stream_that_brings_an_error_is_listed(t *testing.T) {
	bonus(t, "If streamList returns any other error, a list follows. An ERROR event that is neither 429 nor a refusal "+
		"of the version is such an error.", func(t *guard.T) {
		for _, c := range []struct {
			what   string
			object runtime.Object
		}{
			{"an internal error", &internal.ErrStatus},
			{"503", &unavailable.ErrStatus},
			{"ServerTimeout", &apierrors.NewServerTimeout(schema.GroupResource{}, "watch", 1).ErrStatus},
			{"Timeout", &apierrors.NewTimeoutError("slow", 1).ErrStatus},
			{"an ERROR that is not a Status", deployment("a")},
		} {
			t.Story(8)
			s, st := &script{}, &store{}
			s.lists = append(s.lists, lists("8", "a"))
			s.watches = append(s.watches, s.sends(event(watch.Added, "a", "2"),
				watch.Event{Type: watch.Error, Object: c.object}))
			t.Did("a stream brings an object, and then %s", c.what)
			stream(t, s, st)
			require.Equal(t, []string{"watch@", "list@0", "watch@8"}, s.requests(), "requests to the source")
			require.Equal(t, []string{"Replace [a@1] @8"}, st.calls(), "calls of the store")
		}

		t.Rule("If streamList returns any other error, a list follows. MaxInternalErrorRetryDuration is for watches: the " +
			"one that goes on after the bookmark is such a watch.")
		s := &script{}
		s.lists = append(s.lists, lists("8"))
		ends := failing(internal)
		s.watches = append(s.watches, s.sends(event(watch.Added, "a", "2"), ends), s.sends(expiredEvent()),
			s.sends(allOfIt("9"), ends), s.sends())
		r := newReflector(streaming{s}, &store{})
		r.MaxInternalErrorRetryDuration = time.Minute
		t.Did("MaxInternalErrorRetryDuration 1m0s; a stream brings an internal error before its bookmark; the watch after " +
			"the list brings 410; the next stream brings an internal error after its bookmark")
		runFor(t, r, 10*time.Minute)
		want := []string{"watch@", "list@0", "watch@8", "watch@8", "watch@9"}
		require.Equal(t, want, s.requests(), "requests to the source")
		require.Nil(t, s.options[4].SendInitialEvents, "sendInitialEvents of the 5th request")
	})
}
