package customresource_test

// Task 1: the types in a scheme, and their way through the API.

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"client-go-workshop/internal/testkit/guard"
	"client-go-workshop/internal/testkit/layers"
	customresource "client-go-workshop/labs/custom-resource"
)

func TestTask1_Scheme_knows_both_types(t *testing.T) {
	guard.Test(t, "AddToScheme registers BitcoinNetwork and BitcoinNetworkList under their group and version: a client "+
		"decodes an answer into the type of its kind.", func(t *guard.T) {
		for _, had := range []string{"nothing", "another type of the version"} {
			s := runtime.NewScheme()
			if had != "nothing" {
				s.AddKnownTypeWithName(customresource.SchemeGroupVersion.WithKind("Status"), &metav1.Status{})
			}
			t.Did("AddToScheme; the scheme has %s", had)
			require.NoError(t, customresource.AddToScheme(s), "the error of AddToScheme")
			for kind, wanted := range guard.InOrder(map[string]runtime.Object{
				"BitcoinNetwork": &customresource.BitcoinNetwork{}, "BitcoinNetworkList": &customresource.BitcoinNetworkList{},
			}) {
				obj, err := s.New(customresource.SchemeGroupVersion.WithKind(kind))
				require.NoError(t, err, "the error of Scheme.New for the kind %s", kind)
				require.IsType(t, wanted, obj, "the object of the kind %s", kind)
			}
			kinds, _, err := s.ObjectKinds(&customresource.BitcoinNetwork{})
			require.NoError(t, err, "the error of Scheme.ObjectKinds")
			require.Len(t, kinds, 1, "the kinds of a BitcoinNetwork")
		}
	})
}

func TestTask1_Scheme_has_the_options(t *testing.T) {
	guard.Test(t, "AddToScheme also registers the options of requests, such as ListOptions, under the group and "+
		"version: without them, a typed client cannot encode the query of a request.", func(t *guard.T) {
		codec := runtime.NewParameterCodec(scheme(t))
		for what, options := range guard.InOrder(map[string]runtime.Object{
			"ListOptions":   &metav1.ListOptions{LabelSelector: "team=chain", Watch: true},
			"GetOptions":    &metav1.GetOptions{ResourceVersion: "0"},
			"CreateOptions": &metav1.CreateOptions{FieldManager: "lab"},
			"UpdateOptions": &metav1.UpdateOptions{FieldManager: "lab"},
			"PatchOptions":  &metav1.PatchOptions{FieldManager: "lab"},
			"DeleteOptions": &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}},
		}) {
			t.Did("encode %s for %s", what, customresource.SchemeGroupVersion)
			_, err := codec.EncodeParameters(options, customresource.SchemeGroupVersion)
			require.NoError(t, err, "the error of encoding %s", what)
		}
	})
}

func TestTask1_AddToScheme_twice(t *testing.T) {
	guard.Test(t, "AddToScheme can be called twice for one scheme: two packages of a program may both add the types.",
		func(t *guard.T) {
			s := runtime.NewScheme()
			t.Did("AddToScheme twice")
			require.NoError(t, customresource.AddToScheme(s), "the error of the first call")
			require.NoError(t, customresource.AddToScheme(s), "the error of the second call")
		})
}

func TestTask1_Network_travels_through_the_layers(t *testing.T) {
	guard.Test(t, "A network that one client creates is what an informer's cache receives.", func(t *guard.T) {
		w := newWorld(t)
		config := w.Config()
		config.QPS = -1
		client, err := below.NewClient(config)
		require.NoError(t, err, "the error of NewClient")
		writer := layers.WriterOf(w.resource(client), "default", newNetwork)
		t.Did("Create")
		created, err := writer.Create(t.Context(), demo(), metav1.CreateOptions{})
		require.NoError(t, err, "the error of Create")
		require.Equal(t, demo().Spec, created.Spec, "the spec in the answer")
		settle()
		t.Did("read it from the informer's cache")
		require.Equal(t, demo().Spec, w.cached().Spec, "the spec in the cache")
		require.Equal(t, created.UID, w.cached().UID, "the UID in the cache")
	})
}
