package fakeapi

// This file accepts connections: in memory, which works in a synctest bubble, or from a socket. Both are counted. Tests
// can cut and refuse them, as if the network failed or the server's process ended.

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"k8s.io/client-go/rest"
)

// Config returns the configuration of a client in this process. Its connections are in memory. The caller sets QPS.
func (s *Server) Config() *rest.Config {
	return &rest.Config{
		Host: "http://in-memory",
		Dial: func(context.Context, string, string) (net.Conn, error) { return s.listener.dial() },
		// Without the proxy that the environment may name.
		Proxy: func(*http.Request) (*url.URL, error) { return nil, nil },
	}
}

// Client returns a client for requests with URLs such as http://in-memory/apis. It shares no connections.
func (s *Server) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: s.Config().Dial}}
}

// Listen also serves at an address, such as 127.0.0.1:0, until the server is closed. It returns the server's URL.
// Clients may use HTTP/1.1, or HTTP/2 without an upgrade.
func (s *Server) Listen(address string) (string, error) {
	tcp, err := net.Listen("tcp", address)
	if err != nil {
		return "", err
	}
	go s.http.Serve(tcp)
	return "http://" + tcp.Addr().String(), nil
}

// Cut breaks all connections, in the middle of an answer too. The server accepts new ones.
func (s *Server) Cut() { s.listener.cut() }

// Down breaks all connections and refuses new ones, until Up.
func (s *Server) Down() {
	s.listener.refusing.Store(true)
	s.Cut()
}

// Up ends Down.
func (s *Server) Up() { s.listener.refusing.Store(false) }

// Connections returns how many connections are open, and how many were made.
func (s *Server) Connections() (open, made int) {
	s.listener.lock.Lock()
	defer s.listener.lock.Unlock()
	return len(s.listener.open), s.listener.made
}

func newHTTPServer(handler http.Handler, connections *listener) *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{Handler: handler, Protocols: protocols, ErrorLog: log.New(io.Discard, "", 0),
		ConnState:   connections.track,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) }}
}

// listener hands connections in memory to the HTTP server. It counts, cuts and refuses those from a socket too.
type listener struct {
	dialed   chan net.Conn
	closed   chan struct{}
	refusing atomic.Bool

	lock sync.Mutex
	open map[net.Conn]bool
	made int
}

func newListener() *listener {
	return &listener{dialed: make(chan net.Conn), closed: make(chan struct{}), open: map[net.Conn]bool{}}
}

func (l *listener) dial() (net.Conn, error) {
	if !l.refusing.Load() {
		client, server := net.Pipe()
		c := &conn{Conn: server}
		select {
		case l.dialed <- c:
			return &clientEnd{client, c}, nil
		case <-l.closed:
		}
	}
	return nil, netError("dial", "connect", syscall.ECONNREFUSED)
}

// netError returns the error of a system call as package net does.
func netError(op, call string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Addr: inMemory, Err: os.NewSyscallError(call, err)}
}

// track counts a connection until it is closed. It resets a new one while the server is down, because a listening
// socket cannot refuse it.
func (l *listener) track(c net.Conn, state http.ConnState) {
	l.lock.Lock()
	defer l.lock.Unlock()
	switch {
	case state == http.StateNew && l.refusing.Load():
		reset(c)
	case state == http.StateNew:
		l.made++
		l.open[c] = true
	case state == http.StateClosed:
		delete(l.open, c)
	}
}

func (l *listener) cut() {
	l.lock.Lock()
	defer l.lock.Unlock()
	for c := range l.open {
		reset(c)
	}
	clear(l.open)
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.dialed:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close refuses connections from now on. The HTTP server calls it once.
func (l *listener) Close() error {
	close(l.closed)
	return nil
}

func (l *listener) Addr() net.Addr { return inMemory }

var inMemory = &net.UnixAddr{Name: "in memory", Net: "memory"}

// conn is the server's end of a connection in memory.
type conn struct {
	net.Conn
	broken atomic.Bool
}

// reset ends a connection as the end of the process would.
func reset(c net.Conn) {
	switch c := c.(type) {
	case *conn:
		c.broken.Store(true)
	case *net.TCPConn:
		c.SetLinger(0)
	}
	c.Close()
}

// clientEnd is the client's end of a connection in memory. After a reset it returns the errors of a socket.
type clientEnd struct {
	net.Conn
	server *conn
}

func (e *clientEnd) Read(b []byte) (int, error) {
	n, err := e.Conn.Read(b)
	return n, e.explain("read", err)
}

func (e *clientEnd) Write(b []byte) (int, error) {
	n, err := e.Conn.Write(b)
	return n, e.explain("write", err)
}

func (e *clientEnd) explain(op string, err error) error {
	if e.server.broken.Load() && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe)) {
		return netError(op, op, syscall.ECONNRESET)
	}
	return err
}
