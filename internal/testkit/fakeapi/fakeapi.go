// Package fakeapi is a Kubernetes API server in the process: real HTTP, real JSON and protobuf, real watch streams, and
// nothing else that a cluster has. The tests of the chapters run against it, and so does whoever wants to look at the
// protocol with curl or kubectl:
//
//	test, in a synctest bubble            a person
//	       │ Config(): connections              │ Listen("127.0.0.1:0"): a socket
//	       ▼ in memory                          ▼
//	┌─ connections  listen.go     accepted, counted, cut, refused
//	├─ faults       fault.go      what the script says goes wrong with the next requests
//	├─ routes       route.go      URL to verb, resource, name; discovery.go for the rest
//	├─ verbs        read.go  write.go  patch.go  watch.go
//	├─ answers      respond.go    JSON, YAML or protobuf; objects, Tables (table.go) or a Status
//	├─ resources    resources.go  which there are; what a server fills in (defaults.go) and refuses (validate.go)
//	└─ store        store.go      objects and their history, by resourceVersion
//
// It serves Deployments, PodDisruptionBudgets, Events, Leases and ConfigMaps. It is a verified fake: the requests in
// testdata/conformance were sent to a real kube-apiserver, and the answers must be the same. Where they are not, and why,
// is in docs/develop/fakeapi.md.
//
// What it leaves out: who may do what, admission, server-side apply and managed fields, garbage collection, and
// controllers. Nothing in it creates Pods.
package fakeapi

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is what the server stores: any API type, as a pointer.
type Object interface {
	runtime.Object
	metav1.Object
}

// Server is an API server. Every method may be called from any goroutine.
type Server struct {
	store *store
	http  *http.Server
	// listener is where the connections of Config come from.
	listener *listener

	lock sync.Mutex
	// scripts are the faults to come.
	scripts []*script
	// requests are those that have arrived.
	requests []Request
	// endWatches is closed when all watches are to end, and replaced.
	endWatches chan struct{}
	// bookmarks is closed when all watches are to send a bookmark, and replaced.
	bookmarks chan struct{}
	watches   atomic.Int64
}

// New returns a server without objects. It must be closed. In a synctest bubble it must be made inside.
func New() *Server {
	s := &Server{store: newStore(), endWatches: make(chan struct{}), bookmarks: make(chan struct{})}
	s.http = newHTTPServer(s)
	s.listener = newListener()
	go s.http.Serve(s.listener)
	return s
}

// Start returns a server that is closed when the test is over.
func Start(t testing.TB) *Server {
	s := New()
	t.Cleanup(s.Close)
	return s
}

// Close ends all requests and connections.
func (s *Server) Close() {
	s.http.Close()
	s.listener.cut()
}

// Create stores new objects, as if somebody else had sent them: defaults are filled in, and the caller's objects stay
// as they are. It panics if the server would refuse one.
func (s *Server) Create(objs ...Object) {
	for _, obj := range objs {
		res, obj := s.mustKnow(obj)
		must(s.store.create(res, obj))
	}
}

// Update stores objects that exist, whatever their resourceVersion. The status is stored too. It panics if the server
// would refuse one.
func (s *Server) Update(objs ...Object) {
	for _, obj := range objs {
		res, obj := s.mustKnow(obj)
		obj.SetResourceVersion("")
		must(s.store.update(res, obj, everything))
	}
}

// Delete removes objects, of which it needs the type, namespace and name. It panics if there is no such object. One with
// finalizers stays until they are gone.
func (s *Server) Delete(objs ...Object) {
	for _, obj := range objs {
		res, obj := s.mustKnow(obj)
		must(s.store.delete(res, key(obj), metav1.DeleteOptions{}))
	}
}

// Objects returns what is stored in a resource, for instance "deployments", ordered by namespace and name. They belong to
// the caller.
func (s *Server) Objects(resource string) []Object {
	res := resourceNamed(resource)
	if res == nil {
		panic(fmt.Sprintf("fakeapi: there is no resource %q", resource))
	}
	objs, _, _ := s.store.list(res, latest)
	for i := range objs {
		objs[i] = objs[i].DeepCopyObject().(Object)
	}
	return objs
}

// ResourceVersion is that of the newest change.
func (s *Server) ResourceVersion() string {
	revision, _ := s.store.current()
	return strconv.FormatInt(revision, 10)
}

// Compact forgets the history: who then asks for a version before this one, be it a watch or the next page of a list,
// is told 410 Gone, Expired.
func (s *Server) Compact() { s.store.compact() }

func (s *Server) mustKnow(obj Object) (*resource, Object) {
	res := resourceOf(obj)
	if res == nil {
		panic(fmt.Sprintf("fakeapi: %T is not served", obj))
	}
	return res, obj.DeepCopyObject().(Object)
}

func must[T any](_ T, err error) {
	if err != nil {
		panic("fakeapi: " + err.Error())
	}
}
