// Package fakeapi is a Kubernetes API server in the process: real HTTP, real JSON and protobuf, real watch streams, and
// nothing else of a cluster. The chapters' tests use it, and cmd/fakeapi serves it to curl and kubectl:
//
//	test, in a synctest bubble            a person
//	       │ Config(): connections              │ Listen("127.0.0.1:0"): a socket
//	       ▼ in memory                          ▼
//	┌─ connections  listen.go     accepted, counted, cut, refused
//	├─ faults       fault.go      the script of failures for the next requests
//	├─ routes       route.go      URL to verb, resource, name; discovery.go for the rest
//	├─ verbs        read.go  write.go  patch.go  watch.go
//	├─ answers      respond.go    JSON, YAML or protobuf; objects, Tables (table.go) or a Status
//	├─ resources    resources.go  the kinds of objects, their defaults (objects.go), and more kinds (custom.go)
//	└─ store        store.go      objects and their history, by resourceVersion
//
// It serves Deployments, PodDisruptionBudgets, Events, Leases and ConfigMaps, and the custom resources of package crd.
// It is a verified fake: the requests in testdata/conformance were sent to a real kube-apiserver, and the answers must
// be the same. docs/develop/fakeapi.md lists the differences and their reasons.
//
// What it leaves out: authorization, admission, server-side apply and managed fields, garbage collection, and
// controllers. Nothing in it creates Pods.
package fakeapi

import (
	"fmt"
	"net/http"
	goruntime "runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is what the server stores: any API type, as a pointer.
type Object interface {
	runtime.Object
	metav1.Object
}

// Server is an API server. Any goroutine may call its methods.
type Server struct {
	store *store
	http  *http.Server
	// listener accepts the connections of Config.
	listener *listener

	lock sync.Mutex
	// custom are the custom resources.
	custom []*resource
	// scripted are the faults to come.
	scripted []scripted
	// requests are those that have arrived.
	requests []Request
	// endWatches is closed to end all watches, and replaced.
	endWatches chan struct{}
	// bookmarks is closed to make all watches send a bookmark, and replaced.
	bookmarks chan struct{}
	watches   atomic.Int64
	bounded   atomic.Bool // see Bound
	held      held
}

// New returns a server without objects. The caller must close it. A server for a synctest bubble must be made inside
// it.
func New() *Server {
	s := &Server{
		store: newStore(), listener: newListener(), endWatches: make(chan struct{}), bookmarks: make(chan struct{}),
		held: held{most: mostHeld, encoding: make(chan struct{}, goruntime.GOMAXPROCS(0))},
	}
	s.http = newHTTPServer(s, s.listener)
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
	s.Cut()
	s.http.Close()
}

// Create stores new objects, as if another client had sent them: it fills in defaults, and does not change the caller's
// objects. It panics if the server would refuse one.
func (s *Server) Create(objs ...Object) { s.each(objs, s.store.create) }

// Update stores objects that exist, whatever their resourceVersion. The status is stored too. It panics if the server
// would refuse one.
func (s *Server) Update(objs ...Object) {
	s.each(objs, func(res *resource, obj Object) (Object, error) {
		obj.SetResourceVersion("")
		return s.store.update(res, obj, everything)
	})
}

// Delete removes objects, which need only a type, namespace and name. It panics if there is no such object. An object
// with finalizers stays until they are gone.
func (s *Server) Delete(objs ...Object) {
	s.each(objs, func(res *resource, obj Object) (Object, error) {
		return s.store.delete(res, key(obj), metav1.DeleteOptions{})
	})
}

// each calls a function for a copy of each object. It panics if the function returns an error.
func (s *Server) each(objs []Object, do func(res *resource, obj Object) (Object, error)) {
	for _, obj := range objs {
		res := s.resourceOf(obj)
		if res == nil {
			panic(fmt.Sprintf("fakeapi: %T is not served", obj))
		}
		if _, err := do(res, obj.DeepCopyObject().(Object)); err != nil {
			panic("fakeapi: " + err.Error())
		}
	}
}

// Deployment returns a Deployment in the namespace default that a server accepts.
func Deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	d.Spec.Replicas = &replicas
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "nginx:1.29"}}
	return d
}

// Objects returns copies of the stored objects of a resource, for instance "deployments", ordered by namespace and
// name.
func (s *Server) Objects(name string) []Object {
	res := s.find(func(r *resource) bool { return r.gvr.Resource == name })
	if res == nil {
		panic(fmt.Sprintf("fakeapi: there is no resource %q", name))
	}
	objs, _, _ := s.store.list(res, latest)
	for i := range objs {
		objs[i] = objs[i].DeepCopyObject().(Object)
	}
	return objs
}

// ResourceVersion returns the resourceVersion of the newest change.
func (s *Server) ResourceVersion() string {
	revision, _ := s.store.current()
	return strconv.FormatInt(revision, 10)
}

// OnChange calls f for each change from now on: with the object before it, nil for a creation, with the object now, nil
// for a deletion, and with the resourceVersion of the change. The server waits for f, so f must not call it. The
// objects belong to the server.
func (s *Server) OnChange(f func(before, now Object, version int64)) {
	s.store.lock.Lock()
	defer s.store.lock.Unlock()
	s.store.onChange = f
}

// Compact forgets the history: a request for an older version, such as a watch or the next page of a list, gets 410
// Gone, Expired.
func (s *Server) Compact() { s.store.compact() }
