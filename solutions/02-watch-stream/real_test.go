package watchstream_test

// This file runs the layers of chapters 01 and 02 on a server with a socket, or on a real kube-apiserver:
//
//	go test ./solutions/02-watch-stream -run Real -kubeconfig FILE -compact 'go tool workshop cluster compact'

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/realapi"
	restclient "client-go-workshop/solutions/01-restclient"
	watchstream "client-go-workshop/solutions/02-watch-stream"
)

// first waits for the first event of a type about an object of that name, or about any object if the name is empty. It
// skips other events, because a real server has controllers that change objects.
func first(t *testing.T, w watch.Interface, kind watch.EventType, name string) watch.Event {
	late := time.After(time.Minute)
	for {
		select {
		case e, ok := <-w.ResultChan():
			require.True(t, ok, "the watch ended before %s", kind)
			if d, ok := e.Object.(*appsv1.Deployment); e.Type == kind && (name == "" || ok && d.Name == name) {
				return e
			}
		case <-late:
			require.Fail(t, "no event", "%s has not come in a minute", kind)
		}
	}
}

func TestReal_pages_and_a_watch_through_a_compaction(t *testing.T) {
	config, compact := realapi.Server(t, fakeapi.Start)
	c, err := restclient.AppsV1For(config)
	require.NoError(t, err)
	c.NewWatcher = watchstream.NewWatcherFor(restclient.Codecs.WithoutConversion(), appsv1.SchemeGroupVersion)
	ctx := context.Background()
	deployments := restclient.NewDeployments(c, "default")
	for i := range 5 {
		name := fmt.Sprint("chapter-02-", i)
		_, err := deployments.Create(ctx, realapi.Deployment(name, "chapter-02", 0), metav1.CreateOptions{})
		require.NoError(t, err)
		t.Cleanup(func() { deployments.Delete(ctx, name, metav1.DeleteOptions{}) })
	}
	lw := watchstream.NewFilteredListWatchFromClient(c, "deployments", "default",
		func(o *metav1.ListOptions) { o.LabelSelector = "made-by=chapter-02" })

	// In pages.
	found, version := 0, ""
	for more := true; more; {
		obj, err := lw.ListWithContext(ctx, metav1.ListOptions{Limit: 2, Continue: version})
		require.NoError(t, err)
		page := obj.(*appsv1.DeploymentList)
		require.LessOrEqual(t, len(page.Items), 2)
		found += len(page.Items)
		version, more = page.Continue, page.Continue != ""
		if !more {
			version = page.ResourceVersion
		}
	}
	require.Equal(t, 5, found)

	// A watch, and changes.
	w, err := lw.WatchWithContext(ctx, metav1.ListOptions{ResourceVersion: version})
	require.NoError(t, err)
	_, err = deployments.Patch(ctx, "chapter-02-0", "application/merge-patch+json",
		[]byte(`{"metadata":{"annotations":{"a":"b"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	first(t, w, watch.Modified, "chapter-02-0")
	require.NoError(t, deployments.Delete(ctx, "chapter-02-1", metav1.DeleteOptions{}))
	first(t, w, watch.Deleted, "chapter-02-1")

	// The server compacts its history and restarts. The watch ends without an error, and cannot resume at its version.
	compact()
	for e := range w.ResultChan() {
		require.NotEqual(t, watch.Error, e.Type, "%v", e.Object)
	}
	again, err := lw.WatchWithContext(ctx, metav1.ListOptions{ResourceVersion: version})
	if err == nil {
		e := first(t, again, watch.Error, "")
		again.Stop()
		err = apierrors.FromObject(e.Object)
	}
	require.True(t, apierrors.IsResourceExpired(err) || apierrors.IsGone(err), "%v", err)

	// A list returns the current objects.
	obj, err := watchstream.NewListWatchFromClient(c, "deployments", "default",
		fields.OneTermEqualSelector("metadata.name", "chapter-02-0")).ListWithContext(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, obj.(*appsv1.DeploymentList).Items, 1)
}
