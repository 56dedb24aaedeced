package rewritingproxy_test

// Task 5: an object that is written back, the second time, two at once, and a client that goes away during a question.

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/guard"
	rewritingproxy "client-go-workshop/labs/rewriting-proxy"
)

func TestTask5_Read_and_written_back(t *testing.T) {
	guard.Test(t, answers+"A client that writes an object back as it read it changes nothing.", func(t *guard.T) {
		w := newWorld(t, view, deployment("web", 2))
		read := w.get(collection + "/web").body
		got := w.write(http.MethodPut, collection+"/web", object, read)
		require.Equal(t, 200, got.code, "the code of the answer")
		requireJSON(t, read, got.body, "the object in the answer")
		require.Equal(t, []string{"web: 2"}, w.stored(), "what is stored")
	})
}

func TestTask5_Hidden_later(t *testing.T) {
	guard.Test(t, "To the client, a hidden object does not exist: writes, deletions and subresources answer 404. An "+
		"object can be hidden after many writes.", func(t *guard.T) {
		w := newWorld(t, view, deployment("web", 1))
		const patch = `{"metadata":{"annotations":{"a":"1"}}}`
		for range 3 {
			code := w.write(http.MethodPatch, collection+"/web", "application/merge-patch+json", patch).code
			require.Equal(t, http.StatusOK, code, "the code of a write to web")
		}
		t.Did("web gets the label")
		w.Update(hidden(deployment("web", 1)))
		requireStatus(t, 404, w.write(http.MethodPatch, collection+"/web", "application/merge-patch+json", patch))
		t.Rule(answers + "So is the answer to the write that hides an object.")
		w.Create(deployment("db", 2))
		const label = `{"metadata":{"labels":{"` + hiddenLabel + `":"true"}}}`
		got := w.write(http.MethodPatch, collection+"/db", "application/merge-patch+json", label)
		require.Equal(t, http.StatusOK, got.code, "the code of the write that hides db")
		require.Equal(t, "6", find(got.body, "spec", "replicas"), "spec.replicas in the answer")
	})
}

func TestTask5_Client_goes_away_during_the_question(t *testing.T) {
	guard.Test(t, "When the client goes away, the request to the API server ends, also the question whether an object is "+
		"hidden.", func(t *guard.T) {
		ended := make(chan error, 1)
		w := before(t, func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			ended <- r.Context().Err()
		})
		ctx, cancel := context.WithCancel(t.Context())
		t.Did("a client deletes web, and the API server does not answer the question about web")
		t.Go(func() { _, _ = w.client.Do(request(ctx, t, http.MethodDelete, collection+"/web", "")) })
		synctest.Wait()
		t.Did("the client goes away")
		cancel()
		synctest.Wait()
		require.Len(t, ended, 1, "questions that have ended")
	})
}

func TestTask5_Questions_about_hidden_objects(t *testing.T) {
	guard.Test(t, "checkVisible returns an error if the request out is about a hidden object, or if that cannot be found "+
		"out. The question must not be the write itself, and must not have its options.", func(t *guard.T) {
		web := deployment("web", 1)
		web.Annotations = map[string]string{"large": strings.Repeat("x", 200_000)}
		w := newWorld(t, view, web)
		w.Script("get", compressed)
		got := w.write("PATCH", collection+"/web/scale?dryRun=All&fieldManager=a", mergePatch, `{"spec":{"replicas":6}}`)
		require.Equal(t, 200, got.code, "the code of the answer")
		for _, r := range w.Requests("") {
			if r.Method == http.MethodGet {
				require.Equal(t, collection+"/web", strings.TrimSuffix(r.Path, "/"), "the path of the question")
				require.Equal(t, "", r.Query.Get("dryRun"), "dryRun in the question")
				require.Equal(t, "", r.Query.Get("resourceVersion"), "resourceVersion in the question")
				require.Equal(t, "", r.Body, "the body of the question")
			}
		}
		require.Equal(t, 1, len(w.Requests("patch")), "the number of patches that the API server has received")
		t.Rule("The options of a deletion stay as they are. The question does not use them up.")
		const options = `{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Foreground"}`
		require.Equal(t, 200, w.write("DELETE", collection+"/web", object, options).code, "the code of the answer")
		deletions := w.Requests("delete")
		require.Equal(t, 1, len(deletions), "the number of deletions that the API server has received")
		requireJSON(t, options, deletions[0].Body, "the options of the deletion")
	})
}

func TestTask5_Requests_of_writes(t *testing.T) {
	const (
		removed = "Headers for one connection are removed, Upgrade among them. Authorization and all Impersonate headers " +
			"are removed. Accept-Encoding is removed. Writes have such headers, too."
		query = "It has the client's method, path, query and headers, but for those below, and goes to Upstream."
		ends  = "Its context is the client's, so it ends when the client goes away."
	)
	guard.Test(t, removed, func(t *guard.T) {
		for method, path := range guard.InOrder(map[string]string{
			"POST": collection, "PUT": collection + "/web", "PATCH": collection + "/web/scale",
		}) {
			t.Rule(removed)
			out := asked(t, view, method, path+"?dryRun=All&fieldManager=a", "Accept: "+protobuf+","+asMetadata,
				"Accept-Encoding: gzip", "Connection: X-Note", "X-Note: 1", "Authorization: Bearer abc", "Impersonate-User: admin",
				"X-Forwarded-For: 10.1.1.1")
			for _, name := range []string{"Accept-Encoding", "X-Note", "Authorization", "Impersonate-User"} {
				require.Equal(t, "", out.Header.Get(name), "the header %s", name)
			}
			t.Rule("X-Forwarded-For names the client, and only the client.")
			require.Equal(t, "192.0.2.1", out.Header.Get("X-Forwarded-For"), "the header X-Forwarded-For")
			t.Rule("Accept asks for JSON only, also in a write.")
			require.NotContains(t, out.Header.Get("Accept"), protobuf, "the header Accept")
			t.Rule(query)
			require.Equal(t, "dryRun=All&fieldManager=a", out.URL.Query().Encode(), "the query")
			t.Rule(ends)
			ctx, cancel := context.WithCancel(t.Context())
			in := httptest.NewRequest(method, "http://proxy"+path, strings.NewReader("{}")).WithContext(ctx)
			out, err := at(t, "http://upstream", view).Request(in)
			require.NoError(t, err, "the error of Request")
			t.Did("the client of a %s %s goes away", method, path)
			cancel()
			require.ErrorIs(t, out.Context().Err(), context.Canceled, "the error of the context")
		}
	})
}

func TestTask5_Each_write_asks(t *testing.T) {
	guard.Test(t, "To the client, a hidden object does not exist: writes, deletions and subresources answer 404. An API "+
		"server of another version may have other subresources.", func(t *guard.T) {
		passed := 0
		w := before(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/deployments/dark") {
				passed++
			}
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"kind":"Deployment","metadata":{"name":"dark","labels":{"`+hiddenLabel+`":""}}}`)
		})
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			for _, subresource := range []string{"", "/scale", "/status", "/novel", "/novel/part"} {
				if method == "POST" && subresource == "" {
					continue // there is no such request
				}
				requireStatus(t, 404, w.write(method, collection+"/dark"+subresource, object, "{}"))
				require.Equal(t, 0, passed, "the requests that have reached dark, without the questions about it")
			}
		}
		t.Rule("To the client, a hidden object does not exist. A namespace may have the name of a subresource.")
		for _, name := range []string{"scale", "status"} {
			path := "/apis/apps/v1/namespaces/" + name + "/deployments/dark/" + name
			requireStatus(t, 404, w.write("PATCH", path, mergePatch, "{}"))
			require.Equal(t, 0, passed, "the requests that have reached dark, without the questions about it")
		}
		t.Rule("To the client, a hidden object does not exist. The answer to a HEAD does not show it either.")
		for _, subresource := range []string{"", "/scale"} {
			got := w.send(w.client, "HEAD", collection+"/dark"+subresource, "")
			require.GreaterOrEqual(t, got.code, 400, "the code of the answer")
		}
	})
}

// table is a Table of web, with 0 of 1 Pods, whose second column has this name.
func table(column string) string {
	return `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"columnDefinitions":[{"name":"Name"},{"name":"` +
		column + `"}],"rows":[{"cells":["web","1/1"],"object":{"kind":"PartialObjectMetadata","metadata":{"name":"web"}}}]}`
}

func TestTask5_Tables_of_two_clients(t *testing.T) {
	guard.Test(t, "In a Table, the objects of the rows are rewritten, and the number behind the slash in the column "+
		"Ready. Without these columns, the cells stay as they are.", func(t *guard.T) {
		w := before(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			text := table(r.URL.Query().Get("fieldSelector"))
			if r.URL.Query().Has("watch") {
				text = `{"type":"ADDED","object":` + text + "}\n"
			}
			io.WriteString(w, text)
		})
		for _, c := range []struct{ column, want string }{{"Ready", "1/3"}, {"Other", "1/1"}, {"Ready", "1/3"}} {
			query := collection + "?fieldSelector=" + c.column
			require.Contains(t, w.get(query, "Accept: "+asTable).body, `"`+c.want+`"`, "the list with the column %s", c.column)
			events := w.watch(query+"&watch=1", "Accept: "+asTable).next()
			require.Contains(t, events[len(events)-1], `"`+c.want+`"`, "the event with the column %s", c.column)
		}
	})
}

func TestTask5_Table_of_a_Scale(t *testing.T) {
	guard.Test(t, "In the Table of a Scale, the number is the cell in the column Desired. kubectl get "+
		"--subresource=scale prints it.", func(t *guard.T) {
		w := before(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			text := `{"kind":"PartialObjectMetadata","metadata":{"name":"web"}}`
			if strings.HasSuffix(r.URL.Path, "/scale") {
				text = `{"kind":"Table","columnDefinitions":[{"name":"Name"},{"name":"Desired"},{"name":"Available"}],` +
					`"rows":[{"cells":["web",2,1],"object":{"kind":"Scale","metadata":{"name":"web"},"spec":{"replicas":2}}}]}`
			}
			io.WriteString(w, text)
		})
		got := w.get(collection+"/web/scale", "Accept: "+asTable).body
		require.Equal(t, []string{"6"}, cells(got, "Desired"), "the cells in the column Desired")
		require.Equal(t, []string{"1"}, cells(got, "Available"), "the cells in the column Available")
		t.Rule("In a Table, the objects of the rows are rewritten. A Scale is one of them.")
		require.Equal(t, []string{"web: 6"}, replicasIn(got), "the objects in the rows")
	})
}

func TestTask5_Answers_to_writes_in_other_forms(t *testing.T) {
	guard.Test(t, answers+"It may be a Table, or the list of the objects that a deletion has removed.", func(t *guard.T) {
		w := before(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			switch {
			case r.Method == http.MethodGet: // the question whether web is hidden
				io.WriteString(w, `{"kind":"PartialObjectMetadata","metadata":{"name":"web"}}`)
			case r.Header.Get("Accept") == "application/json":
				io.WriteString(w, `{"kind":"DeploymentList","items":[{"metadata":{"name":"a"},"spec":{"replicas":2}}]}`)
			default:
				io.WriteString(w, table("Ready"))
			}
		})
		list := w.send(w.client, "DELETE", collection, "", "Accept: application/json").body
		require.Equal(t, []string{"a: 6"}, replicasIn(list), "the objects in the list")
		for method, path := range guard.InOrder(map[string]string{
			"POST": collection, "PUT": collection + "/web", "PATCH": collection + "/web/scale", "DELETE": collection + "/web",
		}) {
			got := w.send(w.client, method, path, "{}", "Content-Type: "+object, "Accept: "+asTable).body
			require.Equal(t, []string{"1/3"}, cells(got, "Ready"), "the cells in the column Ready")
		}
	})
}

func TestTask5_Writes_are_sent_once(t *testing.T) {
	guard.Test(t, "If the API server cannot be reached, or breaks off, the client receives a 502. The write may be "+
		"stored, so only the client knows whether to send it again.", func(t *guard.T) {
		code, writes := 0, 0
		w := before(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet { // the question whether web is hidden
				http.Error(w, "no such object", http.StatusNotFound)
				return
			}
			writes++
			if code == http.StatusBadGateway {
				panic(http.ErrAbortHandler)
			}
			http.Error(w, "not now", code)
		})
		for _, code = range []int{502, 409, 429, 503} {
			for method, path := range guard.InOrder(map[string]string{
				"POST": collection, "PUT": collection + "/web", "PATCH": collection + "/web/scale", "DELETE": collection + "/web",
			}) {
				writes = 0
				t.Did("the API server answers a write with %d; 502 is a connection that breaks off", code)
				got := w.write(method, path, object, "{}")
				require.Equal(t, code, got.code, "the code of the answer")
				require.Equal(t, 1, writes, "the writes that the API server has received")
			}
		}
	})
}

func TestTask5_Answers_at_the_same_time(t *testing.T) {
	guard.Test(t, "Any goroutine may call its methods. While one client waits for its answer, others receive theirs.",
		func(t *guard.T) {
			for _, c := range []struct{ method, path string }{
				{"GET", collection + "?fieldSelector="}, {"GET", collection + "/"}, {"PATCH", collection + "/"},
			} {
				const format = `{"kind":"Deployment","metadata":{"name":"%s"},"spec":{"replicas":2}}`
				rest := make(chan struct{})
				w := before(t, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					text := fmt.Sprintf(format, "quick")
					if strings.Contains(r.URL.String(), "slow") {
						text = fmt.Sprintf(format, "slow")
						cut := strings.Index(text, "}")
						io.WriteString(w, text[:cut])
						http.NewResponseController(w).Flush()
						<-rest
						text = text[cut:]
					}
					io.WriteString(w, text)
				})
				received := make(chan answer, 2)
				for _, name := range []string{"slow", "quick"} {
					t.Did("a client sends %s %s%s", c.method, c.path, name)
					t.Go(func() { received <- w.write(c.method, c.path+name, mergePatch, "{}") })
					synctest.Wait()
				}
				require.Equal(t, 1, len(received), "the answers that have arrived, while only a part of slow has")
				close(rest)
				synctest.Wait()
				require.Equal(t, 2, len(received), "the answers that have arrived")
				for _, want := range []string{"quick: 6", "slow: 6"} {
					require.Equal(t, []string{want}, replicasIn((<-received).body), "the object in the answer")
				}
			}
		})
}

// busy is the transport to an API server that gives no answer until released is closed, and then breaks off.
type busy struct {
	arrived  atomic.Int64
	released chan struct{}
}

func (b *busy) RoundTrip(r *http.Request) (*http.Response, error) {
	b.arrived.Add(1)
	if r.URL.Query().Has("watch") { // its head arrives, but no event
		return &http.Response{StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {object}},
			ContentLength: -1, Body: io.NopCloser(b), Request: r}, nil
	}
	<-b.released
	return nil, io.ErrUnexpectedEOF
}

func (b *busy) Read([]byte) (int, error) {
	<-b.released
	return 0, io.ErrUnexpectedEOF
}

func TestTask5_Many_clients_at_the_same_time(t *testing.T) {
	guard.Test(t, "Any goroutine may call its methods. While a thousand clients wait, the request of another one goes to "+
		"the API server.", func(t *guard.T) {
		const clients = 1_001
		for _, c := range []struct{ method, path string }{
			{"GET", collection + "?watch=1&a="}, {"GET", collection + "?a="}, {"PATCH", collection + "/web"},
			{"GET", "/api/v1/configmaps?a="},
		} {
			upstream := &busy{}
			p, err := rewritingproxy.New(rewritingproxy.Config{Upstream: &url.URL{Scheme: "http", Host: "in-memory"},
				Transport: upstream, NewFrameReader: below.NewFrameReader, View: view})
			require.NoError(t, err, "the error of New")
			for _, when := range []string{"", ", after the API server has broken off all of these"} {
				upstream.arrived.Store(0)
				upstream.released = make(chan struct{})
				t.Did("%d clients send %s %s0 and so on%s", clients, c.method, c.path, when)
				for i := range clients {
					t.Go(func() {
						defer func() { _ = recover() }() // a watch breaks off with http.ErrAbortHandler
						in := httptest.NewRequest(c.method, fmt.Sprint("http://proxy", c.path, i), strings.NewReader("{}"))
						in.Header.Set("Content-Type", mergePatch)
						p.ServeHTTP(httptest.NewRecorder(), in)
					})
				}
				synctest.Wait()
				arrived := upstream.arrived.Load()
				close(upstream.released)
				synctest.Wait()
				require.Equal(t, int64(clients), arrived, "the requests that the API server has received")
			}
		}
	})
}

func TestTask5_Slow_readers(t *testing.T) {
	guard.Test(t, "Any goroutine may call its methods. While one client reads its answer slowly, others receive theirs.",
		func(t *guard.T) {
			for _, spec := range []string{`{}`, `{"replicas":2}`} {
				w := before(t, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					name := r.URL.Path[len(collection)+1:]
					fmt.Fprintf(w, `{"kind":"Deployment","metadata":{"name":%q},"spec":%s}`, strings.Repeat(name, 20_000), spec)
				})
				t.Did("six clients ask for objects of 100 kB, one after the other, and do not read the answers")
				answers := map[string]io.ReadCloser{}
				for i := range 6 {
					name := fmt.Sprint("web-", i)
					answer, err := w.client.Do(request(t.Context(), t, http.MethodGet, collection+"/"+name, ""))
					require.NoError(t, err, "the error of the request")
					defer answer.Body.Close()
					answers[name] = answer.Body
					synctest.Wait()
				}
				t.Did("they read them")
				for name, body := range guard.InOrder(answers) {
					text, err := io.ReadAll(body)
					require.NoError(t, err, "the error of reading the answer")
					got := find(string(text), "metadata", "name")
					require.True(t, got == strings.Repeat(name, 20_000), "the answer for %s has its object", name)
				}
			}
		})
}
