package rewritingproxy_test

// This file runs the proxy between clients that nobody here wrote and a server with a socket, or a real kube-apiserver,
// with TLS and HTTP/2 on the side of the clients:
//
//	go test ./labs/solutions/rewriting-proxy -run Real -kubeconfig FILE -compact 'go tool workshop cluster compact'

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/realapi"
	rewritingproxy "client-go-workshop/labs/solutions/rewriting-proxy"
	watchstream "client-go-workshop/solutions/02-watch-stream"
)

const hiddenLabel = "example.com/hidden"

// through starts a proxy in front of an API server, and returns how to reach it.
func through(t *testing.T, config *rest.Config) *rest.Config {
	upstream, _, err := rest.DefaultServerUrlFor(config)
	require.NoError(t, err)
	transport, err := rest.TransportFor(config)
	require.NoError(t, err)
	proxy, err := rewritingproxy.New(rewritingproxy.Config{
		Upstream: upstream, Transport: transport, NewFrameReader: watchstream.NewFrameReader,
		View: rewritingproxy.View{Factor: 3, HiddenLabel: hiddenLabel},
	})
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(proxy)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return &rest.Config{Host: server.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: authority}}
}

// notes are the calls of an informer's handler for the Deployments of this test.
type notes struct {
	lock sync.Mutex
	all  []string
}

func (n *notes) note(what string, obj any) {
	d, ok := obj.(*appsv1.Deployment)
	if !ok || d.Labels["made-by"] != "proxy" {
		return
	}
	n.lock.Lock()
	defer n.lock.Unlock()
	note := fmt.Sprintf("%s %s: %d", what, d.Name, *d.Spec.Replicas)
	if len(n.all) == 0 || n.all[len(n.all)-1] != note { // controllers write the status
		n.all = append(n.all, note)
	}
}

func (n *notes) OnAdd(obj any, _ bool) { n.note("add", obj) }
func (n *notes) OnUpdate(_, new any)   { n.note("update", new) }
func (n *notes) OnDelete(obj any)      { n.note("delete", obj) }

// await waits until the handler has noted a call.
func (n *notes) await(t *testing.T, note string) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		n.lock.Lock()
		defer n.lock.Unlock()
		noted := slices.ContainsFunc(n.all, func(have string) bool { return strings.HasPrefix(have, note) })
		assert.True(c, noted, "the informer has noted %q; it has %q", note, n.all)
	}, time.Minute, 20*time.Millisecond)
	n.lock.Lock()
	defer n.lock.Unlock()
	n.all = nil
}

func TestReal_clients_through_the_proxy(t *testing.T) {
	config, compact := realapi.Server(t, fakeapi.Start)
	config.QPS = -1
	behind := through(t, config)
	behind.ContentType = "application/json"
	stored, err := typedappsv1.NewForConfig(config)
	require.NoError(t, err)
	shown, err := typedappsv1.NewForConfig(behind)
	require.NoError(t, err)
	ctx := context.Background()
	all, seen := stored.Deployments("default"), shown.Deployments("default")
	for _, name := range []string{"proxy-a", "proxy-b"} {
		_, err := all.Create(ctx, realapi.Deployment(name, "proxy", 1), metav1.CreateOptions{})
		require.NoError(t, err)
		t.Cleanup(func() { all.Delete(ctx, name, metav1.DeleteOptions{}) })
	}
	patch := func(client typedappsv1.DeploymentInterface, name, text string) error {
		_, err := client.Patch(ctx, name, types.MergePatchType, []byte(text), metav1.PatchOptions{})
		return err
	}

	// client-go's informer, which prefers protobuf and streaming lists.
	prefers := rest.CopyConfig(behind)
	prefers.ContentType = ""
	preferring, err := typedappsv1.NewForConfig(prefers)
	require.NoError(t, err)
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return preferring.Deployments("default").List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return preferring.Deployments("default").Watch(ctx, o)
		},
	}, &appsv1.Deployment{}, 0, nil)
	var calls notes
	_, err = informer.AddEventHandler(&calls)
	require.NoError(t, err)
	running, stop := context.WithCancel(ctx)
	defer stop()
	go informer.RunWithContext(running)
	calls.await(t, "add proxy-b: 3")

	// Writes through the proxy, and hiding.
	require.NoError(t, patch(seen, "proxy-a", `{"spec":{"replicas":0}}`))
	calls.await(t, "update proxy-a: 0")
	require.True(t, apierrors.IsInvalid(patch(seen, "proxy-a", `{"spec":{"replicas":7}}`)))
	scale, err := seen.GetScale(ctx, "proxy-b", metav1.GetOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 3, scale.Spec.Replicas)
	scale.Spec.Replicas = 6
	_, err = seen.UpdateScale(ctx, "proxy-b", scale, metav1.UpdateOptions{})
	require.NoError(t, err)
	calls.await(t, "update proxy-b: 6")
	b, err := all.Get(ctx, "proxy-b", metav1.GetOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 2, *b.Spec.Replicas)
	require.NoError(t, patch(all, "proxy-b", `{"metadata":{"labels":{"`+hiddenLabel+`":"yes"}}}`))
	calls.await(t, "delete proxy-b")
	_, err = seen.Get(ctx, "proxy-b", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	require.True(t, apierrors.IsNotFound(seen.Delete(ctx, "proxy-b", metav1.DeleteOptions{})))

	// The server restarts without its history.
	compact()
	require.Eventually(t, func() bool {
		return patch(all, "proxy-b", `{"metadata":{"labels":{"`+hiddenLabel+`":null}}}`) == nil
	}, time.Minute, 100*time.Millisecond, "the server is back")
	calls.await(t, "add proxy-b: 6")
}
