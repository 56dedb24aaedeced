package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/pipeline"
	"client-go-workshop/observe"
)

// The recording names the cause of an endless loop: the change that makes the key reconcile is the program's own write.
func TestBroken_the_recording_names_the_cause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.Start(t)
		api.Create(web())
		api.Script("update", fakeapi.Times(1000, fakeapi.Slow(100*time.Millisecond))...)
		config := api.Config()
		config.QPS = -1
		o := observe.New(10_000)
		manager, err := newManager(config, o)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- manager.Start(ctx) }()
		time.Sleep(10 * time.Second)
		answer := httptest.NewRecorder()
		o.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
		cancel()
		require.NoError(t, <-ended)

		all, err := pipeline.ReadRecordings(bytes.NewReader(answer.Body.Bytes()))
		require.NoError(t, err)
		l := all[0].Log
		_, last := l.Range()
		steps := l.Steps(last, int(last))
		var taken []int64
		for _, s := range steps {
			if s.Seam == pipeline.Queue && s.Verb == pipeline.Get && s.Key == "default/web" {
				taken = append(taken, s.N)
			}
		}
		require.Greater(t, len(taken), 50, "it reconciles again and again")
		var chain []string
		for _, s := range l.Causes(taken[len(taken)-1]) {
			if s.Verb != pipeline.Answered { // the event can come before the answer
				chain = append(chain, s.Sentence())
			}
		}
		end := chain[max(0, len(chain)-4):]
		require.Len(t, end, 4)
		require.Equal(t, "Worker 1 asks the API server to update the deployment default/web.", end[0])
		require.Regexp(t, `^Handler 1 of deployments: OnUpdate for default/web@\d+: its spec or an annotation has changed`,
			end[1])
		require.Equal(t, []string{"default/web goes into the workqueue.", "Worker 1 takes default/web."}, end[2:])
	})
}

func web() *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.29"}}}},
		},
	}
}
