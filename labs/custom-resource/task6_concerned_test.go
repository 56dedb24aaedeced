package customresource_test

// Task 6: which network an event concerns.

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"client-go-workshop/internal/testkit/guard"
	customresource "client-go-workshop/labs/custom-resource"
)

// owned returns a Deployment default/NAME that an object controls.
func owned(name, apiVersion, kind, owner string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: version, Kind: "BitcoinNetwork", Name: "not-in-charge", Controller: ptr.To(false)},
			{APIVersion: apiVersion, Kind: kind, Name: owner, Controller: ptr.To(true)},
		},
	}}
}

const (
	version = "bitcoin.example.com/v1alpha1"
	kind    = "BitcoinNetwork"
)

// concerned returns the names that an event concerns.
func concerned(t *guard.T, states ...any) []string {
	t.Did("Concerned")
	names := []string{}
	for _, name := range customresource.Concerned(states...) {
		names = append(names, name.String())
	}
	return names
}

func TestTask6_Network_concerns_itself(t *testing.T) {
	guard.Test(t, "A network's event concerns the network.", func(t *guard.T) {
		require.Equal(t, []string{"default/demo"}, concerned(t, demo()), "the networks that its event concerns")
		ends := demo(func(n *customresource.BitcoinNetwork) { n.DeletionTimestamp = new(metav1.Now()) })
		require.Equal(t, []string{"default/demo"}, concerned(t, ends), "the networks, if it ends and has no finalizer")
	})
}

func TestTask6_Deployment_finds_its_owner(t *testing.T) {
	guard.Test(t, "A Deployment's event concerns the network that controls the Deployment: its Pods became ready, or a user "+
		"deleted it.", func(t *guard.T) {
		require.Contains(t, concerned(t, owned("web", version, kind, "coins")), "default/coins",
			"the networks that its event concerns")
		t.Rule("A Deployment's event concerns the network that controls the Deployment, also after the version of the API " +
			"has changed.")
		for _, later := range []string{"bitcoin.example.com/v1", "bitcoin.example.com/v2beta1"} {
			require.Contains(t, concerned(t, owned("web", later, kind, "coins")), "default/coins",
				"the networks that its event concerns, with an owner of %s", later)
		}
	})
}

func TestTask6_Deployment_frees_its_name(t *testing.T) {
	guard.Test(t, "It also concerns the network of the Deployment's name, which may wait for the name.",
		func(t *guard.T) {
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo"}}
			require.Equal(t, []string{"default/demo"}, concerned(t, d), "the networks that its event concerns")
			d.Labels = map[string]string{customresource.NetworkLabel: "demo"}
			require.Equal(t, []string{"default/demo"}, concerned(t, d), "the networks that the event of a copy concerns")
			d.DeletionTimestamp = new(metav1.Now())
			require.Equal(t, []string{"default/demo"}, concerned(t, d), "the networks that its deletion concerns")
			require.Equal(t, []string{"default/demo"}, concerned(t, d, d.DeepCopy()),
				"the networks that an update concerns while it is being deleted")
		})
}

func TestTask6_Both_states_count(t *testing.T) {
	guard.Test(t, "Both states count: a Deployment that a user orphans has its old owner in the old state alone.",
		func(t *guard.T) {
			before := owned("web", version, kind, "coins")
			after := before.DeepCopy()
			after.OwnerReferences = nil
			require.ElementsMatch(t, []string{"default/web", "default/coins"}, concerned(t, before, after),
				"the networks that the update concerns")
		})
}

func TestTask6_Other_owners_are_not_networks(t *testing.T) {
	guard.Test(t, "An owner of another kind or group is not a network.", func(t *guard.T) {
		for _, other := range []string{"BitcoinWallet", "BitcoinNetworkPeer"} {
			require.Equal(t, []string{"default/web"}, concerned(t, owned("web", version, other, "coins")),
				"the networks that its event concerns, with an owner of the kind %s", other)
		}
		for _, other := range []string{"example.com/v1", "bitcoin.example.community/v1", "my.bitcoin.example.com/v1",
			"example.com/bitcoin.example.com", "v1"} {
			require.Equal(t, []string{"default/web"}, concerned(t, owned("web", other, kind, "coins")),
				"the networks that its event concerns, with an owner of %s", other)
		}
	})
}

func TestTask6_Names_are_returned_once(t *testing.T) {
	guard.Test(t, "Each name is returned once: a name that is queued twice can be processed twice.", func(t *guard.T) {
		d := owned("demo", version, kind, "demo")
		require.Equal(t, []string{"default/demo"}, concerned(t, d, d.DeepCopy()), "the networks that the update concerns")
		before, after := owned("web", version, kind, "coins"), owned("web", version, kind, "blocks")
		require.ElementsMatch(t, []string{"default/web", "default/coins", "default/blocks"}, concerned(t, before, after),
			"the networks that the update concerns, if the Deployment has another owner than before")
		t.Rule("Concerned returns the names of the networks that an event concerns: the next event does not change them.")
		names := customresource.Concerned(demo())
		t.Did("Concerned for default/demo, and then for another event")
		customresource.Concerned(before, after)
		require.Equal(t, []cache.ObjectName{cache.NewObjectName("default", "demo")}, names, "the names of the first event")
	})
}

func TestTask6_Tombstones(t *testing.T) {
	guard.Test(t, "It receives the new state of an object, or the old and the new; after a missed deletion the state is a "+
		"tombstone.", func(t *guard.T) {
		d := owned("web", version, kind, "coins")
		require.ElementsMatch(t, []string{"default/web", "default/coins"},
			concerned(t, cache.DeletedFinalStateUnknown{Key: "default/web", Obj: d}), "the networks that a tombstone concerns")
		require.Equal(t, []string{"default/demo"},
			concerned(t, cache.DeletedFinalStateUnknown{Key: "default/demo", Obj: demo()}),
			"the networks that a network's tombstone concerns")
	})
}

func TestTask6_Other_objects_are_ignored(t *testing.T) {
	guard.Test(t, "Concerned ignores any other object.", func(t *guard.T) {
		require.Empty(t, concerned(t, &metav1.Status{}, nil, "text", cache.DeletedFinalStateUnknown{Key: "default/demo"}),
			"the networks that odd objects concern")
		meta := owned("demo", version, kind, "coins").ObjectMeta
		require.Empty(t, concerned(t, &corev1.Pod{ObjectMeta: meta}, &appsv1.ReplicaSet{ObjectMeta: meta},
			&metav1.PartialObjectMetadata{ObjectMeta: meta}, generic(t, demo())),
			"the networks that a Pod, a ReplicaSet and objects without a Go type concern")
		require.Equal(t, []string{"default/demo"}, concerned(t, demo(), &metav1.Status{}),
			"the networks that a network and an odd object concern")
		require.Equal(t, []string{"default/demo"}, concerned(t, &metav1.Status{}, nil, demo()),
			"the networks that odd objects and a network concern")
	})
}

func TestTask6_Resync_concerns_its_object(t *testing.T) {
	guard.Test(t, "A network's event concerns the network: also a resync, whose two states are one.", func(t *guard.T) {
		network := demo(onServer)
		require.Equal(t, []string{"default/demo"}, concerned(t, network, network), "the networks")
		deployment := owned("web", version, kind, "coins")
		deployment.ResourceVersion = "7"
		t.Rule("A Deployment's event concerns the network that controls the Deployment: also a resync.")
		require.ElementsMatch(t, []string{"default/web", "default/coins"}, concerned(t, deployment, deployment), "the networks")
	})
}
