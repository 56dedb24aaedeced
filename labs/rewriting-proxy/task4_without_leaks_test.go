package rewritingproxy_test

// Task 4: what a watch holds while it runs, and what it leaves behind. And watches in other forms, deletions, and
// client-go's informer, through the proxy.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask4_Event_that_is_not_JSON(t *testing.T) {
	guard.Test(t, "An event that cannot be rewritten becomes one ERROR with the code 502, which ends the watch. A frame "+
		"reader counts brackets; a reader that checks the JSON breaks the watch off.", func(t *guard.T) {
		for _, bad := range []string{
			`{"type" "ADDED","object":{"kind":"Deployment","spec":{"replicas":1}}}`,
			`{"type":"ADDED","object" {"kind":"Deployment","spec":{"replicas":1}}}`,
			`{"type":"ADDED","object":{"kind":"Deployment","spec" {"replicas":1}}}`,
			`{"type":"ADDED","object":{"kind":"Deployment","spec":{"replicas" 1}}}`,
			`{"type":"ADDED","object":{"kind":"Table","rows":[{"object" {"spec":{"replicas":1}}}]}}`,
		} {
			w, upstream := upstreamOf(t)
			s := w.watch(collection + "?watch=1")
			s.next()
			t.Did("%s arrives", bad)
			io.WriteString(upstream, bad+"\n")
			for _, got := range s.short() {
				require.Equal(t, "ERROR 502", got, "the event that the client has received")
			}
			end := s.end()
			require.True(t, errors.Is(end, io.EOF) || errors.Is(end, io.ErrUnexpectedEOF),
				"the client has received JSON to the end of the answer: %v", end)
		}
	})
}

func TestTask4_Watch_in_another_form(t *testing.T) {
	guard.Test(t, "An answer that the proxy cannot rewrite is not passed on: the client receives a 502. Frames in "+
		"protobuf begin with their length, and the frame reader does not know them.", func(t *guard.T) {
		w := newWorld(t, view, deployment("web", 1))
		w.Script("watch", fakeapi.Body(protobuf+";stream=watch", "\x00\x00\x00\x05hello"))
		requireStatus(t, http.StatusBadGateway, w.get(collection+"?watch=1"))
		w.Script("watch", func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			w.Header().Set("Content-Encoding", "br")
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, "\x0b\x02")
		})
		got := w.get(collection+"?watch=1", "Accept-Encoding: br")
		requireStatus(t, http.StatusBadGateway, got)
		t.Rule("Each answer of the proxy itself is a Status in JSON. It does not have the headers of another body.")
		require.Equal(t, "", got.header.Get("Content-Encoding"), "the header Content-Encoding of the Status")
		synctest.Wait()
	})
}

func TestTask4_Client_takes_its_watch_along(t *testing.T) {
	guard.Test(t, "When the client goes away, the request to the API server ends. Otherwise a server holds the "+
		"watches of "+
		"all clients that ever came.", func(t *guard.T) {
		w := newWorld(t, view, deployment("web", 1))
		for range 3 {
			s := w.watch(collection + "?watch=1&resourceVersion=" + w.ResourceVersion())
			require.Equal(t, 1, w.Watches(), "the watches at the API server while a client watches")
			t.Did("the client goes away")
			s.cancel()
			synctest.Wait()
			require.Equal(t, 0, w.Watches(), "the watches at the API server after the client has gone")
		}
	})
}

func TestTask4_Deletion_with_the_label(t *testing.T) {
	guard.Test(t, "So the API server itself turns a hidden object into a deletion. The object of the deletion may have "+
		"the label.", func(t *guard.T) {
		w, upstream := upstreamOf(t)
		s := w.watch(collection + "?watch=1")
		s.next()
		deletion := strings.Replace(event("DELETED", "web", "2"), `"metadata":{`,
			`"metadata":{"labels":{"`+hiddenLabel+`":"true"},`, 1)
		t.Did("%s", deletion)
		io.WriteString(upstream, deletion+"\n")
		require.Equal(t, []string{"DELETED web: 6"}, s.short(), "the events that the client has received")
	})
}

func TestTask4_Slow_client(t *testing.T) {
	guard.Test(t, "While the client does not read, the proxy does not read on. So TCP slows the API server down, and no "+
		"memory fills.", func(t *guard.T) {
		var sent atomic.Int64
		begun := make(chan struct{}) // a proxy may flush the headers on a goroutine of its own, before the first event
		text := strings.Repeat(event("MODIFIED", strings.Repeat("x", 1000), "1")+"\n", 10)
		w := before(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			http.NewResponseController(w).Flush()
			<-begun
			for range 1000 {
				if _, err := io.WriteString(w, text); err != nil {
					return
				}
				http.NewResponseController(w).Flush()
				sent.Add(int64(len(text)))
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		t.Did("a client starts a watch, and does not read its 10 MB of events")
		resp, err := w.client.Do(request(ctx, t, http.MethodGet, collection+"?watch=1", ""))
		require.NoError(t, err, "the error of the watch")
		synctest.Wait()
		close(begun)
		synctest.Wait()
		require.Less(t, sent.Load(), int64(1<<20), "bytes that the API server could send")
		cancel()
		resp.Body.Close()
		synctest.Wait()
	})
}

func TestTask4_Frame_that_is_too_large(t *testing.T) {
	guard.Test(t, "It keeps one frame, of at most 16 MiB, and no goroutine of its own. A larger frame counts as a "+
		"watch that breaks off.",
		func(t *guard.T) {
			piece := strings.Repeat(" ", 1<<20)
			var sent atomic.Int64
			w := before(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, `{"type":"ADDED",`)
				for range 64 {
					if _, err := io.WriteString(w, piece); err != nil {
						return
					}
					http.NewResponseController(w).Flush()
					sent.Add(1)
				}
			})
			s := w.watch(collection + "?watch=1")
			t.Did("an event of 64 MiB arrives")
			require.ErrorIs(t, s.end(), io.ErrUnexpectedEOF, "the error with which the answer ends")
			require.Less(t, sent.Load(), int64(24), "MiB that the API server could send")
		})
}

// inUse returns how much memory is in use after a garbage collection.
func inUse() int {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

func TestTask4_Many_events(t *testing.T) {
	guard.Test(t, "The object of an event is rewritten, and so is a Table in it. A watch can have thousands of events.",
		func(t *guard.T) {
			const events = 3_000
			w := before(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, strings.Repeat(event("MODIFIED", "a", "2")+"\n", events))
				io.WriteString(w, event("ADDED", "large", "2147483647")+event("ADDED", "null", "null")+
					`{"type":"ADDED","object":{"kind":"PartialObjectMetadata","metadata":{"name":"metadata"}}}`)
			})
			shown := map[string]int{}
			for line := range strings.Lines(w.get(collection + "?watch=1").body) {
				object := find(line, "object", "metadata", "name") + ": " + find(line, "object", "spec", "replicas")
				shown[find(line, "type")+" "+object]++
			}
			require.Equal(t, map[string]int{"MODIFIED a: 6": events, "ADDED large: 2147483647": 1, "ADDED null: ": 1,
				"ADDED metadata: ": 1}, shown, "how often each event has come")
		})
}

// own returns how many goroutines the package of the proxy has started.
func own() int {
	stacks := make([]byte, 16<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return bytes.Count(stacks, []byte("\ncreated by client-go-workshop/labs/rewriting-proxy."))
}

func TestTask4_A_day_of_watches(t *testing.T) {
	guard.Test(t, "It keeps one frame, of at most 16 MiB, and no goroutine of its own. A client watches again every few "+
		"minutes, and one watch may receive events all day.", func(t *guard.T) {
		w := newWorld(t, view, deployment("web", 1))
		long := w.watch(collection + "?watch=1&timeoutSeconds=100000&resourceVersion=" + w.ResourceVersion())
		long.next() // the head
		hours := func(n int) {
			for hour := range n {
				for range 6 {
					s := w.watch(collection + "?watch=1&timeoutSeconds=300&resourceVersion=" + w.ResourceVersion())
					for i := range 2 {
						d := deployment("web", int32(1+i))
						d.Annotations = map[string]string{"large": strings.Repeat("x", 30_000+hour)}
						w.Update(d)
					}
					time.Sleep(10 * time.Minute)
					require.ErrorIs(t, s.end(), io.EOF, "the end of a watch of five minutes")
				}
				w.Compact() // the fake server's own history
				require.Equal(t, 12, len(long.next()), "events of the long watch in an hour")
			}
		}
		hours(1)
		synctest.Wait()
		require.Equal(t, 0, own(), "goroutines that the proxy has started, while the long watch waits for an event")
		goroutines, memory := guard.Goroutines(), inUse()
		t.Did("a day passes: every ten minutes a watch of five minutes, and two events of 30 kB for it and for a long one")
		hours(23)
		synctest.Wait()
		require.Less(t, guard.Goroutines()-goroutines, 4, "additional goroutines after a day")
		// A proxy that keeps the events keeps 10 MB. Others use memory, too: the fake server keeps notes on requests, and on
		// a busy machine package guard dumps the goroutines while the test runs.
		require.Less(t, inUse()-memory, 6<<20, "additional bytes in use after a day")
	})
}

// seen is what an informer has reported.
type seen struct {
	lock  sync.Mutex
	notes []string
}

func (s *seen) note(what string, obj any) {
	s.lock.Lock()
	defer s.lock.Unlock()
	d, ok := obj.(*appsv1.Deployment)
	if !ok {
		s.notes = append(s.notes, fmt.Sprintf("%s %T", what, obj))
		return
	}
	s.notes = append(s.notes, what+" "+typed(*d)[0])
}

func (s *seen) OnAdd(obj any, _ bool) { s.note("add", obj) }
func (s *seen) OnUpdate(old, new any) {
	if before, ok := old.(*appsv1.Deployment); ok && before.ResourceVersion == new.(*appsv1.Deployment).ResourceVersion {
		return // a list repeats it
	}
	s.note("update", new)
}
func (s *seen) OnDelete(obj any) { s.note("delete", obj) }
func (s *seen) since() (notes []string) {
	synctest.Wait()
	s.lock.Lock()
	defer s.lock.Unlock()
	notes, s.notes = append([]string{}, s.notes...), nil
	for i, note := range notes {
		if strings.HasPrefix(note, "delete") {
			notes[i] = upTo(note, ":") // the object may be the old one or the new one
		}
	}
	slices.Sort(notes)
	return notes
}

func TestTask4_Informer_of_client_go(t *testing.T) {
	guard.Test(t, "The object of an event is rewritten, and so is a Table in it. client-go's informer prefers "+
		"protobuf and "+
		"streaming lists; if the proxy breaks these, it lists, and may hand out unchanged objects.", func(t *guard.T) {
		w := newWorld(t, view, deployment("a", 1), deployment("b", 2), hidden(deployment("dark", 3)))
		client, err := typedappsv1.NewForConfig(w.through())
		require.NoError(t, err)
		all := client.Deployments("")
		informer := cache.NewSharedIndexInformer(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (apiruntime.Object, error) {
				return all.List(ctx, o)
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return all.Watch(ctx, o)
			},
		}, &appsv1.Deployment{}, 0, nil)
		var events seen
		_, err = informer.AddEventHandler(&events)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		t.Did("an informer starts")
		t.Go(func() { informer.RunWithContext(ctx) })
		time.Sleep(time.Second)
		require.Equal(t, []string{"add a: 3", "add b: 6"}, events.since(), "the calls of the handler")
		require.Equal(t, 1, w.Watches(), "the watches at the API server")
		for _, step := range []struct {
			what string
			do   func()
			want []string
		}{
			{"a is scaled to 5", func() { w.Update(deployment("a", 5)) }, []string{"update a: 15"}},
			{"b is hidden", func() { w.Update(hidden(deployment("b", 2))) }, []string{"delete default/b"}},
			{"dark is scaled, and shown", func() { w.Update(deployment("dark", 4)) }, []string{"add dark: 12"}},
			{"the API server restarts without its history, and a is changed", func() {
				w.Down()
				w.Update(deployment("a", 6))
				w.Compact()
				w.Up()
				time.Sleep(2 * time.Minute)
			}, []string{"update a: 18"}},
			{"b is shown", func() { w.Update(deployment("b", 2)) }, []string{"add b: 6"}},
			{"a is deleted", func() { w.Delete(deployment("a", 6)) }, []string{"delete default/a"}},
		} {
			t.Did("%s", step.what)
			step.do()
			got := events.since()
			for i := range got {
				got[i] = strings.Replace(got[i], "delete ", "delete default/", 1)
			}
			require.Equal(t, step.want, got, "the calls of the handler")
		}
		cancel()
	})
}
