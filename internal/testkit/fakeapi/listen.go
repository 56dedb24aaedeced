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
	go s.http.Serve(&tcpListener{tcp, s.listener})
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

func newHTTPServer(handler http.Handler) *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{Handler: handler, Protocols: protocols, ErrorLog: log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) }}
}

// listener hands connections to the HTTP server. It implements net.Listener for those in memory.
type listener struct {
	dialed   chan net.Conn
	closed   chan struct{}
	refusing atomic.Bool

	lock sync.Mutex
	open map[*conn]bool
	made int
}

func newListener() *listener {
	return &listener{dialed: make(chan net.Conn), closed: make(chan struct{}), open: map[*conn]bool{}}
}

func (l *listener) dial() (net.Conn, error) {
	client, server := net.Pipe()
	if c, ok := l.track(server); ok {
		select {
		case l.dialed <- c:
			return &clientEnd{client, c}, nil
		case <-l.closed:
			c.Close()
		}
	}
	return nil, l.netError("dial", "connect", syscall.ECONNREFUSED)
}

// netError returns the error of a system call as package net does.
func (l *listener) netError(op, call string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Addr: l.Addr(), Err: os.NewSyscallError(call, err)}
}

// track makes a connection that is counted until the server closes it. It reports whether the server accepts it.
func (l *listener) track(server net.Conn) (c *conn, ok bool) {
	l.lock.Lock()
	defer l.lock.Unlock()
	c = &conn{Conn: server, listener: l}
	if l.refusing.Load() {
		return c, false
	}
	l.made++
	l.open[c] = true
	return c, true
}

func (l *listener) cut() {
	l.lock.Lock()
	defer l.lock.Unlock()
	for c := range l.open {
		c.reset()
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

func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: "in memory", Net: "memory"} }

// tcpListener accepts connections from a socket, and the listener of rules counts, cuts and refuses them.
type tcpListener struct {
	net.Listener
	rules *listener
}

// Accept returns the next connection. It resets connections while the server is down, because a listening socket cannot
// refuse them.
func (l *tcpListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		tracked, ok := l.rules.track(c)
		if ok {
			return tracked, nil
		}
		tracked.reset()
	}
}

// conn is the server's end of a connection.
type conn struct {
	net.Conn
	listener *listener
	broken   atomic.Bool
}

func (c *conn) Close() error {
	c.listener.lock.Lock()
	delete(c.listener.open, c)
	c.listener.lock.Unlock()
	return c.Conn.Close()
}

// reset ends the connection as the end of the process would.
func (c *conn) reset() {
	c.broken.Store(true)
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.Conn.Close()
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
		return e.server.listener.netError(op, op, syscall.ECONNRESET)
	}
	return err
}
