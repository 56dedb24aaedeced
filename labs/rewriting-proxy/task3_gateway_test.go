package rewritingproxy_test

// Task 3: what the proxy does as an HTTP server and client: headers, encodings, other resources, and failures.

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
	rewritingproxy "client-go-workshop/labs/rewriting-proxy"
)

// compressed answers with gzip if the client accepts that, as an API server does for large answers.
func compressed(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		next.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	zipped := &gzipped{w, gzip.NewWriter(w)}
	defer zipped.zip.Close()
	next.ServeHTTP(zipped, r)
}

type gzipped struct {
	http.ResponseWriter
	zip *gzip.Writer
}

func (z *gzipped) WriteHeader(code int) {
	z.Header().Del("Content-Length")
	z.ResponseWriter.WriteHeader(code)
}

func (z *gzipped) Write(b []byte) (int, error) { return z.zip.Write(b) }

func TestTask3_Upgraded_connections_pass(t *testing.T) {
	guard.Test(t, otherRequests+" kubectl exec and kubectl port-forward ask for an upgrade of the connection.",
		func(t *guard.T) {
			upstream := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				conn, both, err := http.NewResponseController(w).Hijack()
				if err != nil {
					return
				}
				defer conn.Close()
				io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
				line, _ := both.ReadString('\n')
				io.WriteString(conn, "received "+line)
			}))
			p, err := rewritingproxy.New(rewritingproxy.Config{Upstream: &url.URL{Scheme: "http", Host: "in-memory"},
				Transport: transport(t, upstream), NewFrameReader: below.NewFrameReader, View: view})
			require.NoError(t, err, "the error of New")
			w := &world{t: t}
			w.connect(p)
			t.Did("a client asks for an upgrade to websocket, and sends hello")
			resp, err := w.client.Do(request(t.Context(), t, http.MethodGet, "/api/v1/namespaces/default/pods/web/exec", "",
				"Connection: Upgrade", "Upgrade: websocket"))
			require.NoError(t, err, "the error of the request")
			defer resp.Body.Close()
			require.Equal(t, http.StatusSwitchingProtocols, resp.StatusCode, "the code of the answer")
			conn, ok := resp.Body.(io.ReadWriter)
			require.True(t, ok, "the client can write to the connection")
			io.WriteString(conn, "hello\n")
			text, _ := io.ReadAll(conn)
			require.Equal(t, "received hello\n", string(text), "what the client has received")
		})
}

const otherRequests = "A request that is not about Deployments passes as it is, and so does its answer, in any " +
	"encoding."

func TestTask3_Compressed_answers(t *testing.T) {
	guard.Test(t, rewritten+"A large answer is rewritten too, whatever encoding the client accepts.", func(t *guard.T) {
		w := newWorld(t, view, deployment("web", 2))
		for _, accepts := range []string{"gzip", "gzip, deflate, br", "identity"} {
			w.Script("list", compressed)
			got := w.get(collection, "Accept-Encoding: "+accepts)
			body := got.body
			if got.header.Get("Content-Encoding") == "gzip" {
				zip, err := gzip.NewReader(strings.NewReader(body))
				require.NoError(t, err, "the error of decoding gzip")
				text, err := io.ReadAll(zip)
				require.NoError(t, err, "the error of decoding gzip")
				body = string(text)
			}
			require.Equal(t, []string{"web: 6"}, replicasIn(body), "the objects in the list")
		}
	})
}

func TestTask3_Other_resources_pass(t *testing.T) {
	guard.Test(t, otherRequests+" Discovery is about every resource, and clients read it in protobuf.", func(t *guard.T) {
		w := newWorld(t, view)
		w.Create(&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web",
			Labels: map[string]string{hiddenLabel: "true"}}})
		for _, path := range []string{
			"/apis/policy/v1/poddisruptionbudgets", "/apis/policy/v1/namespaces/default/poddisruptionbudgets/web",
			"/api/v1/namespaces/deployments/configmaps", "/api/v1/configmaps", "/apis", "/apis/apps/v1",
			"/apis/apps/v2/deployments2",
			"/openapi/v3", "/version", "/readyz", "/nowhere",
		} {
			for _, accept := range []string{protobuf, "application/json"} {
				got, want := w.get(path, "Accept: "+accept), w.direct(path, "Accept: "+accept)
				require.Equal(t, want.code, got.code, "the code of the answer")
				require.Equal(t, want.header.Get("Content-Type"), got.header.Get("Content-Type"), "the content type")
				require.True(t, want.body == got.body, "the answer has the bytes of the API server's")
			}
		}
		w.Script("list", compressed)
		got := w.get("/api/v1/configmaps", "Accept-Encoding: gzip")
		require.Equal(t, "gzip", got.header.Get("Content-Encoding"), "the encoding of the answer")
	})
}

func TestTask3_Other_requests_have_one_identity(t *testing.T) {
	const (
		others   = otherRequests + " The proxy's credentials replace the client's in these requests too."
		identity = "Authorization and all Impersonate headers are removed: the API server must see one identity, that of " +
			"the proxy. It is the one of its transport."
	)
	guard.Test(t, others, func(t *guard.T) {
		w := newWorld(t, view)
		for path, rule := range guard.InOrder(map[string]string{"/api/v1/configmaps": others, collection: identity}) {
			t.Rule("%s", rule)
			w.get(path, "Authorization: Bearer abc", "Impersonate-User: admin")
			all := w.Requests("list")
			header := all[len(all)-1].Header
			require.Equal(t, "", header.Get("Authorization"), "the header Authorization at the API server")
			require.Equal(t, "", header.Get("Impersonate-User"), "the header Impersonate-User at the API server")
		}
	})
}

func TestTask3_Headers_of_the_answer(t *testing.T) {
	guard.Test(t, "The answer keeps the code and the headers of the API server, but for those that describe the old "+
		"body or belong to the connection. Warnings are headers.", func(t *guard.T) {
		body := `{"kind":"Deployment","spec":{"replicas":4}}`
		w := before(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			w.Header().Add("Warning", `299 - "one"`)
			w.Header().Add("Warning", `299 - "two"`)
			w.Header().Set("Audit-Id", "7")
			w.Header().Set("Connection", "X-Hop")
			w.Header().Set("X-Hop", "1")
			w.WriteHeader(http.StatusAccepted)
			io.WriteString(w, body)
		})
		got := w.get(collection + "/web")
		requireJSON(t, `{"kind":"Deployment","spec":{"replicas":12}}`, got.body, "the object in the answer")
		require.Equal(t, http.StatusAccepted, got.code, "the code of the answer")
		require.Equal(t, []string{`299 - "one"`, `299 - "two"`}, got.header.Values("Warning"), "the header Warning")
		require.Equal(t, "7", got.header.Get("Audit-Id"), "the header Audit-Id")
		require.Equal(t, "", got.header.Get("X-Hop"), "the header X-Hop, which was for one connection")
		require.Equal(t, "application/json", upTo(got.header.Get("Content-Type"), ";"), "the content type")
	})
}

func TestTask3_Columns_in_another_order(t *testing.T) {
	const (
		rows = "In a Table, the objects of the rows are rewritten, and the number behind the slash in the column " +
			"Ready. A server of another version may have other columns."
		largest = "A number above 2147483647 is shown as 2147483647, because replicas are an int32. That includes the " +
			"number in a cell."
	)
	guard.Test(t, rows, func(t *guard.T) {
		w := before(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"kind":"Table","columnDefinitions":[{"name":"Name"},{"name":"Image"},{"name":"Ready"},`+
				`{"name":"Not Ready"}],`+
				`"rows":[`+
				`{"cells":["a","registry/1","1/2","1/2"],"object":{"metadata":{"name":"a"}}},`+
				`{"cells":["b","registry/1","1/2147483647","1/3"],"object":{"metadata":{"name":"b"}}}]}`)
		})
		got := w.get(collection, "Accept: "+asTable).body
		require.Equal(t, []string{"registry/1", "registry/1"}, cells(got, "Image"), "the cells in the column Image")
		require.Equal(t, []string{"1/2", "1/3"}, cells(got, "Not Ready"), "the cells in the column Not Ready")
		ready := cells(got, "Ready")
		require.Equal(t, 2, len(ready), "the number of cells in the column Ready")
		require.Equal(t, "1/6", ready[0], "the first cell in the column Ready")
		t.Rule(largest)
		require.Equal(t, "1/2147483647", ready[1], "the second cell in the column Ready")
	})
}

func TestTask3_Long_tables(t *testing.T) {
	guard.Test(t, "In a Table, the objects of the rows are rewritten, and the number behind the slash in the column "+
		"Ready. A namespace can have many rows.", func(t *guard.T) {
		const rows = 1_001
		row := `{"cells":["a","1/2"],"object":{"metadata":{"name":"a"},"spec":{"replicas":2}}}`
		w := before(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"kind":"Table","columnDefinitions":[{"name":"Name"},{"name":"Ready"}],"rows":[`+
				strings.Repeat(row+",", rows-1)+row+`]}`)
		})
		got := w.get(collection+"?includeObject=Object", "Accept: "+asTable).body
		shown := map[string]int{}
		objects := replicasIn(got)
		for i, cell := range cells(got, "Ready") {
			shown[cell+" "+objects[i]]++
		}
		require.Equal(t, map[string]int{"1/6 a: 6": rows}, shown, "how often each row is there")
	})
}

func TestTask3_Kind_is_at_the_top(t *testing.T) {
	guard.Test(t, "An answer with Deployments is rewritten: one object, a list or a page of it, and a Table. Other values "+
		"in an object may look like its kind.", func(t *guard.T) {
		for _, kind := range []string{"Status", "Table", "List"} {
			const format = `{"metadata":{"annotations":{"kind":"%s"},"ownerReferences":[{"kind":"%[1]s"}]},` +
				`"kind":"Deployment","spec":{"replicas":%d,"template":{"items":[],"rows":[],"object":{}}}}`
			w := before(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, format, kind, 2)
			})
			t.Did("a Deployment has an annotation and an owner with the kind %s", kind)
			requireJSON(t, fmt.Sprintf(format, kind, 6), w.get(collection+"/web").body, "the object in the answer")
		}
	})
}

func TestTask3_Errors_in_other_forms_pass(t *testing.T) {
	guard.Test(t, "An error of the API server passes as it is. An overloaded API server answers with a text, and clients "+
		"wait for the time in Retry-After.", func(t *guard.T) {
		text := strings.Repeat("too many requests\n", 10_000)
		for _, code := range []int{429, 500, 503} {
			asked := 0
			w := before(t, func(w http.ResponseWriter, r *http.Request) {
				asked++
				w.Header().Set("Retry-After", "7")
				http.Error(w, text, code)
			})
			t.Did("the API server answers with %d and a text of %d bytes", code, len(text)+1)
			got := w.get(collection)
			require.Equal(t, code, got.code, "the code of the answer")
			require.True(t, text+"\n" == got.body, "the answer has the text of the API server: %d bytes, %.50q", len(got.body),
				got.body)
			require.Equal(t, 1, asked, "the requests that the API server has received: the client waits, and not the proxy")
			require.Equal(t, "7", got.header.Get("Retry-After"), "the header Retry-After")
			require.Equal(t, "text/plain", upTo(got.header.Get("Content-Type"), ";"), "the content type")
		}
		t.Rule("An error of the API server passes as it is. It refuses a HEAD, and names the methods that it allows.")
		w := before(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", "GET")
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodHead {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			io.WriteString(w, `{"kind":"DeploymentList","items":[]}`)
		})
		got := w.send(w.client, "HEAD", collection, "")
		require.Equal(t, http.StatusMethodNotAllowed, got.code, "the code of the answer")
		require.Equal(t, "GET", got.header.Get("Allow"), "the header Allow")
		t.Rule("A redirect passes too. It is for the client.")
		w = before(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", collection)
			w.WriteHeader(http.StatusTemporaryRedirect)
		})
		w.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		for _, path := range []string{collection, collection + "/web", collection + "?watch=1"} {
			got := w.get(path)
			require.Equal(t, http.StatusTemporaryRedirect, got.code, "the code of the answer")
			require.Equal(t, collection, got.header.Get("Location"), "the header Location")
		}
	})
}

func TestTask3_Answers_that_cannot_be_rewritten(t *testing.T) {
	guard.Test(t, "An answer that the proxy cannot rewrite is not passed on: the client receives a 502. A server may "+
		"ignore what a request accepts.", func(t *guard.T) {
		w := newWorld(t, view, deployment("web", 2))
		for _, c := range []struct{ contentType, body string }{
			{protobuf, "k8s\x00\x0a\x0c"}, {"application/yaml", "spec: {replicas: 2}\n"}, {"", `{"spec":{"replicas":2}}`},
			{"application/json-seq", `{"spec":{"replicas":2}}`}, {object, `{"spec":{"replicas":2}`},
			{object, `{"spec":{"replicas":"2"}}`}, {object, ""}, {object, `<html>`},
			{object, `{"kind":"Table","columnDefinitions":[{"name":"Ready"}],"rows":[{"cells":["1/x"],"object":{}}]}`},
			{object, `{"kind":"Table","columnDefinitions":[{"name":"Ready"}],"rows":[{"cells":["<none>"],"object":{}}]}`},
			{object, `{"kind":"Table","columnDefinitions":[{"name":"Ready"}],` +
				`"rows":[{"cells":["1/1"],"object":{}},{"cells":["ready"],"object":{}}]}`},
			{object, `{"kind":"DeploymentList","items":[{"spec":{"replicas":"2"}}]}`},
		} {
			t.Did("the API server answers with %q: %q", c.contentType, c.body)
			w.Script("", fakeapi.Body(c.contentType, c.body), fakeapi.Body(c.contentType, c.body))
			requireStatus(t, http.StatusBadGateway, w.get(collection+"/web"))
			requireStatus(t, http.StatusBadGateway, w.get(collection))
		}
		t.Did("the API server answers with the encoding br")
		w.Script("", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			w.Header().Set("Content-Encoding", "br")
			next.ServeHTTP(w, r)
		})
		got := w.get(collection + "/web")
		requireStatus(t, http.StatusBadGateway, got)
		t.Rule("Each answer of the proxy itself is a Status in JSON. It does not have the headers of another body.")
		require.Equal(t, "", got.header.Get("Content-Encoding"), "the header Content-Encoding of the Status")
	})
}

func TestTask3_Server_is_away(t *testing.T) {
	const (
		away     = "If the API server cannot be reached, or breaks off, the client receives a 502."
		statuses = "Each answer of the proxy itself is a Status in JSON. Clients such as kubectl show its message."
	)
	guard.Test(t, away, func(t *guard.T) {
		w := newWorld(t, view, deployment("web", 2))
		w.Script("get", fakeapi.Cut(100))
		t.Did("the connection breaks off after 100 bytes")
		requireStatus(t, http.StatusBadGateway, w.get(collection+"/web"))
		w.Script("get", func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, "{")
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})
		t.Did("the connection breaks off in an error of the API server")
		requireStatus(t, http.StatusBadGateway, w.get(collection+"/web"))
		t.Did("the API server closes each connection without an answer")
		closing := before(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		requireStatus(t, http.StatusBadGateway, closing.get(collection))
		t.Did("the API server is away")
		w.Down()
		got := w.get(collection)
		require.Equal(t, http.StatusBadGateway, got.code, "the code of the answer")
		t.Rule(statuses)
		requireStatus(t, http.StatusBadGateway, got)
		require.Equal(t, "application/json", upTo(got.header.Get("Content-Type"), ";"), "the content type")
		require.True(t, strings.Contains(find(got.body, "message"), "connection refused"),
			"the message has the cause, connection refused: %s", find(got.body, "message"))
		requireStatus(t, http.StatusBadGateway, w.get("/api/v1/configmaps"))
		requireStatus(t, http.StatusNotAcceptable, w.get(collection, "Accept: "+protobuf))
		t.Did("the API server is back")
		w.Up()
		require.Equal(t, []string{"web: 6"}, replicasIn(w.get(collection).body), "the objects in the list")
	})
}

func TestTask3_Client_goes_away(t *testing.T) {
	guard.Test(t, "Its context is the client's, so it ends when the client goes away. A list of a large cluster is work "+
		"for the server.", func(t *guard.T) {
		w := newWorld(t, view, deployment("web", 2))
		ended := make(chan struct{})
		w.Script("list", func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
			<-r.Context().Done()
			close(ended)
		})
		ctx, cancel := context.WithCancel(t.Context())
		t.Did("a client starts a list, and goes away before the answer")
		t.Go(func() { w.client.Do(request(ctx, t, http.MethodGet, collection, "")) })
		synctest.Wait()
		cancel()
		select {
		case <-ended:
		case <-time.After(time.Hour):
			require.True(t, false, "the request to the API server has ended an hour after the client went away")
		}
	})
}
