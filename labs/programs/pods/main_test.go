package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"client-go-workshop/labs/programs/internal/shown"
)

// server answers each request with the same watch. The fake API server has no Pods.
type server struct {
	lock   sync.Mutex
	paths  []string
	events io.ReadCloser
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.paths = append(s.paths, r.URL.Path)
	context.AfterFunc(r.Context(), func() { s.events.Close() })
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {runtime.ContentTypeJSON}},
		Body: s.events, Request: r}, nil
}

// output can be written to and read at the same time.
type output struct {
	lock sync.Mutex
	strings.Builder
}

func (o *output) Write(b []byte) (int, error) {
	o.lock.Lock()
	defer o.lock.Unlock()
	return o.Builder.Write(b)
}

func TestRun_prints_what_the_page_shows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, send := io.Pipe()
		api := &server{events: events}
		client, err := kubernetes.NewForConfigAndClient(&rest.Config{}, &http.Client{Transport: api})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		out := &output{}
		ended := make(chan error, 1)
		go func() { ended <- run(ctx, client, "default", out) }()

		encode := func(event string, pod *corev1.Pod) {
			pod.Kind, pod.APIVersion = "Pod", "v1"
			require.NoError(t, json.NewEncoder(send).Encode(map[string]any{"type": event, "object": pod}))
			synctest.Wait()
		}
		encode("ADDED", web(corev1.PodRunning, "7"))
		end := &corev1.Pod{}
		end.ResourceVersion, end.Annotations = "7", map[string]string{metav1.InitialEventsAnnotationKey: "true"}
		encode("BOOKMARK", end)
		encode("MODIFIED", web(corev1.PodRunning, "8")) // not its phase
		encode("MODIFIED", web(corev1.PodSucceeded, "9"))
		encode("DELETED", web(corev1.PodSucceeded, "10"))
		cancel()
		require.NoError(t, <-ended)
		require.Equal(t, []string{"/api/v1/namespaces/default/pods"}, api.paths, "requests")
		shown.Require(t, "An informer of the Pods of one namespace", out.String())
	})
}

func web(phase corev1.PodPhase, version string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web-uid", ResourceVersion: version},
		Status:     corev1.PodStatus{Phase: phase},
	}
}
