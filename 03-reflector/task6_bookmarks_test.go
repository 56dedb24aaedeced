package reflector_test

// Task 6: bookmarks.

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	reflector "client-go-workshop/03-reflector"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask6_Bookmark_moves_the_version(t *testing.T) {
	guard.Test(t, "nothing up to version 20 is about what this Reflector watches: so it has seen everything up to "+
		"there", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.tells(event(watch.Added, "a", "8"), event(watch.Bookmark, "", "20")))
		r, _ := once(t, s, st)
		require.Equal(t, "20", r.LastSyncResourceVersion())
		t.Rule("a bookmark is no object, and nothing for a store that does not ask for it")
		require.Equal(t, []string{"Replace [] @7", "Add a@8"}, st.calls())
	})
}

func TestTask6_Watch_resumes_at_the_bookmark(t *testing.T) {
	guard.Test(t, "a bookmark is no object", func(t *guard.T) {
		w := newWorld(t, "a").run()
		w.pass(30 * time.Second)
		w.did("a hundred other objects change, of which this Reflector hears nothing; a bookmark comes; the history is forgotten, and the watch ends")
		for i := range 100 {
			w.server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("other-", i)}})
		}
		w.store.calls()
		w.server.SendBookmarks()
		require.Empty(t, w.store.calls())
		w.server.Compact()
		w.server.EndWatches()
		w.create("b")
		t.Rule("the watch goes on")
		require.Len(t, w.store.calls(), 1)
		t.Rule("with the version of the list it would be told 410, and list again: that is what bookmarks are " +
			"for")
		require.Len(t, w.server.Requests("list"), 1)
	})
}

func TestTask6_Store_that_wants_to_know_is_told(t *testing.T) {
	guard.Test(t, "Bookmark is for bookmarks, UpdateResourceVersion for each version, behind the call that "+
		"belongs to it; a list's is in Replace", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.tells(event(watch.Added, "a", "8"), event(watch.Bookmark, "", "20"), event(watch.Deleted, "a", "21")))
		r := reflector.NewReflector(s, &appsv1.Deployment{}, wanting{st}, 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		t.Did("a store with Bookmark and UpdateResourceVersion")
		r.ListAndWatchWithContext(ctx)
		require.Equal(t, []string{"Replace [] @7", "Add a@8", "version 8", "Bookmark @20", "version 20", "Delete a@21", "version 21"}, st.calls())
	})
}

func TestTask6_Bookmark_ends_the_synthetic_events(t *testing.T) {
	guard.Test(t, "a bookmark is no ADDED: what comes behind it is in order", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists(""))
		s.watches = append(s.watches, s.tells(event(watch.Added, "c", "9"), event(watch.Added, "a", "3"), event(watch.Bookmark, "", "9"), event(watch.Added, "d", "12")))
		r, _ := once(t, s, &store{})
		require.Equal(t, "12", r.LastSyncResourceVersion())
	})
}
