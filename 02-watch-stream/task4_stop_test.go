package watchstream_test

// Task 4: Stop, and nothing that is left behind.

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	watchstream "client-go-workshop/02-watch-stream"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask4_Stop_ends_the_channel(t *testing.T) {
	guard.Test(t, "Stop ends the channel, so that a loop over it ends, too.", func(t *guard.T) {
		s := newScript()
		w := watching(t, s)
		require.Equal(t, nothing, receive(w), "result of receive before Stop")
		t.Did("Stop")
		w.Stop()
		require.Equal(t, theEnd, receive(w), "result of receive after Stop")
		t.Rule("Stop closes the decoder, and with it the stream: that is how the server learns of it.")
		require.Equal(t, 1, s.timesClosed(), "calls of the decoder's Close")
	})
}

func TestTask4_Stop_again_does_nothing(t *testing.T) {
	guard.Test(t, "Stop closes the decoder once, however often it is called: a "+
		"consumer may defer a second Stop.", func(t *guard.T) {
		s := newScript()
		w := watching(t, s)
		t.Did("Stop, three times")
		w.Stop()
		w.Stop()
		w.Stop()
		require.Equal(t, theEnd, receive(w), "result of receive after Stop")
		require.Equal(t, 1, s.timesClosed(), "calls of the decoder's Close")
	})
}

func TestTask4_Stop_after_the_end_does_nothing(t *testing.T) {
	guard.Test(t, "The decoder is closed once: by Stop or at the end "+
		"of the stream, whichever comes first.", func(t *guard.T) {
		s := newScript(fails(io.EOF))
		w := watching(t, s)
		t.Did("the stream ends, and then Stop")
		require.Equal(t, theEnd, receive(w), "result of receive at the end of the stream")
		w.Stop()
		require.Equal(t, 1, s.timesClosed(), "calls of the decoder's Close")
	})
}

func TestTask4_Stop_frees_an_event_that_nobody_takes(t *testing.T) {
	guard.Test(t, "Stop ends a send: an event that is being offered is dropped. A goroutine that only sends stays "+
		"forever (#98653).", func(t *guard.T) {
		s := newScript(added("web"), added("db"), added("cdn"))
		w := watchstream.NewStreamWatcher(s, reporter{})
		t.Did("three events come, and no consumer receives")
		synctest.Wait()
		t.Did("Stop")
		w.Stop()
		// The guard checks that no goroutine is left when the test is over.
		for range w.ResultChan() { // one event more may come before the end
		}
		t.Rule("Stop closes the decoder, once.")
		require.Equal(t, 1, s.timesClosed(), "calls of the decoder's Close")
	})
}

func TestTask4_Stop_without_receiving_leaves_nothing_behind(t *testing.T) {
	guard.Test(t, "Stop ends a send, of an event or of an error, without a receiver. Goroutines that wait for a "+
		"receiver that has gone add up, one for each watch (#98653).", func(t *guard.T) {
		t.Did("an event comes, no consumer receives, and Stop")
		w := watchstream.NewStreamWatcher(newScript(added("web"), added("db")), reporter{})
		synctest.Wait()
		w.Stop()
		t.Did("an error comes, no consumer receives, and Stop")
		w = watchstream.NewStreamWatcher(newScript(fails(errors.New("no kind is set"))), reporter{})
		synctest.Wait()
		w.Stop()
		t.Did("Stop, before anything has come")
		watchstream.NewStreamWatcher(newScript(), reporter{}).Stop()
		synctest.Wait()
		require.NotNil(t, w.ResultChan(), "ResultChan after Stop")
	})
}

func TestTask4_Stop_frees_a_Decode_that_waits(t *testing.T) {
	guard.Test(t, "Stop ends a read: the goroutine that decodes waits for "+
		"the stream until that is closed.", func(t *guard.T) {
		r, pipe := io.Pipe()
		defer pipe.Close()
		d := watchstream.NewDecoder(watchstream.NewFrameReader(r), watchstream.Objects())
		w := watchstream.NewStreamWatcher(d, reporter{})
		t.Did("a stream from which nothing comes")
		synctest.Wait()
		t.Did("Stop")
		w.Stop()
		for e := receive(w); e != theEnd; e = receive(w) {
			require.NotEqual(t, nothing, e, "result of receive after Stop")
		}
	})
}

func TestTask4_Stop_from_many(t *testing.T) {
	guard.Race(t, "Stop may be called while others call it, and while the stream ends: the first of them closes the "+
		"decoder, once.", func(t *guard.T) {
		for range 200 {
			s := newScript(added("web"), fails(io.EOF))
			w := watchstream.NewStreamWatcher(s, reporter{})
			t.Did("Stop by four goroutines, while the stream ends")
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(w.Stop)
			}
			for range w.ResultChan() {
			}
			wg.Wait()
			require.Equal(t, 1, s.timesClosed(), "calls of the decoder's Close")
		}
	})
}

// The tests below run all parts on a real stream: HTTP, a server that sends bookmarks, and connections that break.

func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.29"}}},
			},
		},
	}
}

// overHTTP starts a watch of all Deployments from a version on.
func overHTTP(t *guard.T, api *fakeapi.Server, accept, version string) watch.Interface {
	c := api.Client()
	t.Cleanup(c.CloseIdleConnections)
	url := "http://in-memory/apis/apps/v1/deployments?watch=1&allowWatchBookmarks=true&resourceVersion=" + version
	request, err := http.NewRequest(http.MethodGet, url, nil)
	require.NoError(t, err, "the error of http.NewRequest")
	request.Header.Set("Accept", accept)
	t.Did("GET %s, Accept %s", request.URL.RequestURI(), accept)
	response, err := c.Do(request)
	require.NoError(t, err, "the error of the HTTP client's Do")
	mediaType, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	require.NoError(t, err, "the error of mime.ParseMediaType for the answer's Content-Type")
	w, err := watchstream.NewWatcherFor(watchstream.Codecs, appsv1.SchemeGroupVersion)(response.Body, mediaType)
	require.NoError(t, err, "the error of NewWatcherFor for "+mediaType)
	return w
}

func TestTask4_Twenty_minutes_of_a_real_watch(t *testing.T) {
	const (
		eachOnce = "The consumer receives each event once, and a bookmark each minute. The first minute has none, " +
			"because nothing had changed."
		stopCloses = "Stop closes the body, so that the server ends the watch."
	)
	guard.Test(t, eachOnce, func(t *guard.T) {
		for _, accept := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
			t.Rule(eachOnce)
			api := fakeapi.Start(t)
			w := overHTTP(t, api, accept+";stream=watch", api.ResourceVersion())
			t.Did("20 minutes pass, and in each a Deployment is created and deleted")
			var got []string
			for range 20 {
				time.Sleep(time.Minute)
				api.Create(deployment("web"))
				api.Delete(deployment("web"))
				for e := receive(w); e != nothing; e = receive(w) {
					got = append(got, e[:5])
				}
			}
			require.Len(t, got, 40+19, "events of 20 minutes, of "+accept)
			t.Did("Stop")
			w.Stop()
			synctest.Wait()
			t.Rule(stopCloses)
			require.Equal(t, 0, api.Watches(), "open watches of the server after Stop, of "+accept)
		}
	})
}

func TestTask4_A_real_watch_that_is_cut(t *testing.T) {
	guard.Test(t, "Half an event is not an event, and a broken connection is not an error: the channel is closed, "+
		"and the consumer watches again from its last version.", func(t *guard.T) {
		for _, cut := range []int{0, 1, 50, 200} {
			api := fakeapi.Start(t)
			version := api.ResourceVersion()
			api.Create(deployment("web"))
			api.Script("watch", fakeapi.Cut(cut))
			t.Did("the connection breaks %d bytes into the stream", cut)
			w := overHTTP(t, api, "application/json", version)
			require.Equal(t, []string{theEnd}, all(w), "events of a stream that breaks after %d bytes", cut)
			w.Stop()
		}
	})
}
