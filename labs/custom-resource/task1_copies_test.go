package customresource_test

// Task 1: copies of objects.

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"client-go-workshop/internal/testkit/guard"
	customresource "client-go-workshop/labs/custom-resource"
)

// full returns a network with a value in each field.
func full() *customresource.BitcoinNetwork {
	n := demo(withFinalizer)
	n.TypeMeta = metav1.TypeMeta{APIVersion: "bitcoin.example.com/v1alpha1", Kind: "BitcoinNetwork"}
	n.Labels, n.Annotations = map[string]string{"team": "chain"}, map[string]string{"note": "for the tests"}
	then := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	n.GenerateName, n.UID, n.ResourceVersion, n.Generation = "d", "demo-uid", "9", 4
	n.CreationTimestamp, n.DeletionTimestamp, n.DeletionGracePeriodSeconds = then, &then, ptr.To[int64](0)
	n.OwnerReferences = []metav1.OwnerReference{
		{Kind: "Shop", Name: "shop", UID: "1", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)},
	}
	n.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "kubectl", Time: &then, FieldsV1: &metav1.FieldsV1{Raw: []byte("{}")}},
	}
	n.Status = customresource.BitcoinNetworkStatus{
		ObservedGeneration: 4, ReadyNodes: 2, RegisteredChain: "regtest",
		Conditions: []metav1.Condition{{
			Type: "Ready", Status: metav1.ConditionTrue, Reason: "NodesReady", Message: "2 of 2 nodes are ready",
			ObservedGeneration: 4, LastTransitionTime: then,
		}},
	}
	return n
}

// shared returns the paths of the pointers, maps and slices that two values share.
func shared(a, b reflect.Value, path string) (paths []string) {
	if a.Type() == reflect.TypeFor[metav1.Time]() {
		return nil // its location is shared, and never changes
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if a.IsNil() || b.IsNil() {
			return nil
		}
		if a.Pointer() == b.Pointer() && (a.Kind() == reflect.Pointer || a.Len() > 0) {
			return []string{path}
		}
	case reflect.Interface:
		return nil
	}
	switch a.Kind() {
	case reflect.Pointer:
		return shared(a.Elem(), b.Elem(), path)
	case reflect.Struct:
		for i := range a.NumField() {
			if a.Type().Field(i).IsExported() {
				paths = append(paths, shared(a.Field(i), b.Field(i), path+"."+a.Type().Field(i).Name)...)
			}
		}
	case reflect.Slice:
		for i := range min(a.Len(), b.Len()) {
			paths = append(paths, shared(a.Index(i), b.Index(i), fmt.Sprintf("%s[%d]", path, i))...)
		}
	}
	return paths
}

const copies = "A copy equals the original, and shares no memory with it: the caches of all controllers of a program " +
	"hold the original."

func TestTask1_Copy_shares_nothing(t *testing.T) {
	guard.Test(t, copies, func(t *guard.T) {
		original := full()
		t.Did("DeepCopy of a network with a value in each field")
		c := original.DeepCopy()
		require.Equal(t, original, c, "the copy")
		require.Empty(t, shared(reflect.ValueOf(original), reflect.ValueOf(c), "network"), "memory that both use")
	})
}

func TestTask1_Copies_of_parts_share_nothing(t *testing.T) {
	guard.Test(t, copies, func(t *guard.T) {
		original := full()
		t.Did("DeepCopy of the spec")
		spec := original.Spec.DeepCopy()
		require.Equal(t, &original.Spec, spec, "the copy of the spec")
		require.Empty(t, shared(reflect.ValueOf(&original.Spec), reflect.ValueOf(spec), "spec"), "memory that both use")
		t.Did("DeepCopy of the status")
		status := original.Status.DeepCopy()
		require.Equal(t, &original.Status, status, "the copy of the status")
		require.Empty(t, shared(reflect.ValueOf(&original.Status), reflect.ValueOf(status), "status"),
			"memory that both use")
	})
}

func TestTask1_Copy_of_a_list_shares_nothing(t *testing.T) {
	guard.Test(t, copies, func(t *guard.T) {
		remaining := int64(3)
		list := &customresource.BitcoinNetworkList{
			TypeMeta: metav1.TypeMeta{APIVersion: "bitcoin.example.com/v1alpha1", Kind: "BitcoinNetworkList"},
			ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "page 2", RemainingItemCount: &remaining},
			Items:    []customresource.BitcoinNetwork{*full(), *full()},
		}
		t.Did("DeepCopy of a list of two networks")
		c := list.DeepCopy()
		require.Equal(t, list, c, "the copy")
		require.Empty(t, shared(reflect.ValueOf(list), reflect.ValueOf(c), "list"), "memory that both use")
	})
}

func TestTask1_DeepCopyObject_has_the_same_type(t *testing.T) {
	guard.Test(t, "DeepCopyObject returns a copy of the same type: an informer's cache passes objects as "+
		"runtime.Object.", func(t *guard.T) {
		original := full()
		t.Did("DeepCopyObject of a network")
		c := original.DeepCopyObject()
		require.Equal(t, runtime.Object(original), c, "the copy")
		require.Empty(t, shared(reflect.ValueOf(original), reflect.ValueOf(c), "network"), "memory that both use")
		list := &customresource.BitcoinNetworkList{Items: []customresource.BitcoinNetwork{*full()}}
		t.Did("DeepCopyObject of a list")
		require.Equal(t, runtime.Object(list), list.DeepCopyObject(), "the copy of the list")
	})
}

func TestTask1_Copy_of_nil_is_nil(t *testing.T) {
	guard.Test(t, "A copy of nil is nil: callers copy before they look.", func(t *guard.T) {
		var network *customresource.BitcoinNetwork
		var spec *customresource.BitcoinNetworkSpec
		var status *customresource.BitcoinNetworkStatus
		var list *customresource.BitcoinNetworkList
		t.Did("DeepCopy of nil")
		require.True(t, network.DeepCopy() == nil, "the copy of a nil network is nil")
		require.True(t, spec.DeepCopy() == nil, "the copy of a nil spec is nil")
		require.True(t, status.DeepCopy() == nil, "the copy of a nil status is nil")
		require.True(t, list.DeepCopy() == nil, "the copy of a nil list is nil")
		t.Did("DeepCopyObject of a nil network")
		require.True(t, network.DeepCopyObject() == nil, "the runtime.Object of a nil network is nil, without a type")
		require.True(t, list.DeepCopyObject() == nil, "the runtime.Object of a nil list is nil, without a type")
	})
}

func TestTask1_DeepCopyInto_replaces_all(t *testing.T) {
	guard.Test(t, "DeepCopyInto replaces everything in its argument: a field that the original lacks is empty "+
		"afterwards.", func(t *guard.T) {
		original, out := &customresource.BitcoinNetwork{}, full()
		original.Name = "empty"
		t.Did("DeepCopyInto of a network with a name alone, into a full one")
		original.DeepCopyInto(out)
		require.Equal(t, original, out, "the network after DeepCopyInto")
		list := full()
		t.Did("DeepCopyInto of an empty spec and status, into full ones")
		original.Spec.DeepCopyInto(&list.Spec)
		original.Status.DeepCopyInto(&list.Status)
		require.Equal(t, original.Spec, list.Spec, "the spec after DeepCopyInto")
		require.Equal(t, original.Status, list.Status, "the status after DeepCopyInto")
		t.Did("DeepCopyInto of an empty list, into one with a network")
		items := &customresource.BitcoinNetworkList{
			ListMeta: metav1.ListMeta{ResourceVersion: "9"}, Items: []customresource.BitcoinNetwork{*full()},
		}
		new(customresource.BitcoinNetworkList).DeepCopyInto(items)
		require.Equal(t, &customresource.BitcoinNetworkList{}, items, "the list after DeepCopyInto")
	})
}

func TestTask1_Copy_keeps_empty_and_nil_apart(t *testing.T) {
	guard.Test(t, "A copy equals the original also where it is empty: nil stays nil, and an empty list stays an empty "+
		"list.", func(t *guard.T) {
		original := demo()
		original.Spec.Peers, original.Spec.Options, original.Status.Conditions = []string{}, nil, []metav1.Condition{}
		t.Did("DeepCopy of a network with an empty list of peers, and without options")
		c := original.DeepCopy()
		require.Equal(t, original, c, "the copy")
		t.Rule(copies)
		original.Spec.Peers, original.Spec.Options = make([]string, 0, 8), map[string]string{}
		original.Status.Conditions = make([]metav1.Condition, 0, 8)
		t.Did("DeepCopy of a network with room for peers and conditions, and with an empty map of options; the copy gets " +
			"one of each")
		c = original.DeepCopy()
		require.Equal(t, original, c, "the copy")
		c.Spec.Peers, c.Spec.Options["txindex"] = append(c.Spec.Peers, "a.example.com:8333"), "1"
		c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: "Ready"})
		require.Empty(t, original.Spec.Peers[:8][0], "the text behind the end of the original's peers")
		require.Empty(t, original.Spec.Options, "the options of the original")
		require.Empty(t, original.Status.Conditions[:8][0], "the condition behind the end of the original's conditions")
		t.Did("DeepCopy of a network with 0 nodes; the copy gets 5")
		original.Spec.Nodes = ptr.To[int32](0)
		c = original.DeepCopy()
		*c.Spec.Nodes = 5
		require.Equal(t, int32(0), *original.Spec.Nodes, "the nodes of the original")
		t.Did("DeepCopy of a list with room for networks; the copy gets one")
		list := &customresource.BitcoinNetworkList{Items: make([]customresource.BitcoinNetwork, 0, 8)}
		copied := list.DeepCopy()
		require.Equal(t, list, copied, "the copy")
		copied.Items = append(copied.Items, *c)
		require.Empty(t, list.Items[:8][0], "the network behind the end of the original's items")
	})
}
