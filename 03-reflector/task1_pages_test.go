package reflector_test

// Task 1: lists in pages, and the memory of a list.

import (
	"errors"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask1_List_in_pages_is_one_list(t *testing.T) {
	guard.Test(t, "A list in pages reaches the store as one list: a Replace with half of it would delete the other "+
		"half.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, page("more", "a", "b"), page("even more", "c", "d"), page("", "e"))
		r := newScripted(s, st)
		r.WatchListPageSize = 2
		t.Did("the source lists [a b], [c d] and [e], in 3 pages; WatchListPageSize 2, ListAndWatchWithContext")
		listAndWatchFor(t, r, time.Minute)
		require.Equal(t, []string{"Replace [a@1 b@1 c@1 d@1 e@1] @7"}, st.calls(), "calls of the store")
		first, second, third := s.options[0], s.options[1], s.options[2]
		t.Rule("WatchListPageSize is the number of objects in a page of every list.")
		require.Equal(t, []int64{2, 2, 2}, []int64{first.Limit, second.Limit, third.Limit}, "limits of the 3 requests")
		t.Rule("Each page has a token, and the request for the next page carries it.")
		require.Equal(t, []string{"", "more", "even more"}, []string{first.Continue, second.Continue, third.Continue},
			"tokens of the 3 requests")
		t.Rule("A request with a token has no version: the server refuses a request that has both.")
		require.Equal(t, []string{"list@0", "list@", "list@"}, s.requests()[:3], "requests to the source")

		t.Rule("Each page has a token, and the request for the next page carries it. A page without objects has one too, " +
			"unless it is the last.")
		s.lists = append(s.lists, page("more"), page("even more", "a"), page("most"), page("", "b"))
		t.Did("a new Reflector; the source lists [], [a], [] and [b], in 4 pages")
		once(t, s, st)
		require.Equal(t, []string{"Replace [a@1 b@1] @7"}, st.calls(), "calls of the store")

		for range 200 {
			s.lists = append(s.lists, page("more"))
		}
		s.lists = append(s.lists, page("", "z"))
		t.Did("a new Reflector; the source lists [z], after 200 pages without an object")
		once(t, s, st)
		require.Equal(t, []string{"Replace [z@1] @7"}, st.calls(), "calls of the store")
	})
}

func TestTask1_Pages_of_the_first_list(t *testing.T) {
	guard.Test(t, "If WatchListPageSize is 0, the list at 0 comes in pages of the pager's own size. A server "+
		"without a watch cache reads it from etcd, and should not read a gigabyte at once.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7", "a"))
		once(t, s, &store{})
		require.NotZero(t, s.options[0].Limit, "limit of the first list")
	})
}

func TestTask1_Token_that_has_expired(t *testing.T) {
	guard.Test(t, "If the token of a page has expired (410), the Reflector asks for the whole list again at "+
		"once, in one piece. A list that starts again in pages may take too long again.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, page("more", "a", "b"), listFails(errExpired), lists("9", "a", "c"))
		t.Did("the source lists [a b] as the first page; its token has expired; then it lists [a c], at version 9")
		r, _ := once(t, s, st)
		require.GreaterOrEqual(t, len(s.requests()), 3, "requests to the source: 2 pages and a list")
		require.Equal(t, "", s.options[2].Continue, "token of the 3rd request")
		require.Equal(t, int64(0), s.options[2].Limit, "limit of the 3rd request")
		t.Rule("A list in pages reaches the store as one list. The page that came before the 410 is not in it.")
		require.Equal(t, []string{"Replace [a@1 c@1] @9"}, st.calls(), "calls of the store")
		require.Equal(t, "9", r.LastSyncResourceVersion(), "LastSyncResourceVersion after the list")

		t.Rule("If the token of a page has expired (410), the Reflector asks for the whole list again at once, in one " +
			"piece. WatchListPageSize does not change that: a page would not be the whole list.")
		*s = script{}
		s.lists = append(s.lists, page("more", "a"), listFails(errExpired), lists("9", "a", "c"))
		r = newScripted(s, st)
		r.WatchListPageSize = 1
		t.Did("the same, with WatchListPageSize 1")
		listAndWatchFor(t, r, time.Minute)
		asked := s.requests()
		require.Equal(t, []string{"list@0", "list@", "list@0"}, asked[:min(3, len(asked))], "the first 3 requests")
		require.Equal(t, int64(0), s.options[2].Limit, "limit of the 3rd request")
		require.Equal(t, []string{"Replace [a@1 c@1] @9"}, st.calls(), "calls of the store")

		t.Rule("ListAndWatchWithContext returns an error if a list failed. Only a token that has expired needs another list.")
		*s = script{}
		away := errors.New("the network is away")
		s.lists = append(s.lists, page("more", "a", "b"), listFails(away), lists("9", "a", "c"))
		t.Did("the source lists [a b] as the first page; the request for the second fails: %v", away)
		_, err := once(t, s, st)
		require.ErrorIs(t, err, away, "the error of ListAndWatchWithContext")
		require.Equal(t, []string{"list@0", "list@"}, s.requests(), "requests to the source")
		require.Empty(t, st.calls(), "calls of the store")

		t.Rule("ListAndWatchWithContext returns an error if a list failed. A list that comes with an error is not complete.")
		*s = script{}
		s.lists = append(s.lists, page("more", "a", "b"), listFails(errExpired),
			func(metav1.ListOptions) (apiruntime.Object, error) { return &appsv1.DeploymentList{}, away })
		t.Did("the token of the second page has expired; the source answers the next list with an empty one and an error, "+
			"as client-go's clients do: %v", away)
		_, err = once(t, s, st)
		require.ErrorIs(t, err, away, "the error of ListAndWatchWithContext")
		require.Empty(t, st.calls(), "calls of the store")
	})
}

func TestTask1_One_object_does_not_keep_the_whole_list(t *testing.T) {
	const rule = "An object in the store does not keep its list in memory. The items of a list are one array, " +
		"and a pointer to one of them keeps all 10,000 in memory (#113305)."
	guard.Test(t, rule, func(t *guard.T) {
		for _, c := range []struct{ inPages, second bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
			t.Story(8)
			keeper := &keeping{}
			s := &script{}
			var other weak.Pointer[appsv1.Deployment]
			watched := func(next listFunc) listFunc {
				return func(o metav1.ListOptions) (apiruntime.Object, error) {
					list, err := next(o)
					other = weak.Make(&list.(*appsv1.DeploymentList).Items[2])
					return list, err
				}
			}
			if c.second {
				s.lists = append(s.lists, lists("7", "z"))
				t.Did("a list of z, and after it:")
			}
			if c.inPages {
				s.lists = append(s.lists, watched(page("more", "a", "b", "c")), page("", "d"))
				t.Did("a list of two pages, [a b c] and [d]; the store keeps a")
			} else {
				s.lists = append(s.lists, watched(lists("7", "a", "b", "c")))
				t.Did("a list of a, b and c; the store keeps a")
			}
			r, _ := once(t, s, keeper)
			if c.second {
				listAndWatchFor(t, r, time.Minute)
			}
			runtime.GC()
			runtime.GC()
			require.NotNil(t, keeper.first, "the object that the store keeps")
			require.False(t, other.Value() != nil, "object c of the list is still in memory")
			require.False(t, keeper.last.Value() != nil, "the last object of Replace, which the store does not keep, is still "+
				"in memory")
			runtime.KeepAlive(keeper)
			runtime.KeepAlive(r)
		}
	})
}

// keeping is a store that keeps the first object of a list.
type keeping struct {
	store
	first any
	last  weak.Pointer[appsv1.Deployment]
}

func (k *keeping) Replace(objs []any, _ string) error {
	k.first, k.last = objs[0], weak.Make(objs[len(objs)-1].(*appsv1.Deployment))
	return nil
}

var _ cache.ReflectorStore = (*keeping)(nil)
