package restclient_test

// Task 2: answers of every length.

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask2_Long_answer_is_read_to_its_end(t *testing.T) {
	guard.Test(t, "Do sends the request and reads the answer to its end: the list of a large cluster has "+
		"hundreds of megabytes.", func(t *guard.T) {
		w := newWorld(t)
		name := strings.Repeat("x", 4<<20)
		body := `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"` + name + `"}}`
		for _, length := range []string{"", strconv.Itoa(len(body))} {
			w.script("an answer of 4 MiB"+contentLength(length), "",
				func(rw respond, r *request, next handler) {
					if length != "" {
						rw.Header().Set("Content-Length", length)
					}
					fakeapi.Body("application/json", body)(rw, r, next)
				})
			d := &appsv1.Deployment{}
			require.NoError(t, w.getWeb().Into(d), "the error of Into")
			require.Equal(t, len(name), len(d.Name), "the length of the object's name")
		}
	})
}

func TestTask2_Very_long_answer_is_read_to_its_end(t *testing.T) {
	guard.Test(t, "Do sends the request and reads the answer to its end, however long it is: a list that ends early "+
		"is a truncated list.", func(t *guard.T) {
		w := newWorld(t)
		const length = 33 << 20
		w.script("an answer of 33 MiB", "", func(rw respond, _ *request, _ handler) {
			chunk := make([]byte, 1<<20)
			for range length / len(chunk) {
				rw.Write(chunk)
			}
		})
		t.Did("DoRaw")
		body, err := w.on("GET").DoRaw(t.Context())
		require.NoError(t, err, "the error of DoRaw")
		require.Equal(t, length, len(body), "the length of the body that DoRaw returns")
	})
}

func TestTask2_Answer_without_a_body_is_a_success(t *testing.T) {
	guard.Test(t, "Error returns nil after an answer of 2xx, and an error after any other answer or none. A 204 has no "+
		"body, and an answer of 200 may be empty.", func(t *guard.T) {
		w := newWorld(t)
		for _, code := range []int{200, 202, 204} {
			w.script(fmt.Sprint(code, ", and no body"), "", fakeapi.Times(2, func(rw respond, _ *request, _ handler) {
				rw.WriteHeader(code)
			})...)
			require.NoError(t, w.getWeb().Error(), "the error of Do after %d", code)
			t.Did("DoRaw")
			body, err := w.on("GET").Name("web").DoRaw(t.Context())
			require.NoError(t, err, "the error of DoRaw after %d", code)
			require.Empty(t, body, "the body that DoRaw returns after %d", code)
		}
		w.script("304, which never has a body", "", fakeapi.Times(2, func(rw respond, _ *request, _ handler) {
			rw.WriteHeader(304)
		})...)
		require.Error(t, w.getWeb().Error(), "the error of Do after 304")
		t.Did("DoRaw")
		_, err := w.on("GET").Name("web").DoRaw(t.Context())
		require.Error(t, err, "the error of DoRaw after 304")
	})
}

func TestTask2_Answer_to_a_HEAD_has_a_length_and_no_body(t *testing.T) {
	guard.Test(t, "Error returns nil after an answer of 2xx, and an error after any other answer or none. A HEAD asks "+
		"for the headers alone, and one of them is the length of the object.", func(t *guard.T) {
		w := newWorld(t)
		for _, s := range senders[:2] {
			w.script("200, with the Content-Length 1000", "", func(rw respond, _ *request, _ handler) {
				rw.Header().Set("Content-Length", "1000")
			})
			t.Did("HEAD with %s", s.name)
			require.NoError(t, s.send(w.on("HEAD").Name("web"), t.Context()), "the error of "+s.name)
		}
	})
}

func TestTask2_Compressed_answer_is_an_object(t *testing.T) {
	guard.Test(t, "Into decodes the object in the answer into obj. An API server compresses long answers for a client "+
		"that accepts it. The transport decompresses them, if it has set that header itself.", func(t *guard.T) {
		w := newWorld(t)
		w.script("an answer that is compressed if the client accepts it", "", func(rw respond, r *request, _ handler) {
			rw.Header().Set("Content-Type", "application/json")
			if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
				rw.Write(manifest("web"))
				return
			}
			rw.Header().Set("Content-Encoding", "gzip")
			zip := gzip.NewWriter(rw)
			zip.Write(manifest("web"))
			zip.Close()
		})
		d := &appsv1.Deployment{}
		require.NoError(t, w.getWeb().Into(d), "the error of Into")
		require.Equal(t, "web", d.Name, "the name of the object")
	})
}

func TestTask2_Length_is_only_a_promise(t *testing.T) {
	guard.Test(t, "A truncated body is an error, whatever length the server has announced: a client that reserves the "+
		"memory at once can panic.", func(t *guard.T) {
		w := newWorld(t)
		w.script("announces a body of four exabytes, and breaks the connection after 10 bytes", "",
			func(rw respond, _ *request, _ handler) {
				rw.Header().Set("Content-Length", strconv.Itoa(1<<62))
				io.WriteString(rw, "0123456789")
				flush(rw)
				panic(http.ErrAbortHandler)
			})
		require.Error(t, w.getWeb().Into(&appsv1.Deployment{}), "the error of Into")
	})
}
