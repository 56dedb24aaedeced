package reflector_test

// Task 2: the objects that the store receives, and the errors that it returns.

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/03-reflector"
	"client-go-workshop/internal/testkit/guard"
)

// replicaSet is an event about an object of another type than a Deployment.
func replicaSet(name, version string) watch.Event {
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
	return watch.Event{Type: watch.Added, Object: set}
}

func TestTask2_Other_types_are_left_out(t *testing.T) {
	guard.Test(t, "Objects of other types, and events of unknown types, are left out. A handler that asserts "+
		"the type would panic.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.sends(replicaSet("r", "8"), watch.Event{Type: "RENAMED", Object: deployment("b")},
			watch.Event{Type: watch.Added}, watch.Event{Type: watch.Bookmark}, event(watch.Added, "a", "9")))
		t.Did("a Reflector for Deployments; a ReplicaSet, an event of type RENAMED, two events without an object and a " +
			"Deployment come")
		once(t, s, st)
		require.Equal(t, []string{"Replace [] @7", "Add a@9"}, st.calls(), "calls of the store")

		t.Rule("Objects of other types are left out, even if the name of the type is the same.")
		s.lists = append(s.lists, lists("7"))
		meta := metav1.ObjectMeta{Name: "e", ResourceVersion: "8"}
		s.watches = append(s.watches, s.sends(watch.Event{Type: watch.Added, Object: &eventsv1.Event{ObjectMeta: meta}},
			watch.Event{Type: watch.Added, Object: &corev1.Event{ObjectMeta: meta}}))
		t.Did("a Reflector for Events of the core group; an Event of the group events.k8s.io and one of the core group come")
		listAndWatchFor(t, reflector.NewReflector(s, &corev1.Event{}, st, 0), time.Minute)
		require.Equal(t, []string{"Replace [] @7", "Add e@8"}, st.calls(), "calls of the store")
	})
}

func TestTask2_Other_types_do_not_move_the_version(t *testing.T) {
	guard.Test(t, "LastSyncResourceVersion returns the version of the last list, event or bookmark that the store has "+
		"received. The store has not received an object of another type.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7"))
		events := []watch.Event{event(watch.Added, "a", "9")}
		for _, eventType := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark} {
			other := replicaSet("r", "12")
			other.Type = eventType
			events = append(events, other)
		}
		s.watches = append(s.watches, s.sends(events...))
		t.Did("a Reflector for Deployments; a Deployment at version 9 comes, and a ReplicaSet at version 12 in events of " +
			"each type")
		st := &store{}
		r, _ := once(t, s, st)
		require.Equal(t, "9", r.LastSyncResourceVersion(), "LastSyncResourceVersion after the events")
		t.Rule("Objects of other types, and events of unknown types, are left out, whatever the type of the event.")
		require.Equal(t, []string{"Replace [] @7", "Add a@9"}, st.calls(), "calls of the store")
	})
}

func TestTask2_Other_kinds_of_unstructured_objects_are_left_out(t *testing.T) {
	guard.Test(t, "If the expected type is unstructured and has a kind, objects of other kinds are left out too. "+
		"Their Go type is the same.", func(t *guard.T) {
		object := func(group, kind, name, version string) *unstructured.Unstructured {
			return &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": group, "kind": kind,
				"metadata": map[string]any{"name": name, "resourceVersion": version},
			}}
		}
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.sends(watch.Event{Type: watch.Added},
			watch.Event{Type: watch.Added, Object: object("apps/v1", "ReplicaSet", "r", "8")},
			watch.Event{Type: watch.Modified, Object: object("example.com/v1", "Deployment", "theirs", "8")},
			watch.Event{Type: watch.Deleted, Object: object("apps/v1beta1", "Deployment", "old", "8")},
			watch.Event{Type: watch.Added, Object: object("apps/v1", "Deployment", "a", "9")},
			watch.Event{Type: watch.Bookmark, Object: object("apps/v1", "ReplicaSet", "", "10")}))
		t.Did("a Reflector for unstructured objects of kind Deployment in apps/v1; an event without an object comes, " +
			"r, theirs, old and a, and a bookmark of kind ReplicaSet")
		r := reflector.NewReflector(s, object("apps/v1", "Deployment", "", ""), st, 0)
		listAndWatchFor(t, r, time.Minute)
		require.Equal(t, "9", r.LastSyncResourceVersion(), "LastSyncResourceVersion after these events")
		require.Equal(t, []string{"Replace [] @7", "Add a@9"}, st.calls(), "calls of the store")

		s, st = &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.sends(
			watch.Event{Type: watch.Added, Object: object("v1", "Secret", "s", "8")},
			watch.Event{Type: watch.Added, Object: object("v1", "Pod", "p", "9")}))
		t.Rule("If the expected type is unstructured and has a kind, objects of other kinds are left out too. The " +
			"core group has no name.")
		t.Did("a Reflector for unstructured objects of kind Pod in v1; a Secret s and a Pod p come")
		listAndWatchFor(t, reflector.NewReflector(s, object("v1", "Pod", "", ""), st, 0), time.Minute)
		require.Equal(t, []string{"Replace [] @7", "Add p@9"}, st.calls(), "calls of the store")

		s, st = &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.sends(watch.Event{Type: watch.Added, Object: object("v1", "Pod", "p", "8")}))
		t.Rule("If the expected type is unstructured and has a kind, objects of other kinds are left out too. Without a " +
			"kind, all come.")
		t.Did("a Reflector for unstructured objects without a kind; a Pod comes")
		listAndWatchFor(t, reflector.NewReflector(s, &unstructured.Unstructured{}, st, 0), time.Minute)
		require.Equal(t, []string{"Replace [] @7", "Add p@8"}, st.calls(), "calls of the store")
	})
}

func TestTask2_Without_a_type_all_objects_come(t *testing.T) {
	guard.Test(t, "Without an expected type (nil) the store receives objects of any type. Objects without "+
		"metadata are left out.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.sends(replicaSet("r", "8"),
			watch.Event{Type: watch.Added, Object: &metav1.Status{}}, event(watch.Added, "a", "9")))
		t.Did("a Reflector without an expected type; a ReplicaSet, a Status and a Deployment come")
		listAndWatchFor(t, reflector.NewReflector(s, nil, st, 0), time.Minute)
		require.Equal(t, []string{"Replace [] @7", "Add r@8", "Add a@9"}, st.calls(), "calls of the store")
	})
}

func TestTask2_Error_of_the_store_is_not_the_servers(t *testing.T) {
	const rule = "An error of the store does not end a watch or hold the version back, even if it is an error with " +
		"which watches end. The server did not send it."
	guard.Test(t, rule, func(t *guard.T) {
		for _, broken := range []error{
			busy, internal, errExpired, errRefused, notFound, invalid, apierrors.NewConflict(schema.GroupResource{}, "a", nil),
			io.EOF, context.Canceled, context.DeadlineExceeded, &cache.VeryShortWatchError{},
		} {
			t.Story(8)
			t.Rule(rule)
			reported := countErrors(t)
			s, st := &script{}, &store{onCall: refuseEventsWith(broken)}
			s.lists = append(s.lists, lists("7"))
			s.watches = append(s.watches, s.sends(event(watch.Added, "a", "8"), event(watch.Modified, "a", "9"),
				event(watch.Deleted, "a", "10")))
			r := newScripted(s, st)
			t.Did("a watch brings a@8, the change a@9 and the deletion a@10; the store refuses each: %v", broken)
			listAndWatchFor(t, r, time.Minute)
			want := []string{"Replace [] @7", "Add a@8", "Update a@9", "Delete a@10"}
			require.Equal(t, want, st.calls(), "calls of the store")
			require.Equal(t, []string{"list@0", "watch@7"}, s.requests(), "requests to the source")
			require.Equal(t, "10", r.LastSyncResourceVersion(), "LastSyncResourceVersion after the events")
			t.Rule("An error of the store is reported with utilruntime.HandleErrorWithContext, whatever the error is.")
			require.GreaterOrEqual(t, reported.Load(), int64(3), "errors that were reported with the caller's context")
		}
	})
}

func TestTask2_Store_may_change_the_objects(t *testing.T) {
	guard.Test(t, "The version moves to the one that the server wrote into the event's object. The objects belong to the "+
		"store then, and its transformer may drop their metadata.", func(t *guard.T) {
		s, st := &script{}, &store{}
		events := []watch.Event{
			event(watch.Added, "a", "8"), event(watch.Modified, "a", "9"), event(watch.Deleted, "a", "10"),
		}
		s.lists, s.watches = append(s.lists, lists("7")), append(s.watches, s.sends(events...))
		r := newScripted(s, st)
		var seen []string
		st.onCall = func(call string) error {
			if n := len(seen); n > 0 && n <= len(events) { // the first call is Replace
				events[n-1].Object.(*appsv1.Deployment).ResourceVersion = ""
			}
			seen = append(seen, r.LastSyncResourceVersion())
			return nil
		}
		t.Did("a watch brings a@8, the change a@9 and the deletion a@10; the store removes the version from each object")
		listAndWatchFor(t, r, time.Minute)
		require.Equal(t, []string{"", "7", "8", "9"}, seen, "LastSyncResourceVersion during each call of the store")
		require.Equal(t, "10", r.LastSyncResourceVersion(), "LastSyncResourceVersion after the events")
	})
}

func TestTask2_Equal_names_in_two_namespaces(t *testing.T) {
	guard.Test(t, "The store receives the objects of every namespace. Two objects in two namespaces may have "+
		"the same name.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.sends(event(watch.Added, "a", "8"), in("other", event(watch.Added, "a", "9")),
			in("other", event(watch.Deleted, "a", "10"))))
		t.Did("the watch sends a@8, other/a@9 and the deletion of other/a")
		once(t, s, st)
		require.Equal(t, []string{"Replace [] @7", "Add a@8", "Add other/a@9", "Delete other/a@10"}, st.calls(),
			"calls of the store")
	})
}
