package reflector_test

// Task 6: bookmarks.

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/03-reflector"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask6_Bookmark_moves_the_version(t *testing.T) {
	guard.Test(t, "A bookmark moves the version. It says that the watch has sent every event up to this "+
		"version.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.sends(event(watch.Added, "a", "8"), event(watch.Bookmark, "", "20")))
		t.Did("the watch sends a@8 and a bookmark of version 20")
		r, _ := once(t, s, st)
		require.Equal(t, "20", r.LastSyncResourceVersion(), "LastSyncResourceVersion after the bookmark")
		t.Rule("A bookmark is not an object for the store.")
		require.Equal(t, []string{"Replace [] @7", "Add a@8"}, st.calls(), "calls of the store")
		t.Rule("The Reflector does not compare versions, so a bookmark moves it to any.")
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.sends(event(watch.Bookmark, "", "20"), event(watch.Bookmark, "", "3")))
		t.Did("the watch of the next Reflector sends bookmarks of the versions 20 and 3")
		r, _ = once(t, s, st)
		require.Equal(t, "3", r.LastSyncResourceVersion(), "LastSyncResourceVersion after the bookmarks")

		t.Rule("A bookmark moves the version. It does so if the Reflector accepts objects of any type, too.")
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.sends(event(watch.Bookmark, "", "20")))
		r = reflector.NewReflector(s, nil, st, 0)
		t.Did("the watch of a Reflector whose expected type is nil sends a bookmark of version 20")
		listAndWatchFor(t, r, time.Minute)
		require.Equal(t, "20", r.LastSyncResourceVersion(), "LastSyncResourceVersion after the bookmark")
	})
}

func TestTask6_Watch_resumes_at_the_bookmark(t *testing.T) {
	guard.Test(t, "A bookmark is not an object for the store.", func(t *guard.T) {
		w := newWorld(t, "a").run()
		w.pass(30 * time.Second)
		w.did("a hundred other objects change, which this Reflector does not watch; the server sends a bookmark")
		for i := range 100 {
			other := metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("other-", i)}
			w.server.Create(&corev1.ConfigMap{ObjectMeta: other})
		}
		w.store.calls()
		w.server.SendBookmarks()
		require.Empty(t, w.store.calls(), "calls of the store for the bookmark")
		t.Rule("A bookmark moves the version. The next watch starts there; at the version of the list it would get 410, " +
			"and a list would be due.")
		w.did("the server forgets the history, and ends the watch")
		w.server.Compact()
		w.server.EndWatches()
		w.create("b")
		require.Len(t, w.store.calls(), 1, "calls of the store from the resumed watch")
		require.Equal(t, 1, len(w.server.Requests("list")), "lists")
	})
}

func TestTask6_Store_receives_bookmarks_and_versions(t *testing.T) {
	guard.Test(t, "applyBookmark passes the version of a bookmark to a store that implements "+
		"cache.ReflectorBookmarkStore.", func(t *guard.T) {
		s, st, reported := &script{}, &store{}, countErrors(t)
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.sends(event(watch.Added, "a", "8"), event(watch.Bookmark, "", "20"),
			event(watch.Modified, "a", "21"), event(watch.Deleted, "a", "22")))
		t.Did("a store with Bookmark and UpdateResourceVersion refuses each event; the watch sends a@8, a bookmark of " +
			"version 20, the change a@21 and the deletion a@22")
		r := newScripted(s, versionStore{st})
		var seen []string
		st.onCall = func(call string) error {
			seen = append(seen, r.LastSyncResourceVersion())
			return refuseEventsWith(io.EOF)(call) // which is also how a watch ends
		}
		listAndWatchFor(t, r, time.Minute)
		calls := st.calls()
		require.Contains(t, calls, "Bookmark @20", "calls of the store")
		t.Rule("A store that implements cache.ResourceVersionUpdater receives the version whenever an event has moved " +
			"it, after the call for that event. It receives the version even if the store has refused the event.")
		require.Equal(t, []string{
			"Replace [] @7", "Add a@8", "version 8", "Bookmark @20", "version 20", "Update a@21", "version 21", "Delete a@22",
			"version 22",
		}, calls, "calls of the store")
		t.Rule("The version moves only after the store has received the list or event. UpdateResourceVersion comes when an " +
			"event has moved it.")
		require.Equal(t, []string{"", "7", "8", "8", "20", "20", "21", "21", "22"}, seen,
			"LastSyncResourceVersion during each of these calls")
		t.Rule("An error of the store is reported with utilruntime.HandleErrorWithContext: that of a bookmark too.")
		require.GreaterOrEqual(t, reported.Load(), int64(4), "errors that were reported with the caller's context")
	})
}

// bookmarkStore is a store that receives bookmarks, and no versions. versionOnlyStore is the opposite.
type (
	bookmarkStore    struct{ *store }
	versionOnlyStore struct{ *store }
)

func (s bookmarkStore) Bookmark(version string) error           { return s.note("Bookmark @%s", version) }
func (s versionOnlyStore) UpdateResourceVersion(version string) { s.note("version %s", version) }

func TestTask6_Store_may_want_only_one_of_them(t *testing.T) {
	guard.Test(t, "A store that implements one of the two interfaces, cache.ReflectorBookmarkStore and "+
		"cache.ResourceVersionUpdater, receives the calls of that one.", func(t *guard.T) {
		st := &store{}
		for _, c := range []struct {
			store    cache.ReflectorStore
			bookmark string
			want     []string
		}{
			{bookmarkStore{st}, "20", []string{"Replace [] @7", "Add a@8", "Bookmark @20"}},
			{bookmarkStore{st}, "8", []string{"Replace [] @7", "Add a@8", "Bookmark @8"}}, // it receives each bookmark
			{versionOnlyStore{st}, "20", []string{"Replace [] @7", "Add a@8", "version 8", "version 20"}},
		} {
			s := &script{}
			s.lists = append(s.lists, lists("7"))
			s.watches = append(s.watches, s.sends(event(watch.Added, "a", "8"), event(watch.Bookmark, "", c.bookmark)))
			t.Did("a store of type %T; the watch sends a@8 and a bookmark of version %s", c.store, c.bookmark)
			once(t, s, c.store)
			require.Equal(t, c.want, st.calls(), "calls of the store")
		}

		t.Rule("A cache.ReflectorBookmarkStore receives each bookmark, and each moves the version, whatever its " +
			"annotations are. The watch goes on.")
		s := &script{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.sends(event(watch.Added, "a", "8"), allOfIt("20")))
		t.Did("the watch sends a@8, and a bookmark of version 20 with the annotation %s", metav1.InitialEventsAnnotationKey)
		r, _ := once(t, s, bookmarkStore{st})
		require.Equal(t, []string{"Replace [] @7", "Add a@8", "Bookmark @20"}, st.calls(), "calls of the store")
		require.Equal(t, []string{"list@0", "watch@7"}, s.requests(), "requests to the source")
		require.Equal(t, "20", r.LastSyncResourceVersion(), "LastSyncResourceVersion after the bookmark")
	})
}

func TestTask6_Bookmark_ends_the_synthetic_events(t *testing.T) {
	guard.Test(t, "After a watch without a version has started, the first event that is not ADDED moves the version, "+
		"and each event after it. A bookmark is such an event.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists(""))
		s.watches = append(s.watches, s.sends(event(watch.Added, "c", "9"), event(watch.Added, "a", "3"),
			event(watch.Bookmark, "", "9"), event(watch.Added, "d", "12")))
		t.Did("the list has no version; the watch sends c@9, a@3, a bookmark of version 9, and d@12")
		st := &store{}
		r, _ := once(t, s, versionStore{st})
		require.Equal(t, "12", r.LastSyncResourceVersion(), "LastSyncResourceVersion after d@12")
		t.Rule("A store that implements cache.ResourceVersionUpdater receives the version whenever an event has moved " +
			"it, after the call for that event. Events that do not move it bring none.")
		require.Equal(t, []string{
			"Replace [] @", "Add c@9", "Add a@3", "Bookmark @9", "version 9", "Add d@12", "version 12",
		}, st.calls(), "calls of the store")
	})
}
