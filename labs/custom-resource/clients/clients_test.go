// Package clients uses the generated code: the client, the informer and the lister. It is a package of its own because
// the generated client imports much of client-go, and because it ends the program if AddToScheme is not written.
package clients

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/fakeapi/crd"
	"client-go-workshop/internal/testkit/guard"
	customresource "client-go-workshop/labs/custom-resource"
	applyv1alpha1 "client-go-workshop/labs/custom-resource/generated/applyconfiguration/bitcoin/v1alpha1"
	"client-go-workshop/labs/custom-resource/generated/clientset/versioned"
	"client-go-workshop/labs/custom-resource/generated/informers/externalversions"
	finished "client-go-workshop/labs/solutions/custom-resource"
)

func TestGenerated_client_informer_and_lister(t *testing.T) {
	guard.Test(t, "What the generators write works together: the client writes, and the lister reads what the informer "+
		"has received.", func(t *guard.T) {
		custom, err := crd.Parse(finished.Manifest())
		require.NoError(t, err, "the error of reading the manifest")
		api := fakeapi.Start(t)
		api.Serve(custom)
		config := api.Config()
		config.QPS = -1
		client, err := versioned.NewForConfigAndClient(config, api.Client())
		require.NoError(t, err, "the error of NewForConfigAndClient")
		networks := client.BitcoinV1alpha1().BitcoinNetworks("default")

		demo := &customresource.BitcoinNetwork{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
		demo.Spec.Version = "29.0"
		t.Did("Create, with the generated client")
		created, err := networks.Create(t.Context(), demo, metav1.CreateOptions{})
		require.NoError(t, err, "the error of Create")
		require.Equal(t, ptr.To[int32](3), created.Spec.Nodes, "the nodes, which the server has filled in")
		created.Status.ReadyNodes = 2
		t.Did("UpdateStatus")
		_, err = networks.UpdateStatus(t.Context(), created, metav1.UpdateOptions{})
		require.NoError(t, err, "the error of UpdateStatus")

		factory := externalversions.NewSharedInformerFactory(client, 10*time.Minute)
		informer := factory.Bitcoin().V1alpha1().BitcoinNetworks()
		informer.Informer()
		t.Did("start the generated informer, and read from the generated lister")
		factory.StartWithContext(t.Context())
		t.Cleanup(factory.Shutdown)
		factory.WaitForCacheSyncWithContext(t.Context())
		found, err := informer.Lister().BitcoinNetworks("default").List(labels.Everything())
		require.NoError(t, err, "the error of List")
		require.Len(t, found, 1, "the listed networks")
		require.Equal(t, int32(2), found[0].Status.ReadyNodes, "the ready nodes of the listed network")
	})
}

func TestGenerated_apply_configuration(t *testing.T) {
	guard.Test(t, "An apply configuration has the fields that a client applies, and no others.", func(t *guard.T) {
		t.Did("an apply configuration with a number of nodes")
		config := applyv1alpha1.BitcoinNetwork("demo", "default").WithSpec(applyv1alpha1.BitcoinNetworkSpec().WithNodes(0))
		require.Equal(t, ptr.To[int32](0), config.Spec.Nodes, "the nodes")
		require.Nil(t, config.Spec.Version, "the version, which nobody has set")
	})
}
