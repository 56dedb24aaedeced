package reflector_test

// Task 6: bookmarks.

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask6_Bookmark_moves_the_version(t *testing.T) {
	guard.Test(t, "A bookmark moves the version: the Reflector has seen everything up to this one.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.sends(event(watch.Added, "a", "8"), event(watch.Bookmark, "", "20")))
		t.Did("the watch sends a@8 and a bookmark of version 20")
		r, _ := once(t, s, st)
		require.Equal(t, "20", r.LastSyncResourceVersion(), "LastSyncResourceVersion after the bookmark")
		t.Rule("A bookmark is not an object for the store.")
		require.Equal(t, []string{"Replace [] @7", "Add a@8"}, st.calls(), "calls of the store")
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
		t.Rule("A watch that ends is resumed at the bookmark. At the version of the list it would get 410, and a list " +
			"would be due.")
		w.did("the server forgets the history, and ends the watch")
		w.server.Compact()
		w.server.EndWatches()
		w.create("b")
		require.Len(t, w.store.calls(), 1, "calls of the store from the resumed watch")
		require.Equal(t, 1, len(w.server.Requests("list")), "lists")
	})
}

func TestTask6_Store_that_wants_to_know_is_told(t *testing.T) {
	guard.Test(t, "A cache.ReflectorBookmarkStore receives each bookmark. A cache.ResourceVersionUpdater receives each "+
		"version that an event brings, after the call for that event.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.sends(event(watch.Added, "a", "8"), event(watch.Bookmark, "", "20"),
			event(watch.Deleted, "a", "21")))
		t.Did("a store with Bookmark and UpdateResourceVersion; the watch sends a@8, a bookmark of version 20, and a@21")
		listAndWatchFor(t, newScripted(s, versionStore{st}), time.Minute)
		require.Equal(t, []string{
			"Replace [] @7", "Add a@8", "version 8", "Bookmark @20", "version 20", "Delete a@21", "version 21",
		}, st.calls(), "calls of the store")
	})
}

func TestTask6_Bookmark_ends_the_synthetic_events(t *testing.T) {
	guard.Test(t, "A watch without a version first sends the current objects as ADDED, in any order. A bookmark ends "+
		"that, and each later event moves the version.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists(""))
		s.watches = append(s.watches, s.sends(event(watch.Added, "c", "9"), event(watch.Added, "a", "3"),
			event(watch.Bookmark, "", "9"), event(watch.Added, "d", "12")))
		t.Did("the list has no version; the watch sends c@9, a@3, a bookmark of version 9, and d@12")
		r, _ := once(t, s, &store{})
		require.Equal(t, "12", r.LastSyncResourceVersion(), "LastSyncResourceVersion after d@12")
	})
}
