package customresource_test

// Task 3: the Deployment that a network wants.

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"client-go-workshop/internal/testkit/guard"
	customresource "client-go-workshop/labs/custom-resource"
)

// wanted returns the Deployment of a network.
func wanted(t *guard.T, edits ...func(*customresource.BitcoinNetwork)) *appsv1.Deployment {
	t.Did("NewDeployment")
	return customresource.NewDeployment(demo(append([]func(*customresource.BitcoinNetwork){onServer}, edits...)...))
}

func TestTask3_Name(t *testing.T) {
	guard.Test(t, "It has the network's name and namespace.", func(t *guard.T) {
		d := wanted(t, func(n *customresource.BitcoinNetwork) { n.Namespace, n.Name = "shop", "coins" })
		require.Equal(t, "shop/coins", d.Namespace+"/"+d.Name, "the Deployment's name")
	})
}

func TestTask3_Owner(t *testing.T) {
	guard.Test(t, "The network is its controlling owner: the garbage collector deletes the Deployment with it, and the "+
		"Deployment's events find it.", func(t *guard.T) {
		// As a cache has it: without its kind.
		for _, owners := range [][]metav1.OwnerReference{nil, full().OwnerReferences} {
			t.Did("the network has %d owners itself", len(owners))
			owner := metav1.GetControllerOf(wanted(t, func(n *customresource.BitcoinNetwork) { n.OwnerReferences = owners }))
			require.NotNil(t, owner, "the controlling owner")
			require.Equal(t, "bitcoin.example.com/v1alpha1 BitcoinNetwork", owner.APIVersion+" "+owner.Kind,
				"the owner's kind")
			require.Equal(t, "demo demo-uid", owner.Name+" "+string(owner.UID), "the owner's name and UID")
		}
	})
}

func TestTask3_Labels(t *testing.T) {
	guard.Test(t, "Its Pods have NetworkLabel, and its selector selects by NetworkLabel alone: a selector cannot change, "+
		"so it must not name what can.", func(t *guard.T) {
		d := wanted(t, func(n *customresource.BitcoinNetwork) {
			n.Name, n.Labels = "21-coins.v2", map[string]string{"team": "chain"}
		})
		require.Equal(t, "21-coins.v2", d.Spec.Template.Labels["bitcoin.example.com/network"], "the Pods' NetworkLabel")
		selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
		require.NoError(t, err, "the error of reading the selector")
		value, exact := selector.RequiresExactMatch("bitcoin.example.com/network")
		require.True(t, exact, "the selector %s selects one value of NetworkLabel", selector)
		require.Equal(t, "21-coins.v2", value, "the value that the selector selects")
		requirements, _ := selector.Requirements()
		require.Len(t, requirements, 1, "the requirements of the selector")
	})
}

func TestTask3_Replicas(t *testing.T) {
	guard.Test(t, "It has as many replicas as the network has nodes, or 3 without a number: an object that is older than "+
		"the default lacks it.", func(t *guard.T) {
		for _, nodes := range []*int32{nil, ptr.To[int32](0), ptr.To[int32](7)} {
			replicas := ptr.Deref(nodes, 3)
			d := wanted(t, func(n *customresource.BitcoinNetwork) { n.Spec.Nodes = nodes })
			require.Equal(t, &replicas, d.Spec.Replicas, "the replicas for %v nodes", ptr.Deref(nodes, -1))
		}
	})
}

func TestTask3_Image(t *testing.T) {
	guard.Test(t, "Its container bitcoind runs the image bitcoin/bitcoin with the network's version as the tag.",
		func(t *guard.T) {
			d := wanted(t, func(n *customresource.BitcoinNetwork) { n.Spec.Version = "28.4" })
			require.Len(t, d.Spec.Template.Spec.Containers, 1, "the containers")
			c := d.Spec.Template.Spec.Containers[0]
			require.Equal(t, "bitcoind runs bitcoin/bitcoin:28.4", c.Name+" runs "+c.Image, "the container")
		})
}

func TestTask3_Arguments(t *testing.T) {
	guard.Test(t, "The arguments are -chain=CHAIN, then -addnode=PEER for each peer in the network's order, then "+
		"-NAME=VALUE for each option, sorted by name: the order of a Go map changes from call to call, and each other "+
		"order is a rollout.", func(t *guard.T) {
		for range 20 {
			require.Equal(t, []string{"-chain=regtest", "-addnode=b.example.com:8333", "-addnode=a.example.com:8333",
				"-dbcache=450", "-maxmempool=100", "-txindex=1"}, wanted(t).Spec.Template.Spec.Containers[0].Args,
				"the arguments")
		}
		t.Rule("Two calls for one network return equal Deployments: also if two names differ only in their case.")
		twins := func(n *customresource.BitcoinNetwork) {
			n.Spec.Options = map[string]string{"dbcache": "1", "dbCache": "2", "DBcache": "3"}
		}
		first := wanted(t, twins).Spec.Template.Spec.Containers[0].Args
		for range 40 {
			require.Equal(t, first, wanted(t, twins).Spec.Template.Spec.Containers[0].Args, "the arguments")
		}
		t.Rule("The arguments are sorted by the names of the options.")
		many := map[string]string{"daemon": ""}
		for i := range 100 {
			many[fmt.Sprintf("option%03d", i)] = "1"
		}
		args := wanted(t, func(n *customresource.BitcoinNetwork) {
			n.Spec.Options = many
		}).Spec.Template.Spec.Containers[0].Args[3:]
		require.Len(t, args, 101, "the arguments for 101 options")
		require.Equal(t, "-daemon=", args[0], "the argument for an option with an empty value")
		require.Equal(t, "-option099=1", args[100], "the last argument")
		args = wanted(t, func(n *customresource.BitcoinNetwork) {
			n.Spec.Peers = []string{"b", "", "a"}
			n.Spec.Options = map[string]string{"rpc": "1", "rpcAllow": "3", "rpc-user": "2", "chain": "main",
				"uacomment": ` our  "first" node `}
		}).Spec.Template.Spec.Containers[0].Args
		require.Equal(t, []string{"-chain=regtest", "-addnode=b", "-addnode=", "-addnode=a", "-chain=main", "-rpc=1",
			"-rpc-user=2", "-rpcAllow=3", `-uacomment= our  "first" node `}, args, "the arguments for unusual peers and options")
	})
}

func TestTask3_No_chain_is_regtest(t *testing.T) {
	guard.Test(t, "Without a chain it is regtest.", func(t *guard.T) {
		d := wanted(t, func(n *customresource.BitcoinNetwork) {
			n.Spec, n.Status.RegisteredChain = customresource.BitcoinNetworkSpec{Version: "29.0"}, "test"
		})
		require.Equal(t, []string{"-chain=regtest"}, d.Spec.Template.Spec.Containers[0].Args, "the arguments")
	})
}

func TestTask3_Two_calls_share_nothing(t *testing.T) {
	guard.Test(t, "Two calls for one network return equal Deployments, which share nothing with each other or the "+
		"network: the network comes from the cache.", func(t *guard.T) {
		n := demo(onServer)
		n.Labels, n.Annotations = map[string]string{"team": "chain"}, map[string]string{"note": "for the tests"}
		peers := []string{"b.example.com:8333", "a.example.com:8333", "behind the end"}
		n.Spec.Peers = peers[:2]
		n.OwnerReferences = append(make([]metav1.OwnerReference, 0, 8), full().OwnerReferences...)
		before := n.DeepCopy()
		t.Did("NewDeployment twice")
		a, b := customresource.NewDeployment(n), customresource.NewDeployment(n)
		require.Equal(t, a, b, "the second Deployment")
		require.Empty(t, shared(reflect.ValueOf(a), reflect.ValueOf(b), "deployment"), "memory that both use")
		t.Did("the caller changes the Deployment")
		*a.Spec.Replicas = 9
		a.Labels["team"] = "a"
		require.NotContains(t, a.Spec.Selector.MatchLabels, "team", "the selector after a change of the Deployment's labels")
		require.NotContains(t, a.Spec.Template.Labels, "team", "the Pods' labels after a change of the Deployment's labels")
		require.Equal(t, before, n, "the network")
		require.Equal(t, "behind the end", peers[2], "the text behind the end of the peers")
		require.Empty(t, n.OwnerReferences[:2][1].Name, "the owner behind the end of the network's owners")
		require.Equal(t, int32(2), *b.Spec.Replicas, "the replicas of the other Deployment")
		require.NotContains(t, b.Labels, "team", "the labels of the other Deployment")
	})
}
