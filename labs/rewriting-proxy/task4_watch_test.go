package rewritingproxy_test

// Task 4: the events of a watch.

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
	rewritingproxy "client-go-workshop/labs/rewriting-proxy"
)

func TestTask4_Event_leaves_at_once(t *testing.T) {
	guard.Test(t, "The client receives the head of the answer at once, and each event as soon as its last byte has "+
		"come. The next event may come in an hour.", func(t *guard.T) {
		w := newWorld(t, view)
		s := w.watch(collection + "?watch=1&resourceVersion=" + w.ResourceVersion())
		require.Equal(t, []string{"head"}, s.next(), "what the client has received before any event")
		for i, name := range []string{"a", "b", "c"} {
			t.Did("%s is created with %d replicas, and then nothing happens", name, i+1)
			w.Create(deployment(name, int32(i+1)))
			require.Equal(t, []string{"ADDED " + name + ": " + []string{"3", "6", "9"}[i]}, s.short(),
				"the events that the client has received")
		}
	})
}

// upstreamOf returns a world whose API server answers a watch with what the test writes.
func upstreamOf(t *guard.T) (w *world, upstream *io.PipeWriter) {
	r, upstream := io.Pipe()
	t.Cleanup(func() { upstream.Close() })
	return before(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		http.NewResponseController(w).Flush()
		p := make([]byte, 64<<10)
		for {
			n, err := r.Read(p)
			w.Write(p[:n])
			http.NewResponseController(w).Flush()
			if err == io.ErrUnexpectedEOF {
				panic(http.ErrAbortHandler)
			}
			if err != nil {
				return
			}
		}
	}), upstream
}

// event returns an event about a Deployment.
func event(eventType, name, replicas string) string {
	return `{"type":"` + eventType + `","object":{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"` + name +
		`"},"spec":{"replicas":` + replicas + `}}}`
}

func TestTask4_Events_are_whole(t *testing.T) {
	guard.Test(t, "The client receives the head of the answer at once, and each event as soon as its last byte has "+
		"come. The network decides where the stream is cut.", func(t *guard.T) {
		w, upstream := upstreamOf(t)
		s := w.watch(collection + "?watch=1")
		s.next()
		first, second, third := event("ADDED", "a", "1"), event("ADDED", "b", "2"), event("MODIFIED", "}{", "3")
		t.Did("an event and a part of the next one arrive")
		io.WriteString(upstream, first+"\n"+second[:50])
		require.Equal(t, []string{"ADDED a: 3"}, s.short(), "the events that the client has received")
		t.Did("the rest of it arrives, and a whole one, without white space between them")
		io.WriteString(upstream, second[50:]+third)
		require.Equal(t, []string{"ADDED b: 6", "MODIFIED }{: 9"}, s.short(), "the events that the client has received")
	})
}

func TestTask4_Event_before_a_break(t *testing.T) {
	guard.Test(t, "The client receives the head of the answer at once, and each event as soon as its last byte has "+
		"come. One Read may return an event and an error.", func(t *guard.T) {
		w := before(t, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			text := event("ADDED", "a", "1") + "\n"
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"+
				"%x\r\n%s\r\nnot the size of a chunk\r\n", len(text), text)
		})
		s := w.watch(collection + "?watch=1")
		require.Equal(t, []string{"ADDED a: 3"}, s.short(), "the events that the client has received")
		require.ErrorIs(t, s.end(), io.ErrUnexpectedEOF, "the error with which the answer ends")
	})
}

func TestTask4_Large_events(t *testing.T) {
	guard.Test(t, "The client receives the head of the answer at once, and each event as soon as its last byte has "+
		"come. An event may have more than a megabyte.", func(t *guard.T) {
		w, upstream := upstreamOf(t)
		s := w.watch(collection + "?watch=1")
		s.next()
		for _, size := range []int{1 << 10, 1 << 20, 10, 15 << 20, 100 << 10} {
			t.Did("an event with a name of %d bytes arrives", size)
			name := strings.Repeat("x", size)
			io.WriteString(upstream, event("ADDED", name, "2")+"\n")
			got := s.next()
			require.Equal(t, 1, len(got), "the number of events that the client has received")
			require.True(t, strings.Contains(got[0], `"`+name+`"`) && strings.Contains(got[0], `"replicas":6`),
				"the event has its name, and 6 replicas")
		}
	})
}

func TestTask4_Bookmarks_and_errors_stay(t *testing.T) {
	const (
		types = "The types and the order of the events stay as they are."
		stay  = "A BOOKMARK and an ERROR stay as they are. They carry a version or a Status, and not an object."
	)
	guard.Test(t, stay, func(t *guard.T) {
		w, upstream := upstreamOf(t)
		s := w.watch(collection + "?watch=1&allowWatchBookmarks=1")
		s.next()
		for _, event := range []string{
			`{"type":"BOOKMARK","object":{"kind":"Deployment","apiVersion":"apps/v1",` +
				`"metadata":{"resourceVersion":"9007199254740993",` +
				`"annotations":{"k8s.io/initial-events-end":"true"}},"spec":{"replicas":1,"template":{}},"status":{}}}`,
			`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"12"},"spec":{"replicas":"novel"}}}`,
			`{"object":{"metadata":{"resourceVersion":"12"},"spec":{"replicas":7}},"type":"BOOKMARK"}`,
			`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old",` +
				`"reason":"Expired","code":410,"details":{"novel":9007199254740993}}}`,
			`{"type":"ERROR","object":{"status":"Failure","code":500,"spec":{"replicas":5}}}`,
		} {
			t.Did("%s", event)
			io.WriteString(upstream, event+"\n")
			got := s.next()
			require.Equal(t, 1, len(got), "the number of events that the client has received")
			requireJSON(t, event, got[0], "the event that the client has received")
		}
		t.Rule(types)
		all := []string{}
		for _, name := range []string{"DELETED", "ADDED", "MODIFIED", "DELETED", "NOVEL"} {
			io.WriteString(upstream, event(name, "a", "2")+"\n")
			all = append(all, name+" a: 6")
		}
		require.Equal(t, all, s.short(), "the events that the client has received")
	})
}

func TestTask4_Objects_keep_their_fields(t *testing.T) {
	const (
		object = "The object of an event is rewritten, and so is a Table in it. Versions and unknown fields stay as they are."
		lines  = "Each event ends with a newline, because clients in other languages read line by line."
		heads  = "The answer keeps the code and the headers of the API server, but for those that describe the old " +
			"body or belong to the connection."
	)
	guard.Test(t, object, func(t *guard.T) {
		const format = `{"type":"MODIFIED","object":{"kind":"Deployment","apiVersion":"apps/v9","metadata":{"name":"a",` +
			`"resourceVersion":"9007199254740993","generation":9007199254740993},"novel":{"replicas":1.10},` +
			`"spec":{"replicas":REPLICAS,"a":["BOOKMARK","ERROR"],"b":{"kind":"Table"}},"status":{"replicas":2}},"novel":1}`
		text := strings.Replace(format, "REPLICAS", "4", 1)
		w := before(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header()["Warning"] = []string{`299 - "one"`, `299 - "two"`}
			w.Header().Set("Connection", "X-Hop")
			w.Header().Set("X-Hop", "1")
			io.WriteString(w, text+text+"\n"+text+"\n\n")
		})
		got := w.get(collection + "?watch=1")
		all := strings.Split(strings.TrimSuffix(got.body, "\n"), "\n")
		for i := range min(3, len(all)) {
			requireJSON(t, strings.Replace(format, "REPLICAS", "12", 1), all[i], "the first lines of the answer")
		}
		t.Rule(lines)
		require.Equal(t, 3, len(all), "the number of lines in an answer with three events")
		require.True(t, strings.HasSuffix(got.body, "\n"), "the answer ends with a newline")
		t.Rule(heads)
		require.Equal(t, []string{`299 - "one"`, `299 - "two"`}, got.header.Values("Warning"), "the header Warning")
		require.Equal(t, "", got.header.Get("X-Hop"), "the header X-Hop, which was for one connection")
	})
}

func TestTask4_Tables_in_a_watch(t *testing.T) {
	const (
		tables  = "The object of an event is rewritten, and so is a Table in it. kubectl get -w prints Tables."
		columns = "Only the first Table of a watch, which may be a BOOKMARK's, has the definitions of its columns."
	)
	guard.Test(t, tables, func(t *guard.T) {
		w := newWorld(t, view)
		s := w.watch(collection+"?watch=1&includeObject=Object&allowWatchBookmarks=1&sendInitialEvents=true"+
			"&resourceVersionMatch=NotOlderThan", "Accept: "+asTable)
		got := s.next()
		t.Rule(columns)
		require.Equal(t, 2, len(got), "the head and the bookmark at the end of the initial events, as the client "+
			"receives them")
		bookmark := got[1]
		require.Equal(t, "BOOKMARK", find(bookmark, "type"), "the type of the first event")
		require.True(t, strings.Contains(bookmark, "columnDefinitions"), "the bookmark has the definitions of the columns")
		for _, d := range []struct {
			name string
			n    int32
			want string
		}{{"a", 1, "0/3"}, {"b", 2, "0/6"}} {
			t.Did("%s is created with %d replicas", d.name, d.n)
			w.Create(deployment(d.name, d.n))
			got := s.next()
			require.Equal(t, 1, len(got), "the number of events that the client has received")
			t.Rule(columns)
			require.True(t, strings.Contains(got[0], `"`+d.want+`"`), "a cell of the event %.200s is %s",
				got[0], d.want)
			t.Rule(tables)
			require.Equal(t, []string{"ADDED " + d.name + ": " + d.want[2:]}, []string{short(got[0])}, "the object in the row")
		}
		t.Did("b is deleted")
		w.Delete(deployment("b", 2))
		got = s.next()
		require.Equal(t, 1, len(got), "the number of events that the client has received")
		require.Equal(t, "DELETED b: 6", short(got[0]), "the object in the row")
		require.True(t, strings.Contains(got[0], `"0/6"`), "a cell of the event %.200s is 0/6", got[0])
	})
}

func TestTask4_Later_tables_have_no_columns(t *testing.T) {
	const (
		columns = "Only the first Table of a watch, which may be a BOOKMARK's, has the definitions of its columns."
		stay    = "A BOOKMARK and an ERROR stay as they are. So does a BOOKMARK with a Table."
	)
	guard.Test(t, columns, func(t *guard.T) {
		w, upstream := upstreamOf(t)
		s := w.watch(collection+"?watch=1&allowWatchBookmarks=1", "Accept: "+asTable)
		s.next()
		const definitions = `"columnDefinitions":[{"name":"Name"},{"name":"Ready"}],`
		for _, c := range []struct{ eventType, definitions string }{
			{"ADDED", definitions}, {"BOOKMARK", `"columnDefinitions":null,`}, {"ADDED", `"columnDefinitions":null,`},
			{"BOOKMARK", `"columnDefinitions":[],`}, {"MODIFIED", `"columnDefinitions":[],`}, {"BOOKMARK", ""},
			{"DELETED", ""}, {"BOOKMARK", definitions}, {"ADDED", ""},
		} {
			const format = `{"type":"%s","object":{"kind":"Table",%s"rows":[{"cells":["a","1/%d"],"object":` +
				`{"kind":"Deployment","metadata":{"name":"a"},"spec":{"replicas":%[3]d}}}]}}`
			want := 6
			t.Rule(columns)
			if c.eventType == "BOOKMARK" {
				t.Rule(stay)
				want = 2
			}
			t.Did(format, c.eventType, c.definitions, 2)
			fmt.Fprintf(upstream, format+"\n", c.eventType, c.definitions, 2)
			got := s.next()
			require.Equal(t, 1, len(got), "the number of events that the client has received")
			requireJSON(t, fmt.Sprintf(format, c.eventType, c.definitions, want), got[0],
				"the event that the client has received")
		}
	})
}

func TestTask4_Hidden_and_shown_again(t *testing.T) {
	guard.Test(t, "So the API server itself turns a hidden object into a deletion. When the label goes, it turns it into "+
		"an addition.", func(t *guard.T) {
		w := newWorld(t, view, hidden(deployment("dark", 1)), deployment("web", 1))
		s := w.watch(collection + "?watch=1&resourceVersion=" + w.ResourceVersion())
		s.next()
		for _, step := range []struct {
			what string
			do   func()
			want []string
		}{
			{"dark, which was hidden before the watch, is changed", func() { w.Update(hidden(deployment("dark", 2))) },
				[]string{}},
			{"web is changed", func() { w.Update(deployment("web", 2)) }, []string{"MODIFIED web: 6"}},
			{"web is hidden, and scaled to 9", func() { w.Update(hidden(deployment("web", 9))) }, []string{"DELETED web: 6"}},
			{"web is changed", func() { w.Update(hidden(deployment("web", 3))) }, []string{}},
			{"web is shown again", func() { w.Update(deployment("web", 4)) }, []string{"ADDED web: 12"}},
			{"dark is deleted", func() { w.Delete(deployment("dark", 1)) }, []string{}},
			{"web is deleted", func() { w.Delete(deployment("web", 4)) }, []string{"DELETED web: 12"}},
		} {
			t.Did("%s", step.what)
			step.do()
			got := s.short()
			if len(got) == 1 && strings.HasPrefix(got[0], "DELETED web") && len(step.want) == 1 {
				got[0], step.want[0] = "DELETED web", "DELETED web" // the object may be the old one or the new one
			}
			require.Equal(t, step.want, got, "the events that the client has received")
		}
	})
}

func TestTask4_Watch_of_one_object(t *testing.T) {
	guard.Test(t, "The object of an event is rewritten, and so is a Table in it. A watch has two more forms: a "+
		"query that "+
		"says 1, and the old path.", func(t *guard.T) {
		for _, path := range []string{
			collection + "?watch=1&resourceVersion=0", "/apis/apps/v1/deployments?watch=1&fieldSelector=metadata.name%3Dweb",
			collection + "?watch=yes&labelSelector=app%3Dweb",
		} {
			w := newWorld(t, view, deployment("web", 2), hidden(deployment("dark", 1)))
			require.Equal(t, []string{"ADDED web: 6"}, w.watch(path).short(), "the events that the client has received")
		}
		w := before(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, event("ADDED", "web", "2")+"\n")
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		for _, path := range []string{
			"/apis/apps/v1/watch/namespaces/default/deployments/web", "/apis/apps/v1/watch/deployments", collection + "?watch",
		} {
			require.Equal(t, []string{"ADDED web: 6"}, w.watch(path).short(), "the events that the client has received")
		}
	})
}

func TestTask4_Expired_version(t *testing.T) {
	guard.Test(t, "A BOOKMARK and an ERROR stay as they are. With 410, the client knows that it must list again.",
		func(t *guard.T) {
			w := newWorld(t, view, deployment("web", 1))
			version := w.ResourceVersion()
			w.Update(deployment("web", 2))
			w.Compact()
			s := w.watch(collection + "?watch=1&resourceVersion=" + version)
			require.Equal(t, []string{"ERROR 410"}, s.short(), "the events that the client has received")
			require.ErrorIs(t, s.end(), io.EOF, "the end of the watch")
			w.Script("watch", fakeapi.Answer(410, ""))
			requireStatus(t, 410, w.get(collection+"?watch=1"))
		})
}

func TestTask4_Ends(t *testing.T) {
	const (
		ends   = "A watch that the API server ends, ends for the client."
		breaks = "If it breaks off, the client's connection breaks off too: the client must not take half an answer for a " +
			"whole one."
	)
	guard.Test(t, ends, func(t *guard.T) {
		w := newWorld(t, rewritingproxy.View{Factor: 3}, deployment("web", 1))
		path := collection + "?watch=1&resourceVersion=0"
		s := w.watch(path)
		t.Did("the API server ends its watches")
		w.EndWatches()
		require.Equal(t, []string{"ADDED web: 3"}, s.short(), "the events that the client has received")
		require.ErrorIs(t, s.end(), io.EOF, "the error with which the answer ends")
		t.Rule(breaks)
		s = w.watch(path)
		t.Did("the connection to the API server breaks")
		w.Cut()
		require.Equal(t, []string{"ADDED web: 3"}, s.short(), "the events that the client has received")
		require.ErrorIs(t, s.end(), io.ErrUnexpectedEOF, "the error with which the answer ends")
		t.Did("the API server ends its answer in the middle of an event")
		w.Script("watch", fakeapi.End(100))
		s = w.watch(path)
		require.Equal(t, []string{}, s.short(), "the events that the client has received")
		require.ErrorIs(t, s.end(), io.ErrUnexpectedEOF, "the error with which the answer ends")
	})
}

func TestTask4_Event_that_cannot_be_rewritten(t *testing.T) {
	guard.Test(t, "An event that cannot be rewritten becomes one ERROR with the code 502, which ends the watch. The "+
		"client must not see the stored object.", func(t *guard.T) {
		for _, bad := range []string{
			event("MODIFIED", "a", `"many"`),
			`{"type":"ADDED","object":{"kind":"Table","columnDefinitions":[{"name":"Ready"}],"rows":[{"cells":["many"]}]}}`,
		} {
			w, upstream := upstreamOf(t)
			s := w.watch(collection + "?watch=1")
			s.next()
			io.WriteString(upstream, event("ADDED", "a", "1")+"\n")
			require.Equal(t, []string{"ADDED a: 3"}, s.short(), "the events that the client has received")
			t.Did("%s arrives, and another event", bad)
			io.WriteString(upstream, bad+"\n"+event("MODIFIED", "a", "2")+"\n")
			require.Equal(t, []string{"ERROR 502"}, s.short(), "the events that the client has received")
			require.ErrorIs(t, s.end(), io.EOF, "the error with which the answer ends")
		}
		t.Rule("Each event ends with a newline, because clients in other languages read line by line. So does this ERROR.")
		text := before(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, event("ADDED", "a", `"many"`)+"\n")
		}).get(collection + "?watch=1").body
		require.True(t, strings.HasSuffix(text, "\n"), "the ERROR ends with a newline")
		t.Rule("The types and the order of the events stay as they are, before an ERROR too.")
		w, upstream := upstreamOf(t)
		s := w.watch(collection + "?watch=1")
		s.next()
		t.Did("two events arrive together, and the replicas of the second one are a text")
		io.WriteString(upstream, event("ADDED", "a", "1")+"\n"+event("MODIFIED", "a", `"many"`)+"\n")
		require.Equal(t, []string{"ADDED a: 3", "ERROR 502"}, s.short(), "the events that the client has received")
	})
}
