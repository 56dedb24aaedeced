package fakeapi

// This file routes requests: it finds the verb, the resource and the name in the URL, and records each request.

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
	other := func(r Request) bool { return verb != "" && r.Verb != verb }
	return slices.DeleteFunc(slices.Clone(s.requests), other)
}

// Watches returns how many watches are open.
func (s *Server) Watches() int { return int(s.watches.Load()) }

// call is a request with what the URL says about it.
type call struct {
	*Server
	w     http.ResponseWriter
	r     *http.Request
	query url.Values
	body  []byte
	verb  string
	// res and what follows are from the URL. Name is empty for a collection, namespace for all of them.
	res                          *resource
	namespace, name, subresource string
	// endTurn lets the next large answer be made.
	endTurn func()
	// code is the status code of an answer without an error.
	code int
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{Server: s, r: r, query: r.URL.Query(), code: http.StatusOK}
	err := c.route()
	body, readErr := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	c.body = body
	s.note(Request{time.Now(), c.verb, r.Method, r.URL.Path, c.query, r.Header.Clone(), string(body)})
	if readErr != nil {
		writeError(w, r, unreadable(readErr))
		return
	}
	w.Header().Set("Audit-Id", string(uuid.NewUUID()))
	w.Header().Set("Cache-Control", "no-cache, private")
	c.nextFault()(w, r, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.w, c.r = w, r
		if err == nil {
			err = c.serve()
		}
		if err != nil {
			writeError(w, r, err)
		}
	}))
}

// These are the limits of a real API server: of a request's body, and, by etcd, of an object.
const (
	maxBody   = 3 << 20
	maxObject = 3 << 19
)

// unreadable returns the answer to a request whose body could not be read. If the client has gone, no one receives it.
func unreadable(err error) error {
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	return apierrors.NewBadRequest(err.Error())
}

// checkSize returns the error of a server whose etcd refuses an object because of its size.
func checkSize(obj runtime.Object) error {
	if sized, ok := obj.(interface{ Size() int }); ok && sized.Size() > maxObject {
		return statusError(http.StatusInternalServerError, metav1.StatusReasonUnknown,
			"etcdserver: request is too large", nil)
	}
	return nil
}

func (s *Server) note(r Request) {
	if s.bounded.Load() {
		return
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	s.requests = append(s.requests, r)
}

// objectPath matches the paths of objects and collections. Its groups are the API group, version, namespace, resource,
// name and subresource. All other paths are for discovery.
var objectPath = regexp.MustCompile(
	`^(?:api|apis/([^/]*))/([^/]*)(?:/namespaces/([^/]*))?/([^/]*)(?:/([^/]*))?(?:/(.*))?$`)

// route finds out what the URL says. The error is the answer to a URL that does not fit.
func (c *call) route() error {
	m := objectPath.FindStringSubmatch(strings.Trim(c.r.URL.Path, "/"))
	if m == nil {
		return nil // discovery
	}
	gvr := schema.GroupVersionResource{Group: m[1], Version: m[2], Resource: m[4]}
	if c.find(func(r *resource) bool { return r.gvr.GroupVersion() == gvr.GroupVersion() }) == nil {
		return errPath
	}
	c.namespace, c.name, c.subresource = m[3], m[5], m[6]
	c.res = c.find(func(r *resource) bool { return r.gvr == gvr })
	if c.res == nil || c.subresource != "" && !c.res.has(c.subresource) {
		return errResource
	}
	return c.findVerb()
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

// handlers carry out the verbs that answer with one object or one list.
var handlers = map[string]func(c *call) (runtime.Object, error){
	"get":              (*call).get,
	"list":             (*call).list,
	"create":           (*call).create,
	"update":           (*call).update,
	"patch":            (*call).patch,
	"delete":           (*call).delete,
	"deletecollection": (*call).deleteCollection,
}

// serve carries out the request. If it returns an error, it has sent nothing.
func (c *call) serve() error {
	switch c.verb {
	case "":
		return c.discover()
	case "watch":
		return c.watch()
	}
	c.endTurn = func() {}
	defer func() { c.endTurn() }()
	obj, err := handlers[c.verb](c)
	if err != nil {
		return err
	}
	return c.answer(obj)
}

func (c *call) key() string { return c.namespace + "/" + c.name }

func serverResponse(code int, message string) error {
	return apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", message, 0, false)
}

// errMethod, errResource and errPath are the answers to requests for nothing that exists. errPath is sent as plain
// text.
var (
	errMethod   = serverResponse(http.StatusMethodNotAllowed, "")
	errResource = serverResponse(http.StatusNotFound, "")
	errPath     = errors.New("404 page not found")
)
