package customresource

// In this design, copies are written by hand. They use the generic functions of the standard library.

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// copied returns a copy of an optional value.
func copied[T any](in *T, into func(in, out *T)) *T {
	if in == nil {
		return nil
	}
	out := new(T)
	into(in, out)
	return out
}

func (in *BitcoinNetwork) DeepCopyInto(out *BitcoinNetwork) {
	*out = BitcoinNetwork{TypeMeta: in.TypeMeta, ObjectMeta: *in.ObjectMeta.DeepCopy()}
	in.Spec.DeepCopyInto(&out.Spec)
	in.Status.DeepCopyInto(&out.Status)
}

func (in *BitcoinNetwork) DeepCopy() *BitcoinNetwork {
	return copied(in, (*BitcoinNetwork).DeepCopyInto)
}

func (in *BitcoinNetwork) DeepCopyObject() runtime.Object {
	if in == nil {
		return nil
	}
	return in.DeepCopy()
}

func (in *BitcoinNetworkSpec) DeepCopyInto(out *BitcoinNetworkSpec) {
	*out = BitcoinNetworkSpec{
		Chain:   in.Chain,
		Nodes:   copied(in.Nodes, func(in, out *int32) { *out = *in }),
		Version: in.Version,
		Peers:   slices.Clone(in.Peers),
		Options: maps.Clone(in.Options),
	}
}

func (in *BitcoinNetworkSpec) DeepCopy() *BitcoinNetworkSpec {
	return copied(in, (*BitcoinNetworkSpec).DeepCopyInto)
}

func (in *BitcoinNetworkStatus) DeepCopyInto(out *BitcoinNetworkStatus) {
	*out = *in
	out.Conditions = slices.Clone(in.Conditions) // a condition has no references, but for the location of its time
}

func (in *BitcoinNetworkStatus) DeepCopy() *BitcoinNetworkStatus {
	return copied(in, (*BitcoinNetworkStatus).DeepCopyInto)
}

func (in *BitcoinNetworkList) DeepCopyInto(out *BitcoinNetworkList) {
	*out = BitcoinNetworkList{TypeMeta: in.TypeMeta, ListMeta: *(*metav1.ListMeta)(&in.ListMeta).DeepCopy()}
	if in.Items != nil {
		out.Items = make([]BitcoinNetwork, len(in.Items))
	}
	for i := range in.Items {
		in.Items[i].DeepCopyInto(&out.Items[i])
	}
}

func (in *BitcoinNetworkList) DeepCopy() *BitcoinNetworkList {
	return copied(in, (*BitcoinNetworkList).DeepCopyInto)
}

func (in *BitcoinNetworkList) DeepCopyObject() runtime.Object {
	if in == nil {
		return nil
	}
	return in.DeepCopy()
}
