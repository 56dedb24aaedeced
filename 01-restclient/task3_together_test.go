package restclient_test

// Task 3: many goroutines use one client.

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/rest"

	restclient "client-go-workshop/01-restclient"
	"client-go-workshop/internal/testkit/guard"
)

// mirror is a transport without a server. It answers a request with its body, or with a Status that has the last
// segment of the path as its message. Each retry of a POST is such an answer, too.
type mirror struct{ busy sync.Map }

func (m *mirror) RoundTrip(r *request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		r.Body.Close()
	}
	header := http.Header{"Content-Type": {"application/json"}}
	code := 200
	if _, again := m.busy.LoadOrStore(r.URL.String(), true); !again {
		header.Set("Retry-After", "0")
		code = 503
	} else if len(body) == 0 {
		code = 404
		name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		body = fmt.Appendf(nil, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":404,"message":%q}`, name)
	}
	return &http.Response{StatusCode: code, Header: header, ContentLength: int64(len(body)),
		Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
}

func TestTask3_Many_goroutines_use_a_client(t *testing.T) {
	guard.Race(t, "Any number of goroutines may use a client: no request changes another, and no Result another.",
		func(t *guard.T) {
			c, err := restclient.AppsV1For(&rest.Config{Host: "http://api", QPS: -1, Transport: &mirror{}})
			require.NoError(t, err, "the error of AppsV1For")
			t.Did("8 goroutines: each writes and reads 300 Deployments of its own, with one client")
			bad := make(chan string, 8)
			shared := c.Put().Namespace("default").Resource("deployments").Name("shared").Body(deployment("shared"))
			result := shared.Do(t.Context())
			var all sync.WaitGroup
			for g := range 8 {
				all.Go(func() {
					for i := range 300 {
						name := fmt.Sprintf("web-%d-%d", g, i)
						for _, got := range []string{written(t, c, name), refused(t, c, name),
							nameIn(shared.Do(t.Context()), "shared", name), nameIn(result, "shared", name)} {
							if got != name {
								bad <- fmt.Sprintf("%s, instead of %s", got, name)
								return
							}
						}
					}
				})
			}
			all.Wait()
			close(bad)
			require.Empty(t, <-bad, "what a goroutine received")
		})
}

// written sends an object, and returns the name of the object in the answer.
func written(t *guard.T, c *restclient.RESTClient, name string) string {
	r := c.Put().Namespace("default").Resource("deployments").Name(name).Param("a", name).Body(deployment(name))
	return nameIn(r.Do(t.Context()), name, name)
}

// nameIn returns as, if the object in the answer has that name.
func nameIn(result restclient.Result, name, as string) string {
	d := &appsv1.Deployment{}
	if err := result.Into(d); err != nil {
		return err.Error()
	}
	if d.Name != name {
		return d.Name
	}
	return as
}

// refused asks for an object that does not exist, and returns the message of the error.
func refused(t *guard.T, c *restclient.RESTClient, name string) string {
	return fmt.Sprint(c.Get().Namespace("default").Resource("deployments").Name(name).Do(t.Context()).Error())
}
