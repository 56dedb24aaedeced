package watchstream_test

// Task 4: Stop without leaks.

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	watchstream "client-go-workshop/02-watch-stream"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask4_Stop_ends_the_channel(t *testing.T) {
	guard.Apart(t, "Stop ends the watch: when it returns, the decoder is closed, and the channel will "+
		"close. It can be closed once only, and nothing can be sent afterwards.", func(t *guard.T) {
		s := newScript()
		w := watching(t, s)
		require.Equal(t, nothing, receive(w), "result of receive before Stop")
		t.Did("Stop")
		w.Stop()
		require.Equal(t, 1, s.timesClosed(), "calls of the decoder's Close when Stop returns")
		require.Equal(t, theEnd, receive(w), "result of receive after Stop")
	})
}

func TestTask4_Stop_again_does_nothing(t *testing.T) {
	guard.Test(t, "Several goroutines may call Stop, more than once, and while the stream ends. A consumer may "+
		"defer a second Stop.", func(t *guard.T) {
		s := newScript()
		w := watching(t, s)
		t.Did("Stop, three times")
		w.Stop()
		w.Stop()
		w.Stop()
		require.Equal(t, theEnd, receive(w), "result of receive after Stop")
		t.Rule("The decoder is closed once, however often Stop is called.")
		require.Equal(t, 1, s.timesClosed(), "calls of the decoder's Close")
	})
}

func TestTask4_Stop_after_the_end_does_nothing(t *testing.T) {
	guard.Test(t, "The decoder is closed once: by Stop or at the end of the stream, whichever comes "+
		"first.", func(t *guard.T) {
		s := newScript(fails(io.EOF))
		w := watching(t, s)
		t.Did("the stream ends, and then Stop")
		require.Equal(t, theEnd, receive(w), "result of receive at the end of the stream")
		w.Stop()
		require.Equal(t, 1, s.timesClosed(), "calls of the decoder's Close")
	})
}

func TestTask4_Stop_ends_a_send_that_no_consumer_receives(t *testing.T) {
	guard.Test(t, "Stop ends a send that no consumer receives, of an event or of an error. A goroutine that "+
		"waits only for a receiver waits forever (#98653).", func(t *guard.T) {
		s := newScript(added("web"), added("db"), added("cdn"))
		w := watchstream.NewStreamWatcher(s, reporter{})
		t.Did("three events arrive, and no consumer receives")
		synctest.Wait()
		t.Did("Stop")
		w.Stop()
		// The guard checks that no goroutine is left when the test is over.
		for range w.ResultChan() { // one more event may arrive before the end
		}
		t.Rule("The decoder is closed once.")
		require.Equal(t, 1, s.timesClosed(), "calls of the decoder's Close")
	})
}

func TestTask4_Stop_without_receiving_leaves_nothing_behind(t *testing.T) {
	const ends = "Stop ends a send that no consumer receives, of an event or of an error. Otherwise each " +
		"stopped watch may leave a goroutine that waits forever (#98653)."
	guard.Test(t, ends, func(t *guard.T) {
		t.Did("20 events arrive, no consumer receives, and Stop")
		s := newScript(slices.Repeat([]step{added("web")}, 20)...)
		w := watchstream.NewStreamWatcher(s, reporter{})
		synctest.Wait()
		w.Stop()
		synctest.Wait()
		t.Rule("The channel has no buffer: the next event is decoded when this one has been received. After Stop, none " +
			"is received.")
		require.NotZero(t, len(s.steps), "events left in the decoder after Stop")
		t.Rule(ends)
		t.Did("an error arrives, no consumer receives, and Stop")
		w = watchstream.NewStreamWatcher(newScript(fails(errors.New("no kind is set"))), reporter{})
		synctest.Wait()
		w.Stop()
		t.Did("Stop, before any event has arrived")
		watchstream.NewStreamWatcher(newScript(), reporter{}).Stop()
		synctest.Wait()
		require.NotNil(t, w.ResultChan(), "ResultChan after Stop")
	})
}

func TestTask4_Stop_ends_a_Decode_that_waits(t *testing.T) {
	guard.Test(t, "Stop ends a Decode that waits for bytes. A goroutine in a Read waits until the stream is "+
		"closed.", func(t *guard.T) {
		r, pipe := io.Pipe()
		defer pipe.Close()
		d := watchstream.NewDecoder(watchstream.NewFrameReader(r), watchstream.Objects())
		w := watchstream.NewStreamWatcher(d, reporter{})
		t.Did("a stream that brings no byte")
		synctest.Wait()
		t.Did("Stop")
		w.Stop()
		for e := receive(w); e != theEnd; e = receive(w) {
			require.NotEqual(t, nothing, e, "result of receive after Stop")
		}
	})
}

// idle is a decoder that has no event. It waits until it is closed.
type idle struct {
	closed chan struct{}
	closes atomic.Int32
}

func (d *idle) Decode() (watch.EventType, runtime.Object, error) {
	<-d.closed
	return "", nil, io.EOF
}

func (d *idle) Close() {
	if d.closes.Add(1) == 1 {
		close(d.closed)
	}
}

func TestTask4_Stop_from_several_goroutines(t *testing.T) {
	guard.Race(t, "Several goroutines may call Stop, more than once, and while the stream ends. Only the first "+
		"of them closes the decoder.", func(t *guard.T) {
		const watches = 2000
		rounds := 40
		if guard.RaceDetector || guard.Brief {
			rounds = 4
		}
		t.Did("%d times: two goroutines stop the same %d watches, at the same moments", rounds, watches)
		for range rounds {
			sources := make([]idle, watches)
			var started []watch.Interface
			for i := range sources {
				sources[i].closed = make(chan struct{})
				started = append(started, watchstream.NewStreamWatcher(&sources[i], reporter{}))
			}
			guard.Meet(t, watches, func(i int) { started[i].Stop() })
			for i, w := range started {
				for range w.ResultChan() {
				}
				require.Equal(t, int32(1), sources[i].closes.Load(), "calls of the decoder's Close")
			}
		}
	})
}

func TestTask4_Stop_waits_only_for_Close(t *testing.T) {
	const (
		decode = "Stop waits for nothing except the decoder's Close. It does not wait for a Decode that " +
			"returns late."
		reports = "Stop waits for nothing except the decoder's Close. It does not wait for the reporter."
	)
	guard.Test(t, decode, func(t *guard.T) {
		s := newScript()
		s.deaf = true
		w := watchstream.NewStreamWatcher(s, reporter{})
		synctest.Wait()
		t.Did("Stop, while Decode does not return")
		w.Stop()
		s.steps <- fails(io.EOF)
		require.Equal(t, theEnd, receive(w), "result of receive after Decode has returned")
		t.Rule(reports)
		gate := make(chan struct{})
		w = watchstream.NewStreamWatcher(newScript(fails(errors.New("no kind is set"))), reporter{gate})
		synctest.Wait()
		t.Did("Stop, while the reporter's AsObject does not return")
		w.Stop()
		close(gate)
		all(w)
	})
}

func TestTask4_Close_may_take_a_while(t *testing.T) {
	guard.Test(t, "ResultChan returns the channel of events, the same one each time. It does so even while Stop "+
		"waits for the decoder's Close, because a consumer may call it at that moment.", func(t *guard.T) {
		s := newScript()
		s.gate = make(chan struct{})
		w := watchstream.NewStreamWatcher(s, reporter{})
		before := w.ResultChan()
		t.Did("Stop, and the decoder's Close does not return")
		returned := false
		t.Go(func() {
			w.Stop()
			returned = true
		})
		synctest.Wait()
		early := returned
		t.Did("ResultChan")
		got := w.ResultChan()
		close(s.gate)
		require.True(t, before == got, "ResultChan after Stop returns the channel of before")
		t.Rule("Stop ends the watch: when it returns, the decoder is closed, and the channel will close.")
		require.False(t, early, "Stop has returned before the decoder's Close")
		require.Equal(t, theEnd, receive(w), "result of receive after Close has returned")
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

// overHTTP starts a watch of all Deployments, from a version.
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
		eachOnce = "Each event is sent once, in the order of decoding. This server sends a bookmark each " +
			"minute, except in the first, when nothing had changed."
		stopCloses = "Stop ends the watch: when it returns, the decoder is closed, and the channel will " +
			"close. So the server's side of the watch ends too."
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
