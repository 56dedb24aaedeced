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

// begun is for guard.Bonus: it meets the hole of the bonus task. As long as nobody calls that, it says so itself.
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

// streaming is a source that can list by a watch.
type streaming struct{ cache.ListerWatcher }

// newStreaming is newWorld with a source that can list by a watch.
func newStreaming(t *guard.T, names ...string) *world {
	w := newWorld(t, names...)
	w.r = reflector.NewReflector(w.source(), &appsv1.Deployment{}, w.store, 0)
	return w
}

func TestTask7_List_comes_as_a_watch(t *testing.T) {
	guard.Bonus(t, begun)
	guard.Test(t, "the store hears of it when all of it is there, as of a list", func(t *guard.T) {
		w := newStreaming(t, "a", "b").run()
		require.Equal(t, []string{"Replace [a@2 b@3] @3"}, w.store.calls())
		t.Rule("the version of the bookmark")
		require.Equal(t, "3", w.r.LastSyncResourceVersion())
		t.Rule("one request, and no list")
		require.Equal(t, []string{"watch@newest"}, w.asked())
		q := w.server.Requests("watch")[0].Query
		t.Rule("that is how it is asked for")
		require.Equal(t, []string{"true", "NotOlderThan", "true"}, []string{q.Get("sendInitialEvents"), q.Get("resourceVersionMatch"), q.Get("allowWatchBookmarks")})
		w.create("c")
		synctest.Wait()
		t.Rule("what comes behind the bookmark is in order, ADDED as well")
		require.Equal(t, "4", w.r.LastSyncResourceVersion())
		w.remove("a")
		t.Rule("the same watch goes on")
		require.Equal(t, []string{"Add c@4", "Delete a@5"}, w.store.calls())
		require.Equal(t, []string{"watch@newest"}, w.asked())
	})
}

func TestTask7_Nothing_is_there_too(t *testing.T) {
	guard.Bonus(t, begun)
	guard.Test(t, "a bookmark at once: there is nothing", func(t *guard.T) {
		w := newStreaming(t).run()
		require.Equal(t, []string{"Replace [] @1"}, w.store.calls())
	})
}

func TestTask7_Broken_stream_leaves_no_trace(t *testing.T) {
	guard.Bonus(t, begun)
	guard.Test(t, "half a list in the store would be a deletion of the other half; and what came in the first "+
		"attempt may be gone in the second", func(t *guard.T) {
		w := newStreaming(t, "a", "b")
		w.script("breaks the first stream behind the first event", "watch", fakeapi.Cut(1300))
		w.run()
		w.pass(2 * time.Minute)
		require.Equal(t, []string{"Replace [a@2 b@3] @3"}, w.store.calls())
		t.Rule("it begins anew")
		require.Equal(t, []string{"watch@newest", "watch@newest"}, w.asked())
	})
}

func TestTask7_Outage_resumes_without_a_list(t *testing.T) {
	guard.Bonus(t, begun)
	guard.Test(t, "the watch goes on where it was", func(t *guard.T) {
		w := newStreaming(t, "a").run()
		w.pass(time.Minute)
		w.store.calls()
		w.did("the server goes away for five minutes")
		w.server.Down()
		w.pass(5 * time.Minute)
		w.server.Create(deployment("b"))
		w.server.Up()
		w.pass(2 * time.Minute)
		require.Equal(t, []string{"Add b@3"}, w.store.calls())
		t.Rule("an ordinary watch, from the last version")
		require.Equal(t, []string{"watch@newest", "watch@2"}, w.asked())
	})
}

func TestTask7_Gone_watch_is_streamed_anew(t *testing.T) {
	guard.Bonus(t, begun)
	guard.Test(t, "a new stream, and the store is made equal to it", func(t *guard.T) {
		w := newStreaming(t, "a", "b").run()
		w.pass(time.Minute)
		w.store.calls()
		w.did("an outage, in which b is deleted and the history forgotten")
		w.server.Down()
		w.server.Delete(deployment("b"))
		w.server.Compact()
		w.server.Up()
		w.pass(3 * time.Minute)
		require.Equal(t, []string{"Replace [a@2] @4"}, w.store.calls())
		t.Rule("the second stream asks for what is not older than the last version")
		require.Equal(t, []string{"watch@newest", "watch@3", "watch@3"}, w.asked())
		t.Rule("it is a stream")
		require.Equal(t, "true", w.server.Requests("watch")[2].Query.Get("sendInitialEvents"))
	})
}

func TestTask7_Refused_version_is_given_up(t *testing.T) {
	guard.Bonus(t, begun)
	guard.Test(t, "a version that the server does not have is refused again and again; without one it gives the "+
		"newest", func(t *guard.T) {
		w := newStreaming(t, "a").run()
		w.pass(time.Minute)
		w.store.calls()
		w.script("ends the watch with 410, and refuses the next stream with 410", "watch", fakeapi.Event(410), fakeapi.Answer(410, ""))
		w.server.EndWatches()
		w.pass(3 * time.Minute)
		require.Equal(t, []string{"watch@newest", "watch@2", "watch@2", "watch@newest"}, w.asked())
		t.Rule("and all is well")
		require.Equal(t, []string{"Replace [a@2] @2"}, w.store.calls())
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
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	t.Did("RunWithContext")
	reflector.NewReflector(streaming{s}, &appsv1.Deployment{}, st, 0).RunWithContext(ctx)
}

func TestTask7_Version_of_half_a_stream_is_none(t *testing.T) {
	guard.Bonus(t, begun)
	guard.Test(t, "what comes before the bookmark is in no order, so no version in it says what is behind it: "+
		"from 6 on, b would never come", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.watches = append(s.watches,
			s.ends(event(watch.Added, "a", "5"), event(watch.Modified, "a", "6")),
			s.tells(event(watch.Added, "a", "6"), event(watch.Added, "b", "2"), allOfIt("7")))
		stream(t, s, st)
		require.Equal(t, []string{"watch@", "watch@"}, s.requests())
		t.Rule("all of it, as of the bookmark")
		require.Equal(t, []string{"Replace [a@6 b@2] @7"}, st.calls())
	})
}

func TestTask7_Store_that_refuses_a_stream_gets_a_list(t *testing.T) {
	guard.Bonus(t, begun)
	guard.Test(t, "what the store has not taken it does not have; a watch from there on would miss it", func(t *guard.T) {
		s, refused := &script{}, false
		st := &store{onCall: func(string) error {
			if refused {
				return nil
			}
			refused = true
			return errors.New("not this one")
		}}
		s.lists, s.watches = append(s.lists, lists("8", "a")), append(s.watches, s.tells(event(watch.Added, "a", "1"), allOfIt("7")))
		stream(t, s, st)
		require.Equal(t, []string{"watch@", "list@0", "watch@8"}, s.requests())
		t.Rule("the list it takes")
		require.Equal(t, []string{"Replace [a@1] @7", "Replace [a@1] @8"}, st.calls())
	})
}

func TestTask7_What_changes_during_the_stream(t *testing.T) {
	guard.Bonus(t, begun)
	guard.Test(t, "a stream of events, and the store gets what they come to; only a bookmark with the annotation "+
		"ends it", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.watches = append(s.watches, s.tells(event(watch.Added, "a", "2"), event(watch.Added, "b", "3"), event(watch.Modified, "a", "4"), event(watch.Deleted, "b", "5"),
			event(watch.Bookmark, "", "5"), event(watch.Added, "c", "6"), allOfIt("6")))
		t.Did("while the stream tells what there is, a is changed and b is deleted, and a bookmark comes that does not say that this was all")
		stream(t, s, st)
		require.Equal(t, []string{"Replace [a@4 c@6] @6"}, st.calls())
	})
}

func TestTask7_Version_is_used_again_after_a_good_stream(t *testing.T) {
	guard.Bonus(t, begun)
	guard.Test(t, "one refusal is no reason to ask for the newest for ever: that is the dearest there is", func(t *guard.T) {
		s := &script{}
		s.watches = append(s.watches, s.tells(allOfIt("7"), failing(errExpired)), watchFails(errExpired), s.tells(allOfIt("8"), failing(errExpired)), s.tells(allOfIt("9")))
		t.Did("a stream comes to 7 and is told 410; the stream at 7 is refused; the one behind it comes to 8 and is told 410")
		stream(t, s, &store{})
		require.Equal(t, []string{"watch@", "watch@7", "watch@", "watch@8"}, s.requests())
	})
}

func TestTask7_Server_that_refuses_connections_is_tried_again(t *testing.T) {
	guard.Bonus(t, begun)
	guard.Test(t, "nobody has said that this server cannot stream", func(t *guard.T) {
		s, st := &script{}, &store{}
		refused := watchFails(fmt.Errorf("dial: %w", syscall.ECONNREFUSED))
		s.watches = append(s.watches, refused, refused, s.tells(event(watch.Added, "a", "2"), allOfIt("2")))
		t.Did("the server refuses two connections")
		stream(t, s, st)
		require.Equal(t, []string{"watch@", "watch@", "watch@"}, s.requests())
		t.Rule("and all is well")
		require.Equal(t, []string{"Replace [a@2] @2"}, st.calls())
	})
}

func TestTask7_Server_that_cannot_stream_is_listed(t *testing.T) {
	guard.Bonus(t, begun)
	guard.Test(t, "a list does as well", func(t *guard.T) {
		w := newStreaming(t, "a")
		w.script("refuses the stream as invalid, as servers do that know of streams and have them switched off", "watch", fakeapi.Answer(422, ""))
		w.run()
		require.Equal(t, []string{"watch@newest", "list@0", "watch@2"}, w.asked())
		require.Equal(t, []string{"Replace [a@2] @2"}, w.store.calls())
	})
}

func TestTask7_Busy_server_is_tried_again(t *testing.T) {
	guard.Bonus(t, begun)
	guard.Test(t, "a server that is too busy for a stream is too busy for a list", func(t *guard.T) {
		w := newStreaming(t, "a")
		w.script("answers the first two streams with 429", "watch", fakeapi.Times(2, fakeapi.Answer(429, ""))...)
		w.run()
		w.pass(time.Minute)
		require.Equal(t, []string{"watch@newest", "watch@newest", "watch@newest"}, w.asked())
		r := w.server.Requests("watch")
		t.Rule("after the back-off")
		require.GreaterOrEqual(t, r[1].Time.Sub(r[0].Time), 800*time.Millisecond)
		t.Rule("and all is well")
		require.Equal(t, []string{"Replace [a@2] @2"}, w.store.calls())
	})
}

func TestTask7_Cancel_during_a_stream_is_prompt(t *testing.T) {
	guard.Bonus(t, begun)
	guard.Test(t, "a program that ends does not wait for streams", func(t *guard.T) {
		w := newStreaming(t, "a")
		w.script("sends the stream a byte a second", "watch", fakeapi.SlowBody(1, time.Second))
		w.run()
		w.pass(time.Minute)
		w.did("the context is cancelled")
		start := time.Now()
		w.stop()
		<-w.ended
		require.Zero(t, time.Since(start))
		t.Rule("half a list is none")
		require.Empty(t, w.store.calls())
		t.Rule("and the server sees that nobody listens")
		require.Equal(t, 0, w.server.Watches())
	})
}
