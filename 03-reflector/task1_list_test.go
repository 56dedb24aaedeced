package reflector_test

// Task 1: list and Replace.

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/03-reflector"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask1_First_list_asks_for_0(t *testing.T) {
	guard.Test(t, "The first list asks for version 0: any version that the server has in memory. A thousand "+
		"programs that start together must not all read from etcd.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7", "a", "b"))
		once(t, s, &store{})
		require.Equal(t, "list@0", s.requests()[0], "the first request")
	})
}

func TestTask1_List_replaces_what_is_in_the_store(t *testing.T) {
	guard.Test(t, "ListAndWatchWithContext replaces the store's contents by a list. It calls Replace once, "+
		"with all objects, because only Replace removes objects that are gone.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7", "a", "b"))
		t.Did("the source lists a@1 and b@1, at version 7")
		r, _ := once(t, s, st)
		require.Equal(t, []string{"Replace [a@1 b@1] @7"}, st.calls(), "calls of the store")
		t.Rule("LastSyncResourceVersion returns the version of the last list, event or bookmark that the store has " +
			"received. The version of a list is not that of an object in it.")
		require.Equal(t, "7", r.LastSyncResourceVersion(), "LastSyncResourceVersion after the list")
	})
}

func TestTask1_Objects_of_all_namespaces_are_listed(t *testing.T) {
	guard.Test(t, "ListAndWatchWithContext replaces the store's contents by a list. Objects of the same name in other "+
		"namespaces are other objects.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, func(o metav1.ListOptions) (apiruntime.Object, error) {
			list, err := lists("7", "a", "a", "b")(o)
			list.(*appsv1.DeploymentList).Items[1].Namespace = "other"
			return list, err
		})
		t.Did("the source lists a, a in another namespace, and b")
		once(t, s, st)
		require.Equal(t, []string{"Replace [a@1 b@1 other/a@1] @7"}, st.calls(), "calls of the store")
	})
}

func TestTask1_Reflectors_of_one_name_share_nothing(t *testing.T) {
	guard.Test(t, "The first list asks for version 0. Each Reflector has a first list: another one of the same name, or "+
		"for the same store, has a version of its own.", func(t *guard.T) {
		s, st := &script{}, &store{}
		newOne := func() *reflector.Reflector {
			return reflector.NewReflectorWithOptions(s, &appsv1.Deployment{}, st, cache.ReflectorOptions{Name: "deployments"})
		}
		first, second := newOne(), newOne()
		s.lists = append(s.lists, lists("7", "a"), lists("8", "a"))
		t.Did("ListAndWatchWithContext of a Reflector, for a minute, and of another one with the same name and store")
		listAndWatchFor(t, first, time.Minute)
		require.Equal(t, "", second.LastSyncResourceVersion(), "LastSyncResourceVersion of the second one before its list")
		listAndWatchFor(t, second, time.Minute)
		asked := slices.DeleteFunc(s.requests(), func(request string) bool { return strings.HasPrefix(request, "watch") })
		require.Equal(t, []string{"list@0", "list@0"}, asked, "lists that the source was asked for")
		require.Equal(t, "7", first.LastSyncResourceVersion(), "LastSyncResourceVersion of the first one")
	})
}

func TestTask1_Empty_list_is_a_list(t *testing.T) {
	guard.Test(t, "An empty list goes into the store too. The store may still have objects, and a consumer "+
		"waits for its first list.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		t.Did("the source lists nothing, at version 7")
		once(t, s, st)
		require.Equal(t, []string{"Replace [] @7"}, st.calls(), "calls of the store")
	})
}

func TestTask1_No_version_before_the_first_list(t *testing.T) {
	guard.Test(t, "LastSyncResourceVersion is empty before the first list.", func(t *guard.T) {
		t.Did("NewReflector, LastSyncResourceVersion")
		r := reflector.NewReflector(&script{}, &appsv1.Deployment{}, &store{}, 0)
		require.Equal(t, "", r.LastSyncResourceVersion(), "LastSyncResourceVersion of a new Reflector")
	})
}

func TestTask1_List_that_fails_is_an_error(t *testing.T) {
	const failed = "ListAndWatchWithContext returns an error if a list or Replace failed, or if a watch could not start."
	guard.Test(t, failed, func(t *guard.T) {
		for _, broken := range []error{
			errors.New("the server is on fire"),
			context.Canceled, context.DeadlineExceeded, // of a request whose source has a context of its own
			errRefused, // RunWithContext asks again, and not the list
		} {
			t.Story(5)
			t.Rule(failed)
			s, st := &script{}, &store{}
			s.lists = append(s.lists, listFails(broken))
			t.Did("the list fails: %v; the context goes on", broken)
			r, err := once(t, s, st)
			require.ErrorIs(t, err, broken, "the error of ListAndWatchWithContext")
			t.Rule("A list that failed says nothing about the objects: an empty Replace would delete all of them.")
			require.Empty(t, st.calls(), "calls of the store")
			t.Rule("A watch starts at the version of a list, so without a list there is no watch.")
			require.Equal(t, []string{"list@0"}, s.requests(), "requests to the source")
			t.Rule("LastSyncResourceVersion is empty before the first list.")
			require.Equal(t, "", r.LastSyncResourceVersion(), "LastSyncResourceVersion after the list that failed")
		}
	})
}

func TestTask1_Replace_that_fails_is_an_error(t *testing.T) {
	const failed = "ListAndWatchWithContext returns an error if a list or Replace failed, or if a watch could not start."
	guard.Test(t, failed, func(t *guard.T) {
		broken := errors.New("an object without a key")
		s, st := &script{}, &store{onCall: func(string) error { return broken }}
		s.lists = append(s.lists, lists("7", "a"))
		t.Did("the store refuses the list")
		r, err := once(t, s, st)
		require.ErrorContains(t, err, broken.Error(), "the error of ListAndWatchWithContext")
		t.Rule("If Replace fails, the store does not have the list: a watch from its version would miss the objects in " +
			"it.")
		require.Equal(t, "", r.LastSyncResourceVersion(), "LastSyncResourceVersion after the Replace that failed")
		require.Equal(t, []string{"list@0"}, s.requests(), "requests to the source")

		t.Rule(failed)
		var seen []string
		st.onCall = func(call string) error {
			if seen = append(seen, r.LastSyncResourceVersion()); call == "Replace [b@1] @9" {
				return broken
			}
			return nil
		}
		s.lists = append(s.lists, lists("8", "a"), lists("9", "b"))
		t.Did("the store takes the next list, at 8, and refuses the one after it, at 9")
		require.NoError(t, listAndWatchFor(t, r, time.Minute), "the error of ListAndWatchWithContext with the list at 8")
		require.Error(t, listAndWatchFor(t, r, time.Minute), "the error of ListAndWatchWithContext with the list at 9")
		t.Rule("The version moves only after the store has received the list or event. Until then it is that of the " +
			"list before, in Replace and after a Replace that failed: the next list must not be older.")
		require.Equal(t, []string{"", "8"}, seen, "LastSyncResourceVersion during the 2nd and 3rd Replace")
		require.Equal(t, "8", r.LastSyncResourceVersion(), "LastSyncResourceVersion after the 3rd Replace")

		for _, broken := range []error{context.Canceled, context.DeadlineExceeded, io.EOF} {
			t.Rule(failed + " The context of the caller has not ended.")
			st.onCall = func(string) error { return broken }
			s.lists = append(s.lists, lists("9"))
			t.Did("the store refuses a list: %v", broken)
			_, err := once(t, s, st)
			require.ErrorContains(t, err, broken.Error(), "the error of ListAndWatchWithContext")
		}
	})
}

func TestTask1_Store_owns_the_objects_of_a_list(t *testing.T) {
	guard.Test(t, "The slice that Replace receives belongs to the store. The Reflector does not use it again, for the "+
		"next list either.", func(t *guard.T) {
		s, st := &script{}, &owner{}
		s.lists = append(s.lists, lists("7", "a", "b"), lists("8", "c"))
		t.Did("the store keeps the slice of each Replace; the source lists [a b], and then [c]")
		r := newScripted(s, st)
		listAndWatchFor(t, r, time.Minute)
		listAndWatchFor(t, r, time.Minute)
		require.Equal(t, [][]string{{"a@1", "b@1"}, {"c@1"}}, st.names(), "objects in the slices")
	})
}

// owner is a store that keeps the slice of each Replace.
type owner struct {
	store
	slices [][]any
}

func (o *owner) Replace(objs []any, _ string) error {
	o.slices = append(o.slices, objs)
	return nil
}

// names returns the names of the objects that are in the slices now.
func (o *owner) names() (all [][]string) {
	for _, objs := range o.slices {
		var names []string
		for _, obj := range objs {
			names = append(names, name(obj))
		}
		all = append(all, names)
	}
	return all
}

func TestTask1_Answer_that_is_not_a_list_is_an_error(t *testing.T) {
	guard.Test(t, "An answer that is not a list is an error, and does not go into the store: an empty Replace would "+
		"delete all objects.", func(t *guard.T) {
		for what, answer := range guard.InOrder(map[string]apiruntime.Object{
			"a Deployment": deployment("a"),
			"a Status, which has the metadata of a list and no items": &metav1.Status{},
		}) {
			t.Story(5)
			s, st := &script{}, &store{}
			s.lists = append(s.lists, func(metav1.ListOptions) (apiruntime.Object, error) { return answer, nil })
			t.Did("the source lists, and the answer is %s", what)
			_, err := once(t, s, st)
			require.Error(t, err, "the error of ListAndWatchWithContext")
			require.Empty(t, st.calls(), "calls of the store")
		}
	})
}

func TestTask1_Version_comes_after_Replace(t *testing.T) {
	guard.Test(t, "The version moves only after the store has received the list or event. First the store, "+
		"then the version.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7", "a"))
		r := newScripted(s, st)
		seen := "not asked"
		st.onCall = func(string) error { seen = r.LastSyncResourceVersion(); return nil }
		t.Did("ListAndWatchWithContext; the store asks for the version in Replace")
		listAndWatchFor(t, r, time.Minute)
		require.Equal(t, "", seen, "LastSyncResourceVersion during the first Replace")
	})
}

func TestTask1_Cancel_during_the_list_is_prompt(t *testing.T) {
	guard.Test(t, "When the context ends, every request, watch and wait ends at once: a program that stops "+
		"does not wait for lists.", func(t *guard.T) {
		st := &store{}
		s := &script{}
		s.lists = append(s.lists, func(metav1.ListOptions) (apiruntime.Object, error) {
			time.Sleep(24 * time.Hour)
			return nil, errors.New("too late")
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r := reflector.NewReflector(cancellable{s}, &appsv1.Deployment{}, st, 0)
		t.Did("ListAndWatchWithContext; the list takes a day, and the context ends after a minute")
		start := time.Now()
		err := r.ListAndWatchWithContext(ctx)
		took := time.Since(start)
		time.Sleep(24 * time.Hour) // until the list returns its answer, which nothing waits for
		require.Equal(t, time.Minute, took, "time until ListAndWatchWithContext returned")
		t.Rule("The end of the context is not an error: a program that stops its informers would log one for each.")
		require.NoError(t, err, "the error of ListAndWatchWithContext")
		t.Rule("A list that failed says nothing about the objects: an empty Replace would delete all of them.")
		require.Empty(t, st.calls(), "calls of the store")
	})
}

func TestTask1_Late_list_does_not_reach_the_store(t *testing.T) {
	guard.Test(t, "The store does not receive a list that comes after the end of the context, because the caller may "+
		"have closed the store.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, func(o metav1.ListOptions) (apiruntime.Object, error) {
			time.Sleep(time.Minute)
			return lists("7", "a")(o)
		})
		r := newScripted(s, st)
		t.Did("ListAndWatchWithContext; the list ignores the context, takes a minute and succeeds; the context ends " +
			"after half a minute")
		listAndWatchFor(t, r, 30*time.Second)
		time.Sleep(time.Hour)
		require.Empty(t, st.calls(), "calls of the store")
		t.Rule("The version moves only after the store has received the list or event.")
		require.Equal(t, "", r.LastSyncResourceVersion(), "LastSyncResourceVersion after the late list")
		t.Rule("When the context ends, every request, watch and wait ends at once: no request comes after " +
			"it.")
		require.Equal(t, []string{"list@0"}, s.requests(), "requests to the source")

		t.Rule("The end of the context is not an error, whatever a list that comes after it brings.")
		s.lists = append(s.lists, func(metav1.ListOptions) (apiruntime.Object, error) {
			time.Sleep(time.Minute)
			return nil, errors.New("use of closed network connection")
		})
		t.Did("ListAndWatchWithContext again; the list fails after a minute; the context ends after half a minute")
		err := listAndWatchFor(t, r, 30*time.Second)
		time.Sleep(time.Hour)
		require.NoError(t, err, "the error of ListAndWatchWithContext")

		t.Rule("The end of the context is not an error, if it was before the call too.")
		s.lists = append(s.lists, lists("7", "a"))
		t.Did("ListAndWatchWithContext with a context that has ended")
		require.NoError(t, listAndWatchFor(t, newScripted(s, st), 0), "the error of ListAndWatchWithContext")
		require.Empty(t, st.calls(), "calls of the store")

		t.Rule("The version moves only after the store has received the list or event. If the context ends during Replace, " +
			"the store has received the list, and the caller can see that: the version has moved.")
		s, st = &script{}, &store{onCall: func(string) error { time.Sleep(time.Minute); return nil }}
		s.lists = append(s.lists, lists("7", "a"))
		r = newScripted(s, st)
		t.Did("ListAndWatchWithContext; Replace takes a minute, and the context ends after half a minute")
		require.NoError(t, listAndWatchFor(t, r, 30*time.Second), "the error of ListAndWatchWithContext")
		require.Equal(t, "7", r.LastSyncResourceVersion(), "LastSyncResourceVersion after the list")
		t.Rule("When the context ends, every request, watch and wait ends at once: no request comes after it.")
		require.Equal(t, []string{"list@0"}, s.requests(), "requests to the source")
	})
}

// cancellable is a source whose lists end with their context.
type cancellable struct{ *script }

func (c cancellable) ListWithContext(ctx context.Context, options metav1.ListOptions) (apiruntime.Object, error) {
	answer := make(chan struct{})
	var list apiruntime.Object
	var err error
	go func() {
		defer close(answer)
		list, err = c.script.ListWithContext(ctx, options)
	}()
	select {
	case <-answer:
		return list, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
