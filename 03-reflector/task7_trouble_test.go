package reflector_test

// Bonus task 7: streams that fail.

import (
	"context"
	"errors"
	"fmt"
	"io"
	goroutines "runtime"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	reflector "client-go-workshop/03-reflector"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask7_Server_that_refuses_connections_is_tried_again(t *testing.T) {
	bonus(t, "If the server refuses connections or has too much to do (429), a new stream starts after the back-off. "+
		"A refused connection does not mean that the server cannot stream.", func(t *guard.T) {
		s, st := &script{}, &store{}
		refused := watchFails(fmt.Errorf("dial: %w", syscall.ECONNREFUSED))
		s.watches = append(s.watches, refused, refused, s.sends(event(watch.Added, "a", "2"), allOfIt("2")))
		t.Did("the server refuses two connections")
		stream(t, s, st)
		require.Equal(t, []string{"watch@", "watch@", "watch@"}, s.requests(), "requests to the source")
		require.Equal(t, []string{"Replace [a@2] @2"}, st.calls(), "calls of the store from the 3rd stream")

		t.Rule("If the server refuses connections or has too much to do (429), a new stream starts after the back-off, " +
			"however often that happens.")
		for what, trouble := range guard.InOrder(map[string]watchFunc{
			"is refused":      refused,
			"is answered 429": watchFails(busy),
			"brings 429":      func(metav1.ListOptions) (watch.Interface, error) { return s.channel(failing(busy)), nil },
		}) {
			t.Story(8)
			*s = script{watches: slices.Repeat([]watchFunc{trouble}, 300)}
			s.watches = append(s.watches, s.sends(allOfIt("2")))
			t.Did("RunWithContext; each of 300 streams %s, and the next one comes to its bookmark", what)
			runFor(t, newReflector(streaming{s}, st), 12*time.Hour)
			require.Equal(t, 0, s.count("list"), "lists")
			require.Equal(t, []string{"Replace [] @2"}, st.calls(), "calls of the store")
		}
	})
}

func TestTask7_Server_that_cannot_stream_is_listed(t *testing.T) {
	bonus(t, "If streamList returns any other error, a list follows. This server cannot stream.", func(t *guard.T) {
		w := newStreaming(t, "a")
		w.script("refuses the stream as invalid, as servers do that have streams switched off", "watch",
			fakeapi.Answer(422, ""))
		w.run()
		require.Equal(t, []string{"watch@newest", "list@0", "watch@2"}, w.requests(), "requests to the server")
		require.Equal(t, []string{"Replace [a@2] @2"}, w.store.calls(), "calls of the store")

		t.Rule("ListAndWatchWithContext returns an error if a list or Replace failed, or if a watch could not start. With " +
			"streams it does too.")
		away := errors.New("the network is away")
		s := &script{}
		s.lists, s.watches = append(s.lists, listFails(away)), append(s.watches, watchFails(invalid))
		t.Did("ListAndWatchWithContext; a stream is answered: %v; the list fails: %v", invalid, away)
		require.ErrorIs(t, listAndWatchFor(t, newReflector(streaming{s}, &store{}), time.Minute), away,
			"the error of ListAndWatchWithContext")
		s = &script{}
		s.watches = append(s.watches, s.ends(allOfIt("7"), event(watch.Added, "a", "8")), watchFails(away))
		t.Did("ListAndWatchWithContext; a stream comes to 7, brings a@8, and ends; the next watch fails: %v", away)
		require.ErrorIs(t, listAndWatchFor(t, newReflector(streaming{s}, &store{}), time.Minute), away,
			"the error of ListAndWatchWithContext")
	})
}

func TestTask7_Busy_server_is_tried_again(t *testing.T) {
	bonus(t, "If the server refuses connections or has too much to do (429), a new stream starts after the back-off. "+
		"A server that is too busy for a stream is too busy for a list.", func(t *guard.T) {
		w := newStreaming(t, "a")
		w.script("answers the first two streams with 429", "watch", fakeapi.Times(2, fakeapi.Answer(429, ""))...)
		w.run()
		w.pass(time.Minute)
		want := []string{"watch@newest", "watch@newest", "watch@newest"}
		require.Equal(t, want, w.requests(), "requests to the server")
		r := w.server.Requests("watch")
		require.GreaterOrEqual(t, r[1].Time.Sub(r[0].Time), 800*time.Millisecond, "wait after the first 429")
		require.Equal(t, []string{"Replace [a@2] @2"}, w.store.calls(), "calls of the store from the 3rd stream")
	})
}

func TestTask7_Store_that_refuses_a_stream_gets_a_list(t *testing.T) {
	bonus(t, "If streamList returns any other error, a list follows. If Replace has failed, a watch from there on "+
		"would miss the objects that the store refused.", func(t *guard.T) {
		for _, refusal := range []error{errors.New("not this one"), busy, errRefused, errExpired, io.EOF} { // of the store
			t.Story(8)
			s := &script{}
			st := &store{onCall: func(call string) error {
				if call == "Replace [a@1] @8" {
					return refusal
				}
				return nil
			}}
			s.lists = append(s.lists, lists("9", "a"))
			s.watches = append(s.watches, s.sends(allOfIt("7"), expiredEvent()),
				s.sends(event(watch.Added, "a", "1"), allOfIt("8")))
			t.Did("the store refuses the Replace of the second stream: %v", refusal)
			stream(t, s, st)
			require.Equal(t, []string{"watch@", "watch@7", "list@7", "watch@9"}, s.requests(), "requests to the source")
			require.Equal(t, []string{"Replace [] @7", "Replace [a@1] @8", "Replace [a@1] @9"}, st.calls(),
				"calls of the store")
		}
	})
}

func TestTask7_Refused_version_is_given_up(t *testing.T) {
	bonus(t, "If the server refuses the version, the next stream starts at once, without one. With the version, the "+
		"server refuses it again and again.", func(t *guard.T) {
		w := newStreaming(t, "a").run()
		w.pass(time.Minute)
		w.store.calls()
		w.script("ends the watch with 410, and refuses the next stream with 410", "watch",
			fakeapi.Event(410), fakeapi.Answer(410, ""))
		w.server.EndWatches()
		w.pass(3 * time.Minute)
		require.Equal(t, []string{"watch@newest", "watch@2", "watch@2", "watch@newest"}, w.requests(),
			"requests to the server")
		require.Equal(t, []string{"Replace [a@2] @2"}, w.store.calls(), "calls of the store from the last stream")
		refused, next := w.server.Requests("watch")[2], w.server.Requests("watch")[3]
		require.Zero(t, next.Time.Sub(refused.Time), "time between the refused stream and the next one")
	})
}

func TestTask7_Version_is_used_again_after_a_good_stream(t *testing.T) {
	bonus(t, "A stream asks for the last version, or for none before the first list. After one refusal a stream asks "+
		"for none, but the next one asks for the version of that stream.", func(t *guard.T) {
		s := &script{}
		s.watches = append(s.watches, s.sends(allOfIt("7"), failing(errExpired)), watchFails(errExpired),
			s.sends(allOfIt("8"), failing(errExpired)), s.sends(allOfIt("9")))
		t.Did("a stream comes to 7 and gets 410; the stream at 7 is refused; the next one comes to 8 and gets 410")
		stream(t, s, &store{})
		require.Equal(t, []string{"watch@", "watch@7", "watch@", "watch@8"}, s.requests(), "requests to the source")

		t.Rule("After one refusal a stream asks for none, until a stream or a list has come. A server that is busy has not " +
			"taken the refusal back.")
		*s = script{}
		s.watches = append(s.watches, s.sends(allOfIt("7"), failing(errExpired)), watchFails(errExpired), watchFails(busy),
			s.sends(failing(busy)), watchFails(errRefused), s.sends(allOfIt("8")))
		t.Did("a stream comes to 7 and gets 410; the stream at 7 is refused; the next three are answered 429, ended with " +
			"429, and refused a connection")
		stream(t, s, &store{})
		require.Equal(t, []string{"watch@", "watch@7", "watch@", "watch@", "watch@", "watch@"}, s.requests(),
			"requests to the source")
	})
}

func TestTask7_Very_short_stream_is_listed(t *testing.T) {
	bonus(t, "A stream that lasted less than a second and brought nothing is an error (cache.VeryShortWatchError). A "+
		"server that does so cannot stream, and a list follows.", func(t *guard.T) {
		s, st := &script{}, &store{}
		s.lists = append(s.lists, lists("7", "a"))
		s.watches = append(s.watches, s.ends(), s.sends())
		t.Did("the stream ends at once, without an event")
		stream(t, s, st)
		require.Equal(t, []string{"watch@", "list@0", "watch@7"}, s.requests(), "requests to the source")
		require.Equal(t, []string{"Replace [a@1] @7"}, st.calls(), "calls of the store")

		s = &script{}
		s.lists = append(s.lists, lists("8"))
		s.watches = append(s.watches, watchFails(busy), s.sends(allOfIt("7"), expiredEvent()), s.ends(), s.sends())
		t.Did("a stream is answered 429, the next one comes to 7 and brings 410, and the stream at 7 ends at once")
		stream(t, s, st)
		require.Equal(t, []string{"watch@", "watch@", "watch@7", "list@7", "watch@8"}, s.requests(), "requests to the source")
	})
}

func TestTask7_Stream_lasts_from_its_request_on(t *testing.T) {
	bonus(t, "A stream that lasted less than a second and brought nothing is an error (cache.VeryShortWatchError). It "+
		"lasts from its request on: after a longer one a new stream starts.", func(t *guard.T) {
		s := &script{}
		s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) {
			time.Sleep(2 * time.Second)
			return s.ending(), nil
		}, s.sends(allOfIt("7")))
		t.Did("the stream is answered after two seconds, and has ended by then")
		stream(t, s, &store{})
		require.Equal(t, []string{"watch@", "watch@"}, s.requests(), "requests to the source")
	})
}

func TestTask7_Streams_are_tried_again_after_a_list(t *testing.T) {
	bonus(t, "ListAndWatchWithContext calls streamList first, on every call, if r.streams. A server that could not "+
		"stream may be able to after its upgrade.", func(t *guard.T) {
		for _, failure := range []error{
			invalid, forbidden, internal, unavailable, errors.New("the network is away"), syscall.ECONNRESET, io.EOF,
			context.Canceled, context.DeadlineExceeded, // of a request whose source has a context of its own
		} {
			t.Story(8)
			s, st := &script{}, &store{}
			for range 3 {
				s.lists = append(s.lists, lists("7"))
				s.watches = append(s.watches, watchFails(failure), s.sends(expiredEvent()))
			}
			s.watches = append(s.watches, s.sends(event(watch.Added, "a", "8"), allOfIt("8")))
			t.Did("three streams are answered: %v; the watch after each list brings 410; the next stream succeeds",
				failure)
			stream(t, s, st)
			want := []string{"watch@", "list@0", "watch@7", "watch@7", "list@7", "watch@7", "watch@7", "list@7",
				"watch@7", "watch@7"}
			require.Equal(t, want, s.requests(), "requests to the source")
			require.Contains(t, st.calls(), "Replace [a@8] @8", "calls of the store")
		}

		t.Rule("ListAndWatchWithContext calls streamList first, on every call, if r.streams, after a list that failed too.")
		s := &script{}
		s.watches = append(s.watches, watchFails(invalid), s.sends(allOfIt("8")))
		t.Did("a stream is answered: %v; the list after it fails; the next stream succeeds", invalid)
		stream(t, s, &store{})
		require.Equal(t, []string{"watch@", "list@0", "watch@"}, s.requests(), "requests to the source")

		s = &script{}
		s.watches = append(s.watches, s.sends(allOfIt("7"), expiredEvent()), watchFails(errTooLarge), watchFails(invalid),
			s.sends(allOfIt("8")))
		t.Did("the same, but before it a stream succeeds, and the version of the next one is refused")
		stream(t, s, &store{})
		require.Equal(t, []string{"watch@", "watch@7", "watch@", "list@", "watch@"}, s.requests(), "requests to the source")
	})
}

func TestTask7_Refusal_without_a_version_is_an_error(t *testing.T) {
	bonus(t, "If the server refuses the version, the next stream starts at once, without one. If it refuses that too, "+
		"a list follows.", func(t *guard.T) {
		s, refused := &script{}, false
		source := &trouble{script: s, streams: true, list: lists("7")}
		source.watch = func(o metav1.ListOptions) (watch.Interface, error) {
			if o.SendInitialEvents != nil {
				return nil, errExpired
			}
			return s.channel(), nil
		}
		t.Did("RunWithContext for a minute; each stream is answered 410, with and without a version")
		st := &store{}
		runFor(t, newReflector(source, st), time.Minute)
		require.Equal(t, 3, source.asked, "requests in a minute: a stream, a list and a watch")
		require.Equal(t, []string{"Replace [] @7"}, st.calls(), "calls of the store")

		*s, refused = script{}, false
		source.asked = 0
		source.watch = func(o metav1.ListOptions) (watch.Interface, error) {
			if refused {
				return nil, errExpired
			}
			refused = true
			return s.channel(allOfIt("7"), expiredEvent()), nil
		}
		source.list = listFails(errors.New("the network is away"))
		t.Did("the same, but the first stream comes to 7 and brings 410, and lists fail")
		runFor(t, newReflector(source, st), time.Minute)
		require.Less(t, source.asked, 30, "requests in a minute")
	})
}

func TestTask7_Too_large_version_is_given_up(t *testing.T) {
	bonus(t, "If the server refuses the version, the next stream starts at once, without one. That holds for a "+
		"version that is too large, and for a refusal that comes as an event.", func(t *guard.T) {
		for what, refused := range guard.InOrder(map[string]watchFunc{
			"answered: too large":            watchFails(errTooLarge),
			"answered: too large (1.17)":     watchFails(errTooLargeIn1_17),
			"answered: too large (old)":      watchFails(errTooLargeBefore1_17),
			"answered 410 with reason Gone":  watchFails(errGone),
			"ended by the event 410":         nil,
			"ended by the event: too large ": nil,
		}) {
			t.Story(8)
			s := &script{}
			switch what {
			case "ended by the event 410":
				refused = s.sends(expiredEvent())
			case "ended by the event: too large ":
				refused = s.sends(failing(errTooLarge.(*apierrors.StatusError)))
			}
			s.watches = append(s.watches, s.sends(allOfIt("7"), failing(errExpired)), refused, s.sends(allOfIt("5")))
			t.Did("a stream comes to 7 and gets 410; the stream at 7 is %s", what)
			stream(t, s, &store{})
			require.Equal(t, []string{"watch@", "watch@7", "watch@"}, s.requests(), "requests to the source")
		}
	})
}

func TestTask7_Stream_lasts_five_to_ten_minutes(t *testing.T) {
	bonus(t, "A watch asks to last at least five minutes, or MinWatchTimeout if that is longer, and at most twice as "+
		"long. A stream is a watch, which goes on after its bookmark.", func(t *guard.T) {
		s := &script{}
		s.watches = append(s.watches, s.sends(allOfIt("7")))
		stream(t, s, &store{})
		require.NotNil(t, s.options[0].TimeoutSeconds, "timeoutSeconds of the stream")
		require.GreaterOrEqual(t, *s.options[0].TimeoutSeconds, int64(300), "timeoutSeconds of the stream")
		require.LessOrEqual(t, *s.options[0].TimeoutSeconds, int64(600), "timeoutSeconds of the stream")

		s.watches = append(s.watches, s.sends(allOfIt("7")))
		t.Did("the same, with MinWatchTimeout 20m0s")
		runFor(t, reflector.NewReflectorWithOptions(streaming{s}, &appsv1.Deployment{}, &store{},
			cache.ReflectorOptions{MinWatchTimeout: 20 * time.Minute}), time.Minute)
		require.GreaterOrEqual(t, *s.options[1].TimeoutSeconds, int64(1200), "timeoutSeconds of the stream")
		require.LessOrEqual(t, *s.options[1].TimeoutSeconds, int64(2400), "timeoutSeconds of the stream")

		t.Rule("Chance decides how long a watch asks to last, and how long a stream does.")
		*s = script{watches: slices.Repeat([]watchFunc{s.sends(allOfIt("7"), expiredEvent())}, 20)}
		t.Did("RunWithContext; 20 streams succeed, and then bring 410")
		runFor(t, newReflector(streaming{s}, &store{}), time.Hour)
		distinct := map[int64]bool{}
		for _, options := range s.options {
			distinct[*options.TimeoutSeconds] = true
		}
		require.Greater(t, len(distinct), 3, "different timeoutSeconds of %d streams", len(s.options))
	})
}

func TestTask7_Nothing_of_a_stream_is_kept(t *testing.T) {
	bonus(t, "An object in the store does not keep its list in memory. The Reflector does not keep the "+
		"collection either.", func(t *guard.T) {
		s := &script{}
		c := s.channel()
		s.watches = append(s.watches, func(metav1.ListOptions) (watch.Interface, error) { return c, nil })
		var objects []weak.Pointer[appsv1.Deployment]
		for i := range 50 {
			e := event(watch.Added, fmt.Sprint("d", i), "2")
			objects = append(objects, weak.Make(e.Object.(*appsv1.Deployment)))
			c.send(e)
		}
		c.send(allOfIt("7"))
		keeper := &keeping{}
		r := newReflector(streaming{s}, keeper)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		t.Did("ListAndWatchWithContext; a stream brings fifty objects, of which the store keeps one; the watch goes on")
		t.Go(func() { r.ListAndWatchWithContext(ctx) })
		synctest.Wait()
		goroutines.GC()
		goroutines.GC()
		kept := 0
		for _, object := range objects {
			if object.Value() != nil {
				kept++
			}
		}
		require.NotNil(t, keeper.first, "the object that the store keeps")
		require.Less(t, kept, 5, "objects of the fifty that are still in memory")
		goroutines.KeepAlive(keeper)
		goroutines.KeepAlive(r)
	})
}
