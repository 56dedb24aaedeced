package fakeapi_test

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"client-go-workshop/internal/testkit/fakeapi"
)

const deployments = "http://in-memory/apis/apps/v1/deployments"

// get returns status code and body of a request, with the errors of both.
func get(t *testing.T, c *http.Client, url string) (code int, body string, sent, read error) {
	t.Helper()
	r, err := c.Get(url)
	if err != nil {
		return 0, "", err, nil
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	return r.StatusCode, string(b), nil, err
}

func bubble(t *testing.T, f func(t *testing.T, api *fakeapi.Server, c *http.Client)) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.Start(t)
		c := api.Client()
		defer c.CloseIdleConnections()
		f(t, api, c)
	})
}

func TestScript_is_used_up_in_order(t *testing.T) {
	bubble(t, func(t *testing.T, api *fakeapi.Server, c *http.Client) {
		none := func(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) }
		api.Script("list", fakeapi.Answer(429, "1"), none, fakeapi.Text(502, "bad gateway"))
		code, body, _, _ := get(t, c, deployments)
		require.Equal(t, 429, code)
		require.Contains(t, body, `"reason":"TooManyRequests"`)
		require.Contains(t, body, `"retryAfterSeconds":1`)
		code, _, _, _ = get(t, c, "http://in-memory/version")
		require.Equal(t, 200, code, "the script is for lists")
		code, _, _, _ = get(t, c, deployments)
		require.Equal(t, 200, code)
		code, body, _, _ = get(t, c, deployments)
		require.Equal(t, []any{502, "bad gateway"}, []any{code, body})
		code, _, _, _ = get(t, c, deployments)
		require.Equal(t, 200, code)
	})
}

func TestScript_may_name_a_resource(t *testing.T) {
	bubble(t, func(t *testing.T, api *fakeapi.Server, c *http.Client) {
		api.Script("list deployments", fakeapi.Answer(500, ""))
		code, _, _, _ := get(t, c, "http://in-memory/apis/policy/v1/poddisruptionbudgets")
		require.Equal(t, 200, code, "the script is for deployments")
		code, _, _, _ = get(t, c, deployments)
		require.Equal(t, 500, code)
	})
}

func TestCut_ends_in_the_middle_and_End_in_good_order(t *testing.T) {
	bubble(t, func(t *testing.T, api *fakeapi.Server, c *http.Client) {
		api.Script("watch", fakeapi.Cut(20), fakeapi.End(20))
		api.Create(deployment("a", 1))
		_, body, _, err := get(t, c, deployments+"?watch=1")
		require.Equal(t, `{"type":"ADDED","obj`, body)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		_, body, _, err = get(t, c, deployments+"?watch=1")
		require.Equal(t, `{"type":"ADDED","obj`, body)
		require.NoError(t, err)
	})
}

func TestSilent_watch_brings_nothing_until_it_ends(t *testing.T) {
	bubble(t, func(t *testing.T, api *fakeapi.Server, c *http.Client) {
		api.Script("watch", fakeapi.Silent)
		r, err := c.Get(deployments + "?watch=1")
		require.NoError(t, err)
		defer r.Body.Close()
		api.Create(deployment("a", 1))
		synctest.Wait()
		api.EndWatches()
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.Empty(t, body)
	})
}

func TestDown_refuses_and_breaks(t *testing.T) {
	bubble(t, func(t *testing.T, api *fakeapi.Server, c *http.Client) {
		r, err := c.Get(deployments + "?watch=1")
		require.NoError(t, err)
		defer r.Body.Close()
		require.Equal(t, 1, api.Watches())
		api.Down()
		_, err = r.Body.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		_, _, err, _ = get(t, c, deployments)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		synctest.Wait()
		require.Equal(t, 0, api.Watches())
		api.Up()
		code, _, _, _ := get(t, c, deployments)
		require.Equal(t, 200, code)
	})
}

func TestReset_can_come_after_the_work_is_done(t *testing.T) {
	bubble(t, func(t *testing.T, api *fakeapi.Server, c *http.Client) {
		api.Script("create", fakeapi.Reset(true))
		_, err := c.Post("http://in-memory/api/v1/namespaces/default/configmaps", "application/json",
			strings.NewReader(`{"metadata":{"name":"a"}}`))
		require.True(t, errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF), "%v", err)
		require.Len(t, api.Objects("configmaps"), 1)
	})
}

func TestSlow_and_SlowBody_take_their_time(t *testing.T) {
	bubble(t, func(t *testing.T, api *fakeapi.Server, c *http.Client) {
		start := time.Now()
		api.Script("", fakeapi.Slow(time.Minute), fakeapi.SlowBody(1, time.Second))
		get(t, c, deployments)
		require.Equal(t, time.Minute, time.Since(start))
		_, body, _, _ := get(t, c, deployments)
		require.Equal(t, time.Minute+time.Duration(len(body))*time.Second, time.Since(start))
	})
}

func TestLate_watch_is_not_a_slow_one(t *testing.T) {
	bubble(t, func(t *testing.T, api *fakeapi.Server, c *http.Client) {
		api.Script("watch", fakeapi.Late(func() time.Duration { return time.Minute }))
		start := time.Now()
		r, err := c.Get("http://in-memory/api/v1/configmaps?watch=1&resourceVersion=" + api.ResourceVersion())
		require.NoError(t, err)
		require.Zero(t, time.Since(start), "the header is not late")
		events := bufio.NewScanner(r.Body)
		for _, name := range []string{"a", "b"} {
			api.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}})
			time.Sleep(time.Second)
		}
		for i, name := range []string{"a", "b"} {
			require.True(t, events.Scan(), "an event: %v", events.Err())
			require.Contains(t, events.Text(), `"name":"`+name+`"`)
			require.Equal(t, time.Minute+time.Duration(i)*time.Second, time.Since(start), "the time of event %d", i)
		}
		require.NoError(t, r.Body.Close())
	})
}

func TestEndWatches_and_Event(t *testing.T) {
	bubble(t, func(t *testing.T, api *fakeapi.Server, c *http.Client) {
		r, err := c.Get(deployments + "?watch=1")
		require.NoError(t, err)
		api.EndWatches()
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.Empty(t, body)
		api.Script("watch", fakeapi.Event(410))
		_, text, _, err := get(t, c, deployments+"?watch=1")
		require.NoError(t, err)
		require.Contains(t, text, `{"type":"ERROR","object":{"kind":"Status"`)
		require.Contains(t, text, `"reason":"Expired"`)
	})
}

func TestBookmarks_come_each_minute_if_there_is_news(t *testing.T) {
	bubble(t, func(t *testing.T, api *fakeapi.Server, c *http.Client) {
		start := time.Now()
		r, err := c.Get(deployments + "?watch=1&allowWatchBookmarks=true&labelSelector=none&timeoutSeconds=400&resourceVersion=1")
		require.NoError(t, err)
		api.Create(deployment("a", 1))
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.Equal(t, 400*time.Second, time.Since(start))
		require.Equal(t, 6+1, strings.Count(string(body), `"BOOKMARK"`), "one each minute, and one before the end")
	})
}

func TestRequests_tells_what_was_asked_and_when(t *testing.T) {
	bubble(t, func(t *testing.T, api *fakeapi.Server, c *http.Client) {
		time.Sleep(time.Hour)
		at := time.Now()
		get(t, c, deployments+"?limit=5")
		requests := api.Requests("list")
		require.Len(t, requests, 1)
		require.Equal(t, at, requests[0].Time)
		require.Equal(t, "GET /apis/apps/v1/deployments?limit=5", requests[0].String())
		require.Empty(t, api.Requests("watch"))
	})
}

func TestListen_serves_on_a_socket(t *testing.T) {
	api := fakeapi.Start(t)
	url, err := api.Listen("127.0.0.1:0")
	require.NoError(t, err)
	c := &http.Client{Transport: &http.Transport{}}
	defer c.CloseIdleConnections()
	code, _, _, _ := get(t, c, url+"/readyz")
	require.Equal(t, 200, code)
	api.Down()
	_, _, err, _ = get(t, c, url+"/readyz")
	require.Error(t, err)
	api.Up()
	code, _, _, _ = get(t, c, url+"/readyz")
	require.Equal(t, 200, code)
}

// atHead does something between the decision to answer and the first byte of the answer.
type atHead struct {
	http.ResponseWriter
	do func()
}

func (w *atHead) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *atHead) WriteHeader(code int) {
	w.do()
	w.ResponseWriter.WriteHeader(code)
}

func TestWatch_begins_before_its_answer_does(t *testing.T) {
	for _, query := range []string{
		"watch=1", "watch=1&resourceVersion=0", "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
		"watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=1",
		"watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
	} {
		t.Run(query, func(t *testing.T) {
			bubble(t, func(t *testing.T, api *fakeapi.Server, c *http.Client) {
				api.Create(deployment("there", 1))
				api.Script("watch", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
					next.ServeHTTP(&atHead{w, func() { api.Delete(deployment("there", 1)) }}, r)
				})
				_, body, _, err := get(t, c, deployments+"?timeoutSeconds=5&"+query)
				require.NoError(t, err)
				require.Contains(t, body, `"type":"DELETED"`, "a client that has read the response's head "+
					"receives all later changes")
			})
		})
	}
}
