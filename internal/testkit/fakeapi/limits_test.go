package fakeapi

// These tests send what a real API server refuses because of its size, or cannot read.

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const configMaps = "http://in-memory/api/v1/namespaces/default/configmaps"

// send returns the status code and the body of the answer.
func send(t *testing.T, s *Server, method, url, contentType string, body io.Reader) (int, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, body)
	require.NoError(t, err)
	req.Header.Set("Content-Type", contentType)
	resp, err := s.Client().Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

// configMap is one in JSON, with a value of so many bytes.
func configMap(name string, size int) io.Reader {
	return strings.NewReader(fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{"a":%q}}`,
		name, strings.Repeat("x", size)))
}

func TestLimits_of_bodies_objects_and_patches(t *testing.T) {
	s := Start(t)
	code, text := send(t, s, http.MethodPost, configMaps, "application/json", configMap("huge", 3<<20))
	require.Equal(t, http.StatusRequestEntityTooLarge, code)
	require.Contains(t, text, `"message":"Request entity too large: limit is 3145728"`)

	code, text = send(t, s, http.MethodPost, configMaps, "application/json", configMap("large", 3<<19))
	require.Equal(t, http.StatusInternalServerError, code)
	require.Contains(t, text, `"message":"etcdserver: request is too large"`)

	code, _ = send(t, s, http.MethodPost, configMaps, "application/json", configMap("web", 1<<20))
	require.Equal(t, http.StatusCreated, code)
	merge := bytes.NewReader(fmt.Appendf(nil, `{"data":{"b":%q}}`, strings.Repeat("x", 1<<20)))
	code, text = send(t, s, http.MethodPatch, configMaps+"/web", "application/merge-patch+json", merge)
	require.Equal(t, http.StatusInternalServerError, code, text)

	var copies []string
	for i := range 40 {
		copies = append(copies, fmt.Sprintf(`{"op":"copy","from":"/data/a","path":"/data/c%d"}`, i))
	}
	patch := strings.NewReader("[" + strings.Join(copies, ",") + "]")
	code, text = send(t, s, http.MethodPatch, configMaps+"/web", "application/json-patch+json", patch)
	require.Equal(t, http.StatusUnprocessableEntity, code)
	require.Contains(t, text, "the server rejected our request due to an error in our request")

	many := strings.NewReader("[" + strings.Repeat(`{"op":"test","path":"/kind","value":"ConfigMap"},`, 10_000) +
		`{"op":"remove","path":"/data/a"}]`)
	code, text = send(t, s, http.MethodPatch, configMaps+"/web", "application/json-patch+json", many)
	require.Equal(t, http.StatusRequestEntityTooLarge, code)
	require.Contains(t, text, "The allowed maximum operations in a JSON patch is 10000, got 10001")
}

func TestBroken_body_is_a_bad_request(t *testing.T) {
	s := Start(t)
	url, err := s.Listen("127.0.0.1:0")
	require.NoError(t, err)
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: a\r\n"+
		"Transfer-Encoding: chunked\r\n\r\nnot a length\r\n")
	require.NoError(t, err)
	answer := make([]byte, 12)
	_, err = io.ReadFull(conn, answer)
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1 400", string(answer))
}

func TestBound_keeps_what_is_new(t *testing.T) {
	s := Start(t)
	s.Bound()
	s.store.longest = 10
	s.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}})
	for i := range 100 {
		s.Update(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
			Data: map[string]string{"i": fmt.Sprint(i)}})
		require.LessOrEqual(t, len(s.store.history), 10)
	}
	code, text := send(t, s, http.MethodGet, configMaps+"?watch=1&resourceVersion=1", "", nil)
	require.Equal(t, http.StatusOK, code, "a watch reports it as an event")
	require.Contains(t, text, `"code":410`)
	code, text = send(t, s, http.MethodGet, configMaps+"/web", "", nil)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, text, `"i":"99"`)
	require.Empty(t, s.Requests(""))
}

// hold makes each strategic merge patch wait in its middle: it says so on begun, and goes on after a send on goOn.
func hold(t *testing.T) (begun, goOn chan struct{}) {
	begun, goOn = make(chan struct{}), make(chan struct{})
	apply := StrategicMergePatch
	t.Cleanup(func() { StrategicMergePatch = apply })
	StrategicMergePatch = func(original, patch []byte, like any) ([]byte, error) {
		begun <- struct{}{}
		<-goOn
		return apply(original, patch, like)
	}
	return begun, goOn
}

// A patch may take long. Other clients do not wait for it, and what they write in the meantime is not lost.
func TestPatch_that_takes_long_holds_nobody_up(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, goOn := hold(t)
		s := Start(t)
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
		s.Create(config)
		patched := make(chan string, 1)
		go func() {
			_, text := send(t, s, http.MethodPatch, configMaps+"/web", "application/strategic-merge-patch+json",
				strings.NewReader(`{"data":{"patched":"yes"}}`))
			patched <- text
		}()
		<-begun
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			code, text := send(t, s, http.MethodGet, configMaps+"/web", "", nil)
			require.Equal(t, http.StatusOK, code, text)
			config.Data = map[string]string{"other": "client"}
			s.Update(config)
		}()
		synctest.Wait()
		select {
		case <-answered:
		default:
			close(goOn)
			t.Fatal("another client waits for the patch")
		}
		goOn <- struct{}{}
		<-begun // the object is another one, so the patch is applied again
		goOn <- struct{}{}
		require.Contains(t, <-patched, `"data":{"other":"client","patched":"yes"}`)
	})
}

// While the patch is applied, a second client deletes the object and a third makes one of the same name.
func TestPatch_of_an_object_that_is_replaced_changes_the_new_one(t *testing.T) {
	begun, goOn := hold(t)
	s := Start(t)
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	patch := func(body string) chan int {
		code := make(chan int)
		go func() {
			got, _ := send(t, s, http.MethodPatch, configMaps+"/web", "application/strategic-merge-patch+json",
				strings.NewReader(body))
			code <- got
		}()
		<-begun
		return code
	}
	s.Create(config)
	code := patch(`{"data":{"a":"b"}}`)
	s.Delete(config)
	goOn <- struct{}{}
	require.Equal(t, http.StatusNotFound, <-code)

	s.Create(config)
	code = patch(fmt.Sprintf(`{"metadata":{"resourceVersion":%q}}`, s.Objects("configmaps")[0].GetResourceVersion()))
	s.Delete(config)
	s.Create(config)
	goOn <- struct{}{}
	<-begun
	goOn <- struct{}{}
	require.Equal(t, http.StatusConflict, <-code)
}

func TestStrategic_merge_patch_needs_its_package(t *testing.T) {
	imported := StrategicMergePatch
	require.NotNil(t, imported, "this test binary imports the package")
	t.Cleanup(func() { StrategicMergePatch = imported })
	s := Start(t)
	code, _ := send(t, s, http.MethodPost, configMaps, "application/json", configMap("web", 1))
	require.Equal(t, http.StatusCreated, code)
	patch := func() (int, string) {
		return send(t, s, http.MethodPatch, configMaps+"/web", "application/strategic-merge-patch+json",
			strings.NewReader(`{"data":{"$patch":"replace","b":"c"}}`))
	}
	code, text := patch()
	require.Equal(t, http.StatusOK, code, text)
	require.Contains(t, text, `"data":{"b":"c"}`)

	StrategicMergePatch = nil
	code, text = patch()
	require.Equal(t, http.StatusUnsupportedMediaType, code)
	require.Contains(t, text, "this program has no strategic merge patches: it does not import fakeapi/strategic")
}

// Clients ask for a list of 2 MB and do not read it.
func TestBound_refuses_large_answers_while_slow_clients_hold_many(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Start(t)
		s.Bound()
		s.held.most = 10 << 20
		for i := range 20 {
			s.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("web-", i)},
				Data: map[string]string{"a": strings.Repeat("x", 100_000)}})
		}
		for range 30 {
			conn, err := s.Config().Dial(t.Context(), "", "")
			require.NoError(t, err)
			defer conn.Close()
			io.WriteString(conn, "GET /api/v1/configmaps HTTP/1.1\r\nHost: a\r\n\r\n")
		}
		synctest.Wait()
		require.LessOrEqual(t, s.held.bytes.Load(), s.held.most)
		require.Greater(t, s.held.bytes.Load(), s.held.most-(3<<20))
		code, text := send(t, s, http.MethodGet, configMaps, "", nil)
		require.Equal(t, http.StatusTooManyRequests, code)
		require.Contains(t, text, `"retryAfterSeconds":1`)
		code, _ = send(t, s, http.MethodGet, configMaps+"?limit=0&labelSelector=a", "", nil)
		require.Equal(t, http.StatusOK, code, "small answers are always sent")
		code, _ = send(t, s, http.MethodPost, configMaps, "application/json", configMap("small", 1000))
		require.Equal(t, http.StatusCreated, code)

		time.Sleep(longestPause)
		synctest.Wait()
		require.Zero(t, s.held.bytes.Load())
		code, _ = send(t, s, http.MethodGet, configMaps, "", nil)
		require.Equal(t, http.StatusOK, code)
	})
}

// Clients begin large bodies, and send no more.
func TestBound_refuses_large_bodies_while_slow_clients_hold_many(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Start(t)
		s.Bound()
		for range 50 {
			conn, err := s.Config().Dial(t.Context(), "", "")
			require.NoError(t, err)
			defer conn.Close()
			fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n{",
				strings.TrimPrefix(configMaps, "http://in-memory"))
		}
		synctest.Wait()
		require.LessOrEqual(t, s.held.bytes.Load(), int64(mostHeld))
		code, _ := send(t, s, http.MethodPost, configMaps, "application/json", configMap("web", 5<<19))
		require.Equal(t, http.StatusTooManyRequests, code)
		time.Sleep(longestPause)
		synctest.Wait()
		require.Zero(t, s.held.bytes.Load())
		code, _ = send(t, s, http.MethodPost, configMaps, "application/json", configMap("web", 1<<20))
		require.Equal(t, http.StatusCreated, code)
	})
}
