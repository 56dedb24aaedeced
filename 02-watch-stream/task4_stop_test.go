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
	guard.Test(t, "nothing has come", func(t *guard.T) {
		s := newScript()
		w := watching(t, s)
		require.Equal(t, nothing, receive(w))
		t.Did("Stop")
		w.Stop()
		t.Rule("a loop over the channel ends")
		require.Equal(t, theEnd, receive(w))
		t.Rule("Stop closes the stream: that is how the server hears of it")
		require.Equal(t, 1, s.timesClosed())
	})
}

func TestTask4_Stop_again_does_nothing(t *testing.T) {
	guard.Test(t, "a loop over the channel ends", func(t *guard.T) {
		s := newScript()
		w := watching(t, s)
		t.Did("Stop, three times")
		w.Stop()
		w.Stop()
		w.Stop()
		require.Equal(t, theEnd, receive(w))
		t.Rule("a deferred Stop behind another one is good manners; a stream is closed once")
		require.Equal(t, 1, s.timesClosed())
	})
}

func TestTask4_Stop_after_the_end_does_nothing(t *testing.T) {
	guard.Test(t, "the stream has ended", func(t *guard.T) {
		s := newScript(fails(io.EOF))
		w := watching(t, s)
		t.Did("the stream ends, and then Stop")
		require.Equal(t, theEnd, receive(w))
		w.Stop()
		t.Rule("a stream is closed once, by whoever comes first")
		require.Equal(t, 1, s.timesClosed())
	})
}

func TestTask4_Stop_frees_an_event_that_nobody_takes(t *testing.T) {
	guard.Test(t, "who offers an event must also listen for the end, or its goroutine stays for ever (#98653)", func(t *guard.T) {
		s := newScript(added("web"), added("db"), added("cdn"))
		w := watchstream.NewStreamWatcher(s, reporter{})
		t.Did("three events come, and nobody receives")
		synctest.Wait()
		t.Did("Stop")
		w.Stop()
		// That nothing is left behind is checked by the guard when the test is over.
		for range w.ResultChan() { // what is being offered may still be taken
		}
		require.Equal(t, 1, s.timesClosed())
	})
}

func TestTask4_Stop_without_receiving_leaves_nothing_behind(t *testing.T) {
	guard.Test(t, "goroutines that wait for a receiver who has gone add up, one for each watch (#98653)", func(t *guard.T) {
		t.Did("an event comes, nobody receives, and Stop")
		w := watchstream.NewStreamWatcher(newScript(added("web"), added("db")), reporter{})
		synctest.Wait()
		w.Stop()
		t.Did("an error comes, nobody receives, and Stop")
		w = watchstream.NewStreamWatcher(newScript(fails(errors.New("no kind is set"))), reporter{})
		synctest.Wait()
		w.Stop()
		t.Did("Stop, before anything has come")
		watchstream.NewStreamWatcher(newScript(), reporter{}).Stop()
		synctest.Wait()
		require.NotNil(t, w.ResultChan())
	})
}

func TestTask4_Stop_frees_a_Decode_that_waits(t *testing.T) {
	guard.Test(t, "the goroutine that decodes reads from the stream; if that is not closed it reads for ever", func(t *guard.T) {
		r, pipe := io.Pipe()
		defer pipe.Close()
		w := watchstream.NewStreamWatcher(watchstream.NewDecoder(watchstream.NewFrameReader(r), watchstream.Objects()), reporter{})
		t.Did("a stream from which nothing comes")
		synctest.Wait()
		t.Did("Stop")
		w.Stop()
		for e := receive(w); e != theEnd; e = receive(w) {
			require.NotEqual(t, nothing, e)
		}
	})
}

func TestTask4_Stop_from_many(t *testing.T) {
	guard.Race(t, "a consumer stops its watch, and so does the program that ends, and so does the stream itself: whoever comes second finds it closed", func(t *guard.T) {
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
			t.Rule("a stream is closed once, by whoever comes first")
			require.Equal(t, 1, s.timesClosed())
		}
	})
}

// --- the whole, on a real stream

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

// overHTTP watches all Deployments from a version on.
func overHTTP(t *guard.T, api *fakeapi.Server, accept, version string) watch.Interface {
	c := api.Client()
	t.Cleanup(c.CloseIdleConnections)
	request, err := http.NewRequest(http.MethodGet, "http://in-memory/apis/apps/v1/deployments?watch=1&allowWatchBookmarks=true&resourceVersion="+version, nil)
	require.NoError(t, err, "a good URL")
	request.Header.Set("Accept", accept)
	t.Did("GET %s, Accept %s", request.URL.RequestURI(), accept)
	response, err := c.Do(request)
	require.NoError(t, err, "the server is there")
	mediaType, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	require.NoError(t, err, "the server says what it sends")
	w, err := watchstream.NewWatcherFor(watchstream.Codecs, appsv1.SchemeGroupVersion)(response.Body, mediaType)
	require.NoError(t, err, "%s is a form that watches come in", mediaType)
	return w
}

func TestTask4_Twenty_minutes_of_a_real_watch(t *testing.T) {
	guard.Test(t, "each event once, and each minute a bookmark, but for the first, in which there was no news", func(t *guard.T) {
		for _, accept := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
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
			require.Len(t, got, 40+19)
			t.Did("Stop")
			w.Stop()
			synctest.Wait()
			t.Rule("the body is closed, and the server sees that nobody listens")
			require.Equal(t, 0, api.Watches())
		}
	})
}

func TestTask4_A_real_watch_that_is_cut(t *testing.T) {
	guard.Test(t, "half an event is none, and a broken connection is no error to tell of: who watches begins "+
		"again at the version it has", func(t *guard.T) {
		for _, cut := range []int{0, 1, 50, 200} {
			api := fakeapi.Start(t)
			version := api.ResourceVersion()
			api.Create(deployment("web"))
			api.Script("watch", fakeapi.Cut(cut))
			t.Did("the connection breaks %d bytes into the stream", cut)
			w := overHTTP(t, api, "application/json", version)
			require.Equal(t, []string{theEnd}, all(w))
			w.Stop()
		}
	})
}
