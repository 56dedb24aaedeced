package deadline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

const limit = 30 * time.Second

// serve serves one connection in memory, with deadlines, and returns the client's end of it.
func serve(t *testing.T, handler http.HandlerFunc) net.Conn {
	client, server := net.Pipe()
	s := &http.Server{Handler: Handler(handler, limit)}
	go s.Serve(&one{server, make(chan struct{}), false})
	t.Cleanup(func() { client.Close(); s.Close() })
	return client
}

// one is a listener with one connection.
type one struct {
	net.Conn
	closed chan struct{}
	taken  bool
}

func (o *one) Accept() (net.Conn, error) {
	if o.taken {
		<-o.closed
		return nil, net.ErrClosed
	}
	o.taken = true
	return o.Conn, nil
}
func (o *one) Close() error   { close(o.closed); return nil }
func (o *one) Addr() net.Addr { return o.LocalAddr() }

func TestHandler_ends_an_answer_that_is_not_read(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			_, err := w.Write(make([]byte, 10<<20))
			ended <- err
		})
		begin := time.Now()
		fmt.Fprint(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		require.ErrorIs(t, <-ended, os.ErrDeadlineExceeded)
		require.Equal(t, limit, time.Since(begin))
	})
}

// 200 MB at 20 kB/s take almost three hours.
func TestHandler_gives_a_slow_client_its_time(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 200 << 20
		client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(size))
			for range size >> 20 {
				w.Write(make([]byte, 1<<20))
			}
		})
		fmt.Fprint(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		begin, total, part := time.Now(), 0, make([]byte, 20_000)
		for total < size {
			time.Sleep(time.Second)
			n, err := io.ReadFull(client, part[:min(len(part), size-total)])
			require.NoError(t, err)
			total += n
		}
		require.Greater(t, time.Since(begin), 2*time.Hour)
	})
}

func TestHandler_ends_a_body_that_never_comes(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"read":     func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) },
		"not read": func(http.ResponseWriter, *http.Request) {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := serve(t, handler)
				begin := time.Now()
				fmt.Fprint(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf")
				_, err := io.ReadAll(client)
				require.NoError(t, err)
				require.LessOrEqual(t, time.Since(begin), 2*limit)
			})
		})
	}
}

// A watch may be silent for an hour, after a body, too; and the connection serves the next request.
func TestHandler_lets_the_server_wait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ctx context.Context
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			ctx = r.Context()
			io.Copy(io.Discard, r.Body)
			http.NewResponseController(w).Flush()
			time.Sleep(time.Hour)
			w.Write([]byte("event"))
		})
		c := http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			if client == nil {
				return nil, errors.New("a second connection")
			}
			defer func() { client = nil }()
			return client, nil
		}}}
		for range 3 {
			resp, err := c.Post("http://a", "", io.LimitReader(zeros{}, 100_000))
			require.NoError(t, err)
			text, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.Equal(t, "event", string(text))
			resp.Body.Close()
			time.Sleep(time.Hour)
		}
		require.NotNil(t, ctx)
		c.CloseIdleConnections()
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// The same over HTTP/2, where a deadline that has passed ends a request that only waits.
func TestHandler_lets_the_server_wait_over_HTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		protocols := &http.Protocols{}
		protocols.SetUnencryptedHTTP2(true)
		events := func(w http.ResponseWriter, _ *http.Request) {
			http.NewResponseController(w).Flush()
			time.Sleep(time.Hour)
			w.Write([]byte("event"))
		}
		s := &http.Server{Protocols: protocols, Handler: Handler(http.HandlerFunc(events), limit)}
		go s.Serve(&one{server, make(chan struct{}), false})
		transport := &http.Transport{Protocols: protocols,
			DialContext: func(context.Context, string, string) (net.Conn, error) { return client, nil }}
		resp, err := (&http.Client{Transport: transport}).Get("http://a")
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, "event", string(text))
		resp.Body.Close()
		transport.CloseIdleConnections()
		client.Close()
		s.Close()
	})
}
