package observe_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"client-go-workshop/internal/testkit/fakeapi"
	_ "client-go-workshop/internal/testkit/fakeapi/strategic"
	"client-go-workshop/internal/testkit/pipeline"
	"client-go-workshop/observe"
)

func web(replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "secret.example/nginx"}}}},
		},
	}
}

// program is a controller on client-go alone. Its first reconcile fails, and each other one notes the replicas of the
// Deployment in an annotation.
func program(t *testing.T, o *observe.Observer, api *fakeapi.Server) (stop func()) {
	config := api.Config()
	config.QPS = -1
	client, err := kubernetes.NewForConfig(o.Config(config))
	require.NoError(t, err)
	queue := observe.Queue(o, workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](time.Second, time.Minute)))
	informer := o.Informer(informers.NewSharedInformerFactory(client, 0).Apps().V1().Deployments().Informer())
	add := func(obj any) { name, _ := cache.DeletionHandlingObjectToName(obj); queue.Add(name) }
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add, DeleteFunc: add,
		UpdateFunc: func(_, now any) { time.Sleep(300 * time.Millisecond); add(now) }})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{}, 2)
	go func() { informer.RunWithContext(ctx); ended <- struct{}{} }()
	reconcile := func(key cache.ObjectName, first bool) error {
		if first {
			return errors.New("not yet")
		}
		obj, exists, err := informer.GetIndexer().GetByKey(key.String())
		if err != nil || !exists || len(obj.(*appsv1.Deployment).Annotations) > 0 {
			return err
		}
		d := obj.(*appsv1.Deployment).DeepCopy()
		d.Annotations = map[string]string{"seen": "yes"}
		_, err = client.AppsV1().Deployments(key.Namespace).Update(ctx, d, metav1.UpdateOptions{})
		return err
	}
	go func() {
		defer func() { ended <- struct{}{} }()
		for first := true; ; first = false {
			key, shutdown := queue.Get()
			if shutdown {
				return
			}
			if reconcile(key, first) != nil {
				queue.AddRateLimited(key)
			} else {
				queue.Forget(key)
			}
			queue.Done(key)
		}
	}()
	return func() {
		cancel()
		queue.ShutDown()
		<-ended
		<-ended
		api.Close()
		time.Sleep(5 * time.Minute)
	}
}

// recording asks an Observer for its recording.
func recording(t *testing.T, o *observe.Observer) *pipeline.Log {
	t.Helper()
	answer := httptest.NewRecorder()
	o.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
	require.Equal(t, http.StatusOK, answer.Code)
	require.NotContains(t, answer.Body.String(), "secret.example", "it has metadata only")
	all, err := pipeline.ReadRecordings(bytes.NewReader(answer.Body.Bytes()))
	require.NoError(t, err)
	require.Contains(t, all[0].Title, "observe.test")
	return all[0].Log
}

// last returns the last step that has a text in its sentence.
func last(t *testing.T, l *pipeline.Log, text string) (found pipeline.Step) {
	t.Helper()
	_, n := l.Range()
	for _, step := range l.Steps(n, int(n)) {
		if strings.Contains(step.Sentence(), text) {
			found = step
		}
	}
	require.NotZero(t, found.N, "no step says %q", text)
	return found
}

func sentences(steps []pipeline.Step) (all []string) {
	for _, s := range steps {
		all = append(all, s.Sentence())
	}
	return all
}

// The recording answers what people ask of a controller.
func TestObserver_on_client_go(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, o := fakeapi.Start(t), observe.New(1000)
		api.Create(web(3))
		stop := program(t, o, api)
		time.Sleep(time.Minute)
		api.Compact()
		api.Script("watch", fakeapi.Answer(410, ""))
		api.EndWatches()
		time.Sleep(time.Minute)
		l := recording(t, o)
		stop()

		require.Regexp(t,
			`^default/web failed, and waits, called by observe_test\.program\.func\d+.*, observe_test\.go:\d+\.$`,
			last(t, l, "failed").Sentence(), "who called AddRateLimited")
		chain := sentences(l.Causes(last(t, l, "Worker 1 takes default/web").N))
		require.Subset(t, chain, []string{"Worker 1 asks the API server to update the deployment default/web.",
			"The API server answers worker 1 to the update of deployment default/web: done.",
			"default/web goes into the workqueue."}, "which change made the key reconcile")

		_, n := l.Range()
		view := l.At(n).View()
		facts := view.Informers["deployment"].Facts
		require.Contains(t, strings.Join(facts[pipeline.Reflector], " "), "It has asked for all objects 2 times.")
		require.Regexp(t, `The last time was .* ago: .*`, strings.Join(facts[pipeline.Reflector], " "), "why it listed again")
		require.Regexp(t, `as of \d+s ago`, strings.Join(facts[pipeline.Store], " "), "how old the cache is")
		require.Contains(t, strings.Join(facts[pipeline.Handler], " "), "300ms at most", "how long the handler took")
		require.Empty(t, view.Queue.Differs)
		require.Contains(t, view.Informers["deployment"].Store.Objects, "default/web")
	})
}

// It is off by default: a nil Observer changes nothing.
func TestObserver_off(t *testing.T) {
	var o *observe.Observer
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.Start(t)
		config := api.Config()
		require.Same(t, config, o.Config(config))
		require.Nil(t, o.Handler(nil))
		require.Nil(t, o.Metrics())
		api.Create(web(3))
		program(t, o, api)()
	})
	answer := httptest.NewRecorder()
	o.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
	require.Equal(t, http.StatusNotFound, answer.Code)
	answer = httptest.NewRecorder()
	observe.New(1).ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/", nil))
	require.Equal(t, http.StatusMethodNotAllowed, answer.Code)
}
