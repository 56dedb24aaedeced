package reflector_test

// This file has the gate that turns streaming lists off, as KUBE_FEATURE_WatchListClient=false does.

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/solutions/03-reflector"
)

func TestGate_WatchListClient_decides_about_streams(t *testing.T) {
	for on, first := range map[bool]string{true: "stream", false: "list"} {
		featurestesting.SetFeatureDuringTest(t, features.WatchListClient, on)
		ctx, cancel := context.WithCancel(t.Context())
		var asked []string
		ask := func(what string) {
			asked = append(asked, what)
			cancel()
		}
		lw := &cache.ListWatch{
			ListFunc: func(metav1.ListOptions) (runtime.Object, error) {
				ask("list")
				return &corev1.PodList{}, nil
			},
			WatchFunc: func(metav1.ListOptions) (watch.Interface, error) {
				ask("stream")
				return nil, context.Canceled
			},
		}
		_ = reflector.NewReflector(lw, &corev1.Pod{}, cache.NewStore(cache.MetaNamespaceKeyFunc), 0).
			ListAndWatchWithContext(ctx)
		require.NotEmpty(t, asked)
		require.Equal(t, first, asked[0], "the first request with the gate %t", on)
	}
}
