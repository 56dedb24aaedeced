package reflector_test

// Bonus task 7: streams that end before their bookmark.

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask7_Broken_streams_wait(t *testing.T) {
	bonus(t, "If a stream ends before its bookmark, a new stream starts after the back-off. A stream from the "+
		"beginning is as much work for the server as a list.", func(t *guard.T) {
		s := &script{}
		ends := s.ends(event(watch.Added, "a", "8"))
		s.watches = append(s.watches, ends, ends, s.sends(allOfIt("8")))
		var asked []time.Time
		s.onRequest = func(string) { asked = append(asked, time.Now()) }
		t.Did("two streams end after their first event")
		stream(t, s, &store{})
		require.Equal(t, []string{"watch@", "watch@", "watch@"}, s.requests(), "requests to the source")
		require.GreaterOrEqual(t, asked[1].Sub(asked[0]), 800*time.Millisecond, "wait after the first stream")
		require.GreaterOrEqual(t, asked[2].Sub(asked[1]), 1600*time.Millisecond, "wait after the second stream")
		require.Equal(t, 0, s.left(), "watches that were not stopped")
	})
}

func TestTask7_Refusal_after_a_broken_stream(t *testing.T) {
	bonus(t, "If streamList returns any other error, a list follows, after a stream that ended before its bookmark too: "+
		"such a server may be one behind a load balancer that cannot stream.", func(t *guard.T) {
		s := &script{}
		s.lists = append(s.lists, lists("7"))
		s.watches = append(s.watches, s.ends(event(watch.Added, "a", "8")), watchFails(invalid), s.sends())
		t.Did("a stream ends after its first event, and the next one is answered: %v", invalid)
		stream(t, s, &store{})
		require.Equal(t, []string{"watch@", "watch@", "list@0", "watch@7"}, s.requests(), "requests to the source")
	})
}

func TestTask7_Server_that_completes_no_stream_is_listed(t *testing.T) {
	bonus(t, "If three streams in a row end before their bookmark, streamList returns an error, and a list follows. A "+
		"server may accept streams and complete none, and without a list the store stays empty (#140890).", func(t *guard.T) {
		a := []watch.Event{event(watch.Added, "a", "8")}
		for _, c := range []struct {
			what    string
			lasts   time.Duration
			events  []watch.Event
			refused error // instead of each third stream, if it asks for a version; the stream comes after it
			third   string
		}{
			{"ends after its first event", 0, a, nil, "7"},
			{"brings an event, and ends after ten minutes", 10 * time.Minute, a, nil, "7"},
			{"brings nothing, and ends after two seconds", 2 * time.Second, nil, nil, "7"},
			{"ends after its first event, and the server is busy before the third", 0, a, busy, "7"},
			{"ends after its first event, and the server refuses the version before the third", 0, a, errExpired, ""},
		} {
			t.Story(8)
			if c.refused != nil {
				t.Rule("If three streams in a row end before their bookmark, a list follows. A request that is refused " +
					"between them does not end the row.")
			}
			s := &script{}
			var asked []string
			streams, wasRefused := 0, false
			source := &trouble{script: s, streams: true}
			source.list = func(o metav1.ListOptions) (runtime.Object, error) {
				asked = append(asked, "list@"+o.ResourceVersion)
				return lists("7", "a")(o)
			}
			source.watch = func(o metav1.ListOptions) (watch.Interface, error) {
				if o.SendInitialEvents == nil {
					asked = append(asked, "watch@"+o.ResourceVersion)
					w := s.channel()
					time.AfterFunc(time.Hour, func() { w.send(expiredEvent()) })
					return w, nil
				}
				if wasRefused = !wasRefused && streams%3 == 2 && o.ResourceVersion != "" && c.refused != nil; wasRefused {
					return nil, c.refused
				}
				streams++
				asked = append(asked, "stream@"+o.ResourceVersion)
				w := s.channel(c.events...)
				time.AfterFunc(c.lasts, w.end)
				return w, nil
			}
			var filled []time.Duration
			start := time.Now()
			st := &store{onCall: func(string) error { filled = append(filled, time.Since(start)); return nil }}
			t.Did("RunWithContext for a day; each stream %s; each watch after a list brings 410 after an hour", c.what)
			runFor(t, newReflector(source, st), 24*time.Hour)

			want := []string{"stream@", "stream@", "stream@", "list@0", "watch@7",
				"stream@7", "stream@7", "stream@" + c.third, "list@" + c.third, "watch@7"}
			require.Equal(t, want, asked[:min(len(asked), len(want))], "first requests to the source")
			require.Contains(t, st.calls(), "Replace [a@1] @7", "calls of the store")
			require.Less(t, filled[0], 3*c.lasts+time.Minute, "time until the store received the first list")
			require.LessOrEqual(t, len(asked), 24*5, "requests in a day")
			require.InDelta(t, 3*len(filled), streams, 3, "streams in a day, three before each list")
			require.Equal(t, 0, s.left(), "watches that were not stopped")
		}
	})
}

func TestTask7_Short_outages_need_no_list(t *testing.T) {
	bonus(t, "If a stream ends before its bookmark, a new stream starts after the back-off. Only three such streams in a "+
		"row make a list due: a stream that reaches its bookmark ends the row, and one that is refused does not count.",
		func(t *guard.T) {
			s := &script{}
			ends := s.ends(event(watch.Added, "a", "8"))
			var want []string
			for range 5 {
				s.watches = append(s.watches, ends, watchFails(busy), watchFails(errRefused), ends, watchFails(errRefused),
					s.sends(allOfIt("8"), expiredEvent()), // and a 429 as an event, which may count as such a stream:
					ends, s.sends(failing(busy)), s.sends(allOfIt("8"), expiredEvent()))
				want = append(want, slices.Repeat([]string{"watch@8"}, 9)...)
			}
			for i := range 6 {
				want[i] = "watch@"
			}
			t.Did("five times: two streams end after their first event, three are refused, one succeeds and brings 410; " +
				"one ends after its first event, one brings 429, one succeeds and brings 410")
			runFor(t, newReflector(streaming{s}, &store{}), 3*time.Hour)
			require.Equal(t, append(want, "watch@8"), s.requests(), "requests to the source")
		})
}
