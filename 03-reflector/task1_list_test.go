package reflector_test

// Task 1: list and Replace.

import (
	"context"
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

	reflector "client-go-workshop/03-reflector"
	"client-go-workshop/internal/testkit/guard"
)

// noWatch is for tests that end before a watch is of interest.
var noWatch = watchFails(errors.New("no watch in this test"))

func TestTask1_First_list_asks_for_0(t *testing.T) {
	guard.Test(t, "0 is whatever the server has at hand: the first list of a thousand programs that start "+
		"together comes from its memory, and not from etcd", func(t *guard.T) {
		s := &script{}
		s.lists, s.watches = append(s.lists, lists("7", "a", "b")), append(s.watches, noWatch)
		once(t, s, &store{})
		require.Equal(t, "list@0", s.requests()[0])
	})
}

func TestTask1_List_replaces_what_is_in_the_store(t *testing.T) {
	guard.Test(t, "one Replace with all of it: what is not in the list is gone, and only Replace can say so", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists, s.watches = append(s.lists, lists("7", "a", "b")), append(s.watches, noWatch)
		r, _ := once(t, s, st)
		require.Equal(t, []string{"Replace [a@1 b@1] @7"}, st.calls())
		t.Rule("the version of the list, and not that of an object in it")
		require.Equal(t, "7", r.LastSyncResourceVersion())
	})
}

func TestTask1_Empty_list_is_a_list(t *testing.T) {
	guard.Test(t, "that there is nothing is news, too: the store may have something, and somebody waits for its "+
		"first list", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists, s.watches = append(s.lists, lists("7")), append(s.watches, noWatch)
		once(t, s, st)
		require.Equal(t, []string{"Replace [] @7"}, st.calls())
	})
}

func TestTask1_No_version_before_the_first_list(t *testing.T) {
	guard.Test(t, "the store has nothing, of no version", func(t *guard.T) {
		t.Did("NewReflector, LastSyncResourceVersion")
		r := reflector.NewReflector(&script{}, &appsv1.Deployment{}, &store{}, 0)
		require.Equal(t, "", r.LastSyncResourceVersion())
	})
}

func TestTask1_List_that_fails_is_an_error(t *testing.T) {
	guard.Test(t, "whoever called has to know why", func(t *guard.T) {
		broken := errors.New("the server is on fire")
		s, st := &script{}, &store{}
		s.lists = append(s.lists, listFails(broken))
		r, err := once(t, s, st)
		require.ErrorIs(t, err, broken)
		t.Rule("an answer that did not come says nothing of what there is; an empty Replace would delete " +
			"everything")
		require.Empty(t, st.calls())
		t.Rule("a watch without a list would begin nowhere")
		require.Equal(t, []string{"list@0"}, s.requests())
		t.Rule("the store still has nothing")
		require.Equal(t, "", r.LastSyncResourceVersion())
	})
}

func TestTask1_Replace_that_fails_is_an_error(t *testing.T) {
	guard.Test(t, "whoever called has to know why", func(t *guard.T) {
		broken := errors.New("an object without a key")
		s, st := &script{}, &store{onCall: func(string) error { return broken }}
		s.lists = append(s.lists, lists("7", "a"))
		r, err := once(t, s, st)
		require.ErrorContains(t, err, broken.Error())
		t.Rule("the store has not taken the list; a watch from its version would miss what was in it")
		require.Equal(t, "", r.LastSyncResourceVersion())
		t.Rule("a store that has not taken the list is not watched for")
		require.Equal(t, []string{"list@0"}, s.requests())
	})
}

func TestTask1_What_is_no_list_is_an_error(t *testing.T) {
	guard.Test(t, "whoever called has to know that there was no list", func(t *guard.T) {
		for what, answer := range map[string]apiruntime.Object{"a Deployment": deployment("a"), "a Status, which has the metadata of a list and no items": &metav1.Status{}} {
			t.Story(5)
			s, st := &script{}, &store{}
			s.lists = append(s.lists, func(metav1.ListOptions) (apiruntime.Object, error) { return answer, nil })
			t.Did("the source lists, and the answer is %s", what)
			_, err := once(t, s, st)
			require.Error(t, err)
			t.Rule("it says nothing of what there is; an empty Replace would delete everything")
			require.Empty(t, st.calls())
		}
	})
}

func TestTask1_Version_comes_after_Replace(t *testing.T) {
	guard.Test(t, "whoever sees a version must be able to rely on it that the store has got there", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists, s.watches = append(s.lists, lists("7", "a")), append(s.watches, noWatch)
		r := reflector.NewReflector(s, &appsv1.Deployment{}, st, 0)
		seen := "not asked"
		st.onCall = func(string) error { seen = r.LastSyncResourceVersion(); return nil }
		t.Did("ListAndWatchWithContext; the store looks at the version while it replaces")
		r.ListAndWatchWithContext(t.Context())
		require.Equal(t, "", seen)
	})
}

func TestTask1_List_comes_in_pages_if_that_is_wanted(t *testing.T) {
	guard.Test(t, "the store hears of it when the last page is there: half a list would delete the other half", func(t *guard.T) {
		s, st := &script{}, &store{}
		page := func(next string, names ...string) func(metav1.ListOptions) (apiruntime.Object, error) {
			return func(o metav1.ListOptions) (apiruntime.Object, error) {
				list, err := lists("7", names...)(o)
				list.(*appsv1.DeploymentList).Continue = next
				return list, err
			}
		}
		s.lists, s.watches = append(s.lists, page("more", "a", "b"), page("even more", "c", "d"), page("", "e")), append(s.watches, noWatch)
		r := reflector.NewReflector(s, &appsv1.Deployment{}, st, 0)
		r.WatchListPageSize = 2
		t.Did("WatchListPageSize 2, ListAndWatchWithContext")
		r.ListAndWatchWithContext(t.Context())
		require.Equal(t, []string{"Replace [a@1 b@1 c@1 d@1 e@1] @7"}, st.calls())
		t.Rule("pages of that size")
		require.Equal(t, []int64{2, 2, 2}, []int64{s.options[0].Limit, s.options[1].Limit, s.options[2].Limit})
		t.Rule("each page says where the next one begins")
		require.Equal(t, []string{"", "more", "even more"}, []string{s.options[0].Continue, s.options[1].Continue, s.options[2].Continue})
	})
}

func TestTask1_Pages_of_the_first_list(t *testing.T) {
	guard.Test(t, "if nobody said how large a page is, those of a list at 0 have the pager's own size: a server "+
		"that has nothing at hand reads them from etcd, and not a gigabyte at once", func(t *guard.T) {
		s := &script{}
		s.lists, s.watches = append(s.lists, lists("7", "a")), append(s.watches, noWatch)
		once(t, s, &store{})
		require.NotZero(t, s.options[0].Limit)
	})
}

func TestTask1_Cancel_during_the_list_is_prompt(t *testing.T) {
	guard.Test(t, "a program that ends does not wait for lists", func(t *guard.T) {
		st := &store{}
		s := &script{}
		s.lists = append(s.lists, func(metav1.ListOptions) (apiruntime.Object, error) {
			time.Sleep(24 * time.Hour)
			return nil, errors.New("too late")
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r := reflector.NewReflector(hearing{s}, &appsv1.Deployment{}, st, 0)
		t.Did("ListAndWatchWithContext; the list takes a day, and the context ends after a minute")
		start := time.Now()
		r.ListAndWatchWithContext(ctx)
		took := time.Since(start)
		time.Sleep(24 * time.Hour) // the answer that nobody waits for any more
		require.Equal(t, time.Minute, took)
		t.Rule("nothing has come")
		require.Empty(t, st.calls())
	})
}

func TestTask1_List_that_comes_too_late_is_not_told(t *testing.T) {
	guard.Test(t, "who has ended the context may have put the store away", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, func(o metav1.ListOptions) (apiruntime.Object, error) {
			time.Sleep(time.Minute)
			return lists("7", "a")(o)
		})
		s.watches = append(s.watches, noWatch)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		r := reflector.NewReflector(s, &appsv1.Deployment{}, st, 0)
		t.Did("ListAndWatchWithContext; the list takes a minute, does not listen to the context, and succeeds; the context ends after half a minute")
		r.ListAndWatchWithContext(ctx)
		time.Sleep(time.Hour)
		require.Empty(t, st.calls())
		t.Rule("and it has no version")
		require.Equal(t, "", r.LastSyncResourceVersion())
		t.Rule("nothing is asked for after the end")
		require.Equal(t, []string{"list@0"}, s.requests())
	})
}

// hearing is a source whose lists end with their context.
type hearing struct{ *script }

func (h hearing) ListWithContext(ctx context.Context, options metav1.ListOptions) (apiruntime.Object, error) {
	answer := make(chan struct{})
	var list apiruntime.Object
	var err error
	go func() {
		defer close(answer)
		list, err = h.script.ListWithContext(ctx, options)
	}()
	select {
	case <-answer:
		return list, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestTask1_One_object_does_not_keep_the_whole_list(t *testing.T) {
	guard.Test(t, "the store has a", func(t *guard.T) {
		keeper := &keeping{}
		var other weak.Pointer[appsv1.Deployment]
		s := &script{}
		s.watches = append(s.watches, noWatch)
		s.lists = append(s.lists, func(o metav1.ListOptions) (apiruntime.Object, error) {
			list, err := lists("7", "a", "b", "c")(o)
			other = weak.Make(&list.(*appsv1.DeploymentList).Items[2])
			return list, err
		})
		t.Did("a list of a, b and c; the store keeps a")
		once(t, s, keeper)
		runtime.GC()
		runtime.GC()
		require.NotNil(t, keeper.first)
		t.Rule("the items of a list are one array; who hands out pointers into it keeps 10,000 objects for the " +
			"sake of one (#113305)")
		require.False(t, other.Value() != nil)
		runtime.KeepAlive(keeper)
	})
}

// keeping keeps the first object of a list.
type keeping struct {
	store
	first any
}

func (k *keeping) Replace(objs []any, _ string) error {
	k.first = objs[0]
	return nil
}

var _ cache.ReflectorStore = (*keeping)(nil)
