package reflector_test

// Bonus task 7: streaming lists.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/03-reflector"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/todo"
)

// begun calls the function that the bonus asks for; guard.Bonus skips a test as long as it is missing. While
// ListAndWatchWithContext does not call it, begun itself reports it as missing.
func begun() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := &script{}
	s.watches = append(s.watches, noWatch)
	reflector.NewReflector(streaming{s}, &appsv1.Deployment{}, &store{}, 0).ListAndWatchWithContext(ctx)
	if len(s.asked) > 0 && strings.HasPrefix(s.asked[0], "list") {
		panic(todo.Task(7, "Reflector.streamList"))
	}
}

// bonus is guard.Test for a test of the bonus.
func bonus(t *testing.T, rule string, f func(t *guard.T)) {
	t.Helper()
	guard.Bonus(t, begun)
	guard.Test(t, rule, f)
}

// streaming is a source that can list by a watch.
type streaming struct{ cache.ListerWatcher }

// newStreaming is newWorld with a source that can list by a watch.
func newStreaming(t *guard.T, names ...string) *world {
	w := newWorld(t, names...)
	w.r = reflector.NewReflector(w.source(), &appsv1.Deployment{}, w.store, 0)
	return w
}

func TestTask7_List_comes_as_a_watch(t *testing.T) {
	const oneWatch = "A streamed list is one watch: it sends the current objects, a bookmark, and then the changes. " +
		"There is no list."
	bonus(t, "The store receives a streamed list like any list: one Replace, when all of it has come.", func(t *guard.T) {
		w := newStreaming(t, "a", "b").run()
		require.Equal(t, []string{"Replace [a@2 b@3] @3"}, w.store.calls(), "calls of the store for the stream")
		t.Rule("The version of a streamed list is that of the bookmark that ends it.")
		require.Equal(t, "3", w.r.LastSyncResourceVersion(), "LastSyncResourceVersion after the stream")
		t.Rule(oneWatch)
		require.Equal(t, []string{"watch@newest"}, w.requests(), "requests to the server")
		q := w.server.Requests("watch")[0].Query
		asked := fmt.Sprintf("sendInitialEvents=%s resourceVersionMatch=%s allowWatchBookmarks=%s",
			q.Get("sendInitialEvents"), q.Get("resourceVersionMatch"), q.Get("allowWatchBookmarks"))
		t.Rule("A Reflector asks for a stream with sendInitialEvents, resourceVersionMatch and allowWatchBookmarks.")
		require.Equal(t, "sendInitialEvents=true resourceVersionMatch=NotOlderThan allowWatchBookmarks=true", asked,
			"query of the watch")
		w.create("c")
		synctest.Wait()
		t.Rule("The events behind the bookmark are in order, so each moves the version, ADDED as well.")
		require.Equal(t, "4", w.r.LastSyncResourceVersion(), "LastSyncResourceVersion after c@4")
		w.remove("a")
		t.Rule(oneWatch)
		require.Equal(t, []string{"Add c@4", "Delete a@5"}, w.store.calls(), "calls of the store after the stream")
		require.Equal(t, []string{"watch@newest"}, w.requests(), "requests to the server after all events")
	})
}

func TestTask7_Nothing_is_there_too(t *testing.T) {
	bonus(t, "A stream with a bookmark and no object is an empty list, which goes into the store too.", func(t *guard.T) {
		w := newStreaming(t).run()
		require.Equal(t, []string{"Replace [] @1"}, w.store.calls(), "calls of the store")
	})
}

func TestTask7_Broken_stream_leaves_no_trace(t *testing.T) {
	bonus(t, "If the connection breaks before the bookmark, a new stream begins. Nothing of the broken one gets into "+
		"the store: half a list would delete the other half.", func(t *guard.T) {
		w := newStreaming(t, "a", "b")
		w.script("breaks the first stream after the first event", "watch", fakeapi.Cut(1300))
		w.run()
		w.pass(2 * time.Minute)
		require.Equal(t, []string{"Replace [a@2 b@3] @3"}, w.store.calls(), "calls of the store")
		require.Equal(t, []string{"watch@newest", "watch@newest"}, w.requests(), "requests to the server")
	})
}

func TestTask7_Outage_resumes_without_a_list(t *testing.T) {
	bonus(t, "After an outage the watch begins again at the version that the store has: the server has forgotten "+
		"nothing, and no list or stream is due.", func(t *guard.T) {
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
	})
}

func TestTask7_Gone_watch_is_streamed_anew(t *testing.T) {
	bonus(t, "A watch that gets 410 makes a new stream due, which replaces the objects in the store.", func(t *guard.T) {
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
		t.Rule("A stream asks for the last version that was seen: any server can give something that is not older.")
		require.Equal(t, []string{"watch@newest", "watch@3", "watch@3"}, w.requests(), "requests to the server")
		t.Rule("After a 410 streamList is called first, as it is each time.")
		require.Equal(t, "true", w.server.Requests("watch")[2].Query.Get("sendInitialEvents"),
			"sendInitialEvents of the 3rd watch")
	})
}

func TestTask7_Refused_version_is_given_up(t *testing.T) {
	bonus(t, "If the server refuses the version, a stream begins without one. Otherwise the server refuses it again and "+
		"again.", func(t *guard.T) {
		w := newStreaming(t, "a").run()
		w.pass(time.Minute)
		w.store.calls()
		w.script("ends the watch with 410, and refuses the next stream with 410", "watch",
			fakeapi.Event(410), fakeapi.Answer(410, ""))
		w.server.EndWatches()
		w.pass(3 * time.Minute)
		require.Equal(t, []string{"watch@newest", "watch@2", "watch@2", "watch@newest"}, w.requests(),
			"requests to the server")
		require.Equal(t, []string{"Replace [a@2] @2"}, w.store.calls(), "calls of the store from the last stream")
	})
}

// allOfIt is the bookmark that ends the initial events.
func allOfIt(version string) watch.Event {
	e := event(watch.Bookmark, "", version)
	e.Object.(*appsv1.Deployment).Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	return e
}

// stream runs a Reflector on a script that can list by a watch, for ten minutes.
func stream(t *guard.T, s *script, st cache.ReflectorStore) {
	t.Did("RunWithContext")
	runFor(t, reflector.NewReflector(streaming{s}, &appsv1.Deployment{}, st, 0), 10*time.Minute)
}

func TestTask7_Version_of_half_a_stream_is_none(t *testing.T) {
	bonus(t, "No version before the bookmark counts as seen, because the events before it are in no order: a stream "+
		"from version 6 would leave out b@2.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.watches = append(s.watches,
			s.ends(event(watch.Added, "a", "5"), event(watch.Modified, "a", "6")),
			s.sends(event(watch.Added, "a", "6"), event(watch.Added, "b", "2"), allOfIt("7")))
		t.Did("the first stream sends a@5, a@6 and ends; the second one sends a@6, b@2 and the bookmark of version 7")
		stream(t, s, st)
		require.Equal(t, []string{"watch@", "watch@"}, s.requests(), "requests to the source")
		t.Rule("The store receives a streamed list like any list: one Replace, at the version of the bookmark.")
		require.Equal(t, []string{"Replace [a@6 b@2] @7"}, st.calls(), "calls of the store")
	})
}

func TestTask7_Store_that_refuses_a_stream_gets_a_list(t *testing.T) {
	bonus(t, "If Replace fails, streamList stops the watch and returns the error, and a list follows. A watch from "+
		"there on would miss the objects that the store refused.", func(t *guard.T) {
		s, refused := &script{}, false
		st := &store{onCall: func(string) error {
			if refused {
				return nil
			}
			refused = true
			return errors.New("not this one")
		}}
		s.lists = append(s.lists, lists("8", "a"))
		s.watches = append(s.watches, s.sends(event(watch.Added, "a", "1"), allOfIt("7")))
		t.Did("the store refuses the first Replace")
		stream(t, s, st)
		require.Equal(t, []string{"watch@", "list@0", "watch@8"}, s.requests(), "requests to the source")
		require.Equal(t, []string{"Replace [a@1] @7", "Replace [a@1] @8"}, st.calls(), "calls of the store")
	})
}

func TestTask7_What_changes_during_the_stream(t *testing.T) {
	bonus(t, "The store receives the objects as they are at the end of the stream. Only a bookmark with the annotation "+
		"ends it.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.watches = append(s.watches, s.sends(event(watch.Added, "a", "2"), event(watch.Added, "b", "3"),
			event(watch.Modified, "a", "4"), event(watch.Deleted, "b", "5"), event(watch.Bookmark, "", "5"),
			event(watch.Added, "c", "6"), allOfIt("6")))
		t.Did("during the stream a is changed and b is deleted, and a bookmark without the annotation comes before c")
		stream(t, s, st)
		require.Equal(t, []string{"Replace [a@4 c@6] @6"}, st.calls(), "calls of the store")
	})
}

func TestTask7_Version_is_used_again_after_a_good_stream(t *testing.T) {
	bonus(t, "After a good stream, the next one asks for its version again. A stream without a version is the most "+
		"expensive one, and one refusal is no reason for more of them.", func(t *guard.T) {
		s := &script{}
		s.watches = append(s.watches, s.sends(allOfIt("7"), failing(errExpired)), watchFails(errExpired),
			s.sends(allOfIt("8"), failing(errExpired)), s.sends(allOfIt("9")))
		t.Did("a stream comes to 7 and gets 410; the stream at 7 is refused; the next one comes to 8 and gets 410")
		stream(t, s, &store{})
		require.Equal(t, []string{"watch@", "watch@7", "watch@", "watch@8"}, s.requests(), "requests to the source")
	})
}

func TestTask7_Server_that_refuses_connections_is_tried_again(t *testing.T) {
	bonus(t, "If the server refuses connections, streamList begins again: a refused connection does not mean that the "+
		"server cannot stream.", func(t *guard.T) {
		s, st := &script{}, &store{}
		refused := watchFails(fmt.Errorf("dial: %w", syscall.ECONNREFUSED))
		s.watches = append(s.watches, refused, refused, s.sends(event(watch.Added, "a", "2"), allOfIt("2")))
		t.Did("the server refuses two connections")
		stream(t, s, st)
		require.Equal(t, []string{"watch@", "watch@", "watch@"}, s.requests(), "requests to the source")
		require.Equal(t, []string{"Replace [a@2] @2"}, st.calls(), "calls of the store from the 3rd stream")
	})
}

func TestTask7_Server_that_cannot_stream_is_listed(t *testing.T) {
	bonus(t, "If streamList returns an error, this server cannot stream, and a list follows.", func(t *guard.T) {
		w := newStreaming(t, "a")
		w.script("refuses the stream as invalid, as servers do that have streams switched off", "watch",
			fakeapi.Answer(422, ""))
		w.run()
		require.Equal(t, []string{"watch@newest", "list@0", "watch@2"}, w.requests(), "requests to the server")
		require.Equal(t, []string{"Replace [a@2] @2"}, w.store.calls(), "calls of the store")
	})
}

func TestTask7_Busy_server_is_tried_again(t *testing.T) {
	bonus(t, "A server that is too busy for a stream (429) is too busy for a list: the stream begins again after the "+
		"back-off.", func(t *guard.T) {
		w := newStreaming(t, "a")
		w.script("answers the first two streams with 429", "watch", fakeapi.Times(2, fakeapi.Answer(429, ""))...)
		w.run()
		w.pass(time.Minute)
		require.Equal(t, []string{"watch@newest", "watch@newest", "watch@newest"}, w.requests(), "requests to the server")
		r := w.server.Requests("watch")
		require.GreaterOrEqual(t, r[1].Time.Sub(r[0].Time), 800*time.Millisecond, "wait after the first 429")
		require.Equal(t, []string{"Replace [a@2] @2"}, w.store.calls(), "calls of the store from the 3rd stream")
	})
}

func TestTask7_Cancel_during_a_stream_is_prompt(t *testing.T) {
	bonus(t, "A context that ends ends everything at once, and nothing is left: a program that stops does not wait for "+
		"streams.", func(t *guard.T) {
		w := newStreaming(t, "a")
		w.script("sends the stream a byte a second", "watch", fakeapi.SlowBody(1, time.Second))
		w.run()
		w.pass(time.Minute)
		w.did("the context is cancelled")
		start := time.Now()
		w.stop()
		<-w.ended
		require.Equal(t, time.Duration(0), time.Since(start), "time until RunWithContext returned")
		t.Rule("Nothing of a stream that did not get to its bookmark gets into the store.")
		require.Empty(t, w.store.calls(), "calls of the store")
		t.Rule("A context that ends ends everything at once, and nothing is left.")
		require.Equal(t, 0, w.server.Watches(), "open watches after the end")
	})
}
