package fakeapi

// This file routes requests: it finds the verb, the resource and the name in the URL, and records each request.

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// Request is a request that the server has received.
type Request struct {
	// Time is when it arrived.
	Time time.Time
	// Verb is get, list, watch, create, update, patch, delete or deletecollection; empty for discovery.
	Verb   string
	Method string
	Path   string
	Query  url.Values
	Header http.Header
	Body   string
}

func (r Request) String() string {
	text := r.Method + " " + r.Path
	if len(r.Query) > 0 {
		text += "?" + r.Query.Encode()
	}
	return text
}

// Requests returns the received requests with a verb, in order. An empty verb stands for all.
func (s *Server) Requests(verb string) []Request {
	s.lock.Lock()
	defer s.lock.Unlock()
	var requests []Request
	for _, r := range s.requests {
		if verb == "" || r.Verb == verb {
			requests = append(requests, r)
		}
	}
	return requests
}

// ForgetRequests empties what Requests returns.
func (s *Server) ForgetRequests() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.requests = nil
}

// Watches returns how many watches are open.
func (s *Server) Watches() int { return int(s.watches.Load()) }

// call is a request with what the URL says about it.
type call struct {
	*Server
	w http.ResponseWriter
	r *http.Request
	// res and what follows are from the URL. Name is empty for a collection, namespace for all of them.
	res         *resource
	namespace   string
	name        string
	subresource string
	verb        string
	query       url.Values
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, err := s.route(w, r)
	body, readErr := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.note(Request{time.Now(), c.verb, r.Method, r.URL.Path, c.query, r.Header.Clone(), string(body)})
	if readErr != nil {
		return // the client has gone
	}
	w.Header().Set("Audit-Id", string(uuid.NewUUID()))
	w.Header().Set("Cache-Control", "no-cache, private")
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.w, c.r = w, r
		if err == nil {
			err = c.serve()
		}
		if err != nil {
			writeError(w, r, err)
		}
	})
	if fault := s.nextFault(c.verb); fault != nil {
		fault(w, r, serve)
		return
	}
	serve(w, r)
}

func (s *Server) note(r Request) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.requests = append(s.requests, r)
}

// route returns the call, which is never nil. The error is the answer to a URL that does not fit.
func (s *Server) route(w http.ResponseWriter, r *http.Request) (*call, error) {
	c := &call{Server: s, w: w, r: r, query: r.URL.Query()}
	group, rest, ok := groupVersion(strings.Split(strings.Trim(r.URL.Path, "/"), "/"))
	if !ok || len(rest) == 0 {
		return c, nil // discovery
	}
	if rest[0] == "namespaces" && len(rest) > 2 {
		c.namespace, rest = rest[1], rest[2:]
	}
	if !served(group) {
		return c, errPath
	}
	gvr := group.WithResource(rest[0])
	c.res = find(func(r *resource) bool { return r.gvr == gvr })
	if c.res == nil || len(rest) > 3 {
		c.res = nil
		return c, errResource
	}
	if len(rest) > 1 {
		c.name = rest[1]
	}
	if len(rest) > 2 {
		c.subresource = rest[2]
		known := c.subresource == "status" && c.res.status || c.subresource == "scale" && c.res.scale
		if !known {
			c.res = nil
			return c, errResource
		}
	}
	return c, c.findVerb()
}

// groupVersion splits a path: /api/v1 and /apis/apps/v1 begin one that is about objects.
func groupVersion(path []string) (gv schema.GroupVersion, rest []string, ok bool) {
	switch {
	case path[0] == "api" && len(path) >= 2:
		return schema.GroupVersion{Version: path[1]}, path[2:], true
	case path[0] == "apis" && len(path) >= 3:
		return schema.GroupVersion{Group: path[1], Version: path[2]}, path[3:], true
	}
	return gv, nil, false
}

// verbs are the verbs of each method, for a collection and for one object.
var verbs = map[string]struct{ collection, object string }{
	http.MethodGet:    {"list", "get"},
	http.MethodPost:   {"create", ""},
	http.MethodPut:    {"", "update"},
	http.MethodPatch:  {"", "patch"},
	http.MethodDelete: {"deletecollection", "delete"},
}

func (c *call) findVerb() error {
	verb := verbs[c.r.Method].object
	if c.name == "" {
		verb = verbs[c.r.Method].collection
	}
	switch {
	case verb == "list" && isTrue(c.query.Get("watch")):
		verb = "watch"
	case verb == "",
		c.namespace == "" && (verb == "create" || verb == "deletecollection"),
		c.subresource != "" && verb == "delete":
		return errMethod
	}
	c.verb = verb
	return nil
}

// isTrue parses a boolean as the real server does: every value except 0 and false is true.
func isTrue(value string) bool { return value != "" && value != "0" && value != "false" }

// serve carries out the request. If it returns an error, it has sent nothing.
func (c *call) serve() error {
	switch c.verb {
	case "get":
		return c.get()
	case "list":
		return c.list()
	case "watch":
		return c.watch()
	case "create":
		return c.create()
	case "update":
		return c.update()
	case "patch":
		return c.patch()
	case "delete":
		return c.delete()
	case "deletecollection":
		return c.deleteCollection()
	}
	return c.discover()
}

func (c *call) key() string { return c.namespace + "/" + c.name }

func serverResponse(code int) error {
	return apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", "", 0, false)
}

// errMethod, errResource and errPath are the answers to requests for nothing that exists. errPath is sent as plain
// text.
var (
	errMethod   = serverResponse(http.StatusMethodNotAllowed)
	errResource = serverResponse(http.StatusNotFound)
	errPath     = errors.New("404 page not found")
)
