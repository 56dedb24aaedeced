package reflector_test

// This file runs the layers of chapters 01 to 03 together on a server with a socket, or on a real kube-apiserver:
//
//	go test ./solutions/03-reflector -run Real -kubeconfig FILE -compact 'go tool workshop cluster compact'

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/realapi"
	restclient "client-go-workshop/solutions/01-restclient"
	watchstream "client-go-workshop/solutions/02-watch-stream"
	reflector "client-go-workshop/solutions/03-reflector"
)

// listed hides that a source can list by a watch.
type listed struct{ *watchstream.ListWatch }

func (listed) IsWatchListSemanticsUnSupported() bool { return true }

func TestReal_stores_follow_through_a_compaction_and_a_restart(t *testing.T) {
	config, compact := realapi.Server(t, fakeapi.Start)
	c, err := restclient.AppsV1For(config)
	require.NoError(t, err)
	c.NewWatcher = watchstream.NewWatcherFor(restclient.Codecs.WithoutConversion(), appsv1.SchemeGroupVersion)
	deployments := restclient.NewDeployments(c, "default")
	lw := watchstream.NewFilteredListWatchFromClient(c, "deployments", "default",
		func(o *metav1.ListOptions) { o.LabelSelector = "made-by=chapter-03" })

	// One that lists, in pages, and one that streams.
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{}, 2)
	lists, streams := cache.NewStore(cache.MetaNamespaceKeyFunc), cache.NewStore(cache.MetaNamespaceKeyFunc)
	for _, r := range []*reflector.Reflector{
		reflector.NewReflector(listed{lw}, &appsv1.Deployment{}, lists, 0), reflector.NewReflector(lw, &appsv1.Deployment{},
			streams, 0),
	} {
		r.WatchListPageSize = 2
		go func() { r.RunWithContext(ctx); ended <- struct{}{} }()
	}
	defer func() {
		cancel()
		<-ended
		<-ended
	}()
	follow := func(names ...string) {
		want := []string{}
		for _, name := range names {
			want = append(want, "default/chapter-03-"+name)
		}
		for what, store := range map[string]cache.Store{"lists": lists, "streams": streams} {
			require.Eventually(t, func() bool {
				keys := store.ListKeys()
				slices.Sort(keys)
				return slices.Equal(want, keys)
			}, 2*time.Minute, 20*time.Millisecond, "the store of the Reflector that %s", what)
		}
	}
	create := func(name string) {
		t.Helper()
		require.Eventually(t, func() bool {
			_, err := deployments.Create(context.Background(), realapi.Deployment("chapter-03-"+name, "chapter-03", 0),
				metav1.CreateOptions{})
			return err == nil
		}, time.Minute, 100*time.Millisecond)
		t.Cleanup(func() { deployments.Delete(context.Background(), "chapter-03-"+name, metav1.DeleteOptions{}) })
	}
	for i := range 5 {
		create(fmt.Sprint(i))
	}
	follow("0", "1", "2", "3", "4")
	require.NoError(t, deployments.Delete(context.Background(), "chapter-03-0", metav1.DeleteOptions{}))
	follow("1", "2", "3", "4")

	compact()
	create("5")
	follow("1", "2", "3", "4", "5")
}
