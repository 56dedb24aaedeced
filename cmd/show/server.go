package main

// This file serves the page on loopback. A random token in the path keeps other programs and web sites out; Host and
// Origin are checked as well, so that no web site can reach the server by a name of its own.

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed page
var files embed.FS

const (
	// framesEvery is the time between two messages to a page: 30 a second at most.
	framesEvery = time.Second / 30
	// stillEvery is the time between two messages if nothing happens, for the clocks.
	stillEvery = 500 * time.Millisecond
	// abandonedAfter is how long the gate stays shut without a page.
	abandonedAfter = 10 * time.Second
	// largestOrder is how many bytes an order may have.
	largestOrder = 1 << 12
)

// server serves one session.
type server struct {
	*session
	token string
	host  string // the address that a request must name
	grace time.Duration

	pages   sync.Mutex
	open    int
	leaving *time.Timer
}

// newServer returns a server for a listener's address.
func newServer(s *session, host string) *server {
	return &server{session: s, token: rand.Text(), host: host, grace: abandonedAfter}
}

// url returns the address of the page.
func (s *server) url() string { return "http://" + s.host + "/" + s.token + "/" }

// handler returns the routes below the token.
func (s *server) handler() http.Handler {
	page, _ := fs.Sub(files, "page")
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.Handle("GET /", http.FileServerFS(page))
	mux.HandleFunc("GET /events", s.events)
	mux.HandleFunc("GET /state", answer(func(_ string, n map[string]int64) any { return s.at(n["step"]) }))
	mux.HandleFunc("GET /way", answer(func(key string, n map[string]int64) any { return s.way(key, n["step"]) }))
	mux.HandleFunc("GET /axis", answer(func(_ string, n map[string]int64) any {
		return s.axis(n["from"], n["to"], n["columns"])
	}))
	mux.HandleFunc("GET /recording", s.recording)
	mux.HandleFunc("POST /do", s.order)
	return guarded(http.StripPrefix("/"+s.token, mux))
}

// guarded refuses requests for other hosts and from other origins.
func guarded(below http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "+
			"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		origin := r.Header.Get("Origin")
		switch {
		case !loopback(r.Host):
			http.Error(w, "show: this server has another name", http.StatusMisdirectedRequest)
		case origin != "" && origin != "http://"+r.Host, r.Method == http.MethodPost && origin == "":
			http.Error(w, "show: requests come from the page only", http.StatusForbidden)
		default:
			below.ServeHTTP(w, r)
		}
	})
}

// loopback reports whether an address with a port is one of this machine. The port may be another one than that of the
// listener: ssh forwards it.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// page writes the page with the buttons and tours that it offers.
func (s *server) page(w http.ResponseWriter, _ *http.Request) {
	text, _ := files.ReadFile("page/index.html")
	page := template.Must(template.New("page").Parse(string(text)))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = page.Execute(w, map[string]any{"Title": s.title, "Tours": tours, "Stations": stations,
		"Change": buttons("change"), "Break": buttons("break"), "Hold": buttons("hold")})
}

// events sends messages until the page goes away. A page that does not read misses messages, and holds nothing up.
func (s *server) events(w http.ResponseWriter, r *http.Request) {
	s.count(1)
	defer s.count(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	ticker := time.NewTicker(framesEvery)
	defer ticker.Stop()
	var n int64
	var last, looked time.Time
	for {
		now := time.Now()
		if m := s.tick(n, now.Sub(last) >= stillEvery); m != nil {
			n, last = m.View.N, now
			text, err := json.Marshal(m)
			if err != nil {
				return
			}
			_ = control.SetWriteDeadline(now.Add(abandonedAfter))
			if _, err := fmt.Fprintf(w, "data: %s\n\n", text); err != nil || control.Flush() != nil {
				return
			}
		} else if now.Sub(looked) > stillEvery {
			looked = now
			s.look()
		}
		select {
		case <-ticker.C:
		case <-r.Context().Done():
			return
		}
	}
}

// count counts a page that comes or goes. It opens the gate some time after the last one has gone.
func (s *server) count(change int) {
	s.pages.Lock()
	defer s.pages.Unlock()
	if s.leaving != nil {
		s.leaving.Stop()
	}
	if s.open += change; s.open == 0 {
		s.leaving = time.AfterFunc(s.grace, s.abandoned)
	}
}

// answer returns a handler that answers with what get makes of a query: of its key, and of its numbers.
func answer(get func(key string, numbers map[string]int64) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query, numbers := r.URL.Query(), map[string]int64{}
		for name := range query {
			n, err := strconv.ParseInt(query.Get(name), 10, 64)
			if err != nil && name != "key" {
				http.Error(w, "show: "+name+" is a number", http.StatusBadRequest)
				return
			}
			numbers[name] = n
		}
		reply(w, get(query.Get("key"), numbers))
	}
}

// recording sends the runs as a file.
func (s *server) recording(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", `attachment; filename="recording.json"`)
	for _, r := range s.shown() {
		_ = r.Write(w)
	}
}

// order carries out what the page asks for.
func (s *server) order(w http.ResponseWriter, r *http.Request) {
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, largestOrder))
	decoder.DisallowUnknownFields()
	var o order
	if err := decoder.Decode(&o); err != nil {
		http.Error(w, "show: read the order: "+err.Error(), http.StatusBadRequest)
		return
	}
	var result struct {
		Error string `json:"error,omitempty"`
	}
	if err := s.do(o); err != nil {
		result.Error = err.Error() // not a code: a browser would report it as an error of the page
	}
	reply(w, result)
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// serve serves the session on a listener until ctx ends.
func serve(ctx context.Context, listener net.Listener, s *server) error {
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 1 << 14,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve http://%s: %w", s.host, err)
	}
	return nil
}
