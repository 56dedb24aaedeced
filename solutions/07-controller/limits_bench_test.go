package controller

// This file measures the parts of a first list that no informer can leave out, for the same objects as BenchmarkSync of
// the chapter: the limits that docs/learn/performance.md shows beside it.

import (
	"fmt"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"client-go-workshop/internal/testkit/layers"
)

func BenchmarkLimits(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		list := &appsv1.DeploymentList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
		for i := range n {
			list.Items = append(list.Items, *web(func(d *appsv1.Deployment) {
				d.Name, d.UID, d.Spec.Replicas = fmt.Sprintf("web-%d", i), "", nil
				d.Spec.Selector.MatchLabels["app"], d.Spec.Template.Labels["app"] = d.Name, d.Name
				d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "nginx:1.29"}}
				d.Annotations = map[string]string{"deployment.kubernetes.io/revision": "1", "owner": "a team with a long name"}
			}))
		}
		text, err := runtime.Encode(layers.Codecs.LegacyCodec(appsv1.SchemeGroupVersion), list)
		require.NoError(b, err)
		limit := func(name string, do func(b *testing.B)) {
			b.Run(fmt.Sprintf("%s/n=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					do(b)
				}
			})
		}
		target := make([]byte, len(text))
		limit("copy", func(*testing.B) { copy(target, text) }) // the bytes, once through the memory
		limit("pass", func(b *testing.B) {                     // one pass over the JSON that keeps nothing
			require.True(b, jsontext.Value(text).IsValid())
		})
		limit("objects", func(*testing.B) { // the objects that stay in the cache, without their text
			for i := range list.Items {
				list.Items[i].DeepCopy()
			}
		})
		limit("store", func(*testing.B) { // one lock and one write for each object
			var lock sync.Mutex
			items := make(map[string]*appsv1.Deployment)
			for i := range list.Items {
				lock.Lock()
				items[list.Items[i].Name] = &list.Items[i]
				lock.Unlock()
			}
		})
	}
}
