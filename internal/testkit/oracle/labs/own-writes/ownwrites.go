// Package ownwrites puts the code of Kubernetes behind the names of the lab own-writes, so that the lab's tests run
// over the real thing: the comparison of versions, the consistency store and the expectations. Kubernetes has no such
// controller, so Reconcile and Remember are the solution's, on the real store. If this fails a test, the test is wrong,
// or divergences.txt gives the reason.
package ownwrites

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/oracle/labs/own-writes/upstream"
	solution "client-go-workshop/labs/solutions/own-writes"
)

type (
	Config               = solution.Config
	ConsistencyError     = upstream.ConsistencyError
	ConsistencyStore     = solution.ConsistencyStore
	LastSyncRVGetter     = upstream.LastSyncRVGetter
	NoopConsistencyStore = solution.NoopConsistencyStore
	PodClient            = solution.PodClient
	RealConsistencyStore = upstream.RealConsistencyStore
)

const (
	ExpectationsTimeout = upstream.ExpectationsTimeout
	OwnerIndex          = solution.OwnerIndex
)

var (
	IndexByOwner        = solution.IndexByOwner
	NewConsistencyStore = upstream.NewConsistencyStore
	NewPod              = solution.NewPod
	OwnerOf             = solution.OwnerOf
	Pods                = solution.Pods
)

func CompareResourceVersion(a, b string) (int, error) {
	return resourceversion.CompareResourceVersion(a, b)
}

// Controller is the solution's.
type Controller = solution.Controller

func New(config Config) *Controller { return solution.New(config) }

// Expectations names an owner as Kubernetes does, by its key.
type Expectations struct {
	real *upstream.UIDTrackingControllerExpectations
}

func NewExpectations() *Expectations {
	return &Expectations{upstream.NewUIDTrackingControllerExpectations(upstream.NewControllerExpectations())}
}

func (e *Expectations) ExpectCreations(owner types.NamespacedName, creations int) {
	_ = e.real.ExpectCreations(klog.Background(), owner.String(), creations)
}

func (e *Expectations) ExpectDeletions(owner types.NamespacedName, uids ...types.UID) {
	keys := make([]string, len(uids))
	for i, uid := range uids {
		keys[i] = string(uid)
	}
	_ = e.real.ExpectDeletions(klog.Background(), owner.String(), keys)
}

func (e *Expectations) CreationObserved(owner types.NamespacedName) {
	e.real.CreationObserved(klog.Background(), owner.String())
}

func (e *Expectations) DeletionObserved(owner types.NamespacedName, uid types.UID) {
	e.real.DeletionObserved(klog.Background(), owner.String(), string(uid))
}

func (e *Expectations) SatisfiedExpectations(owner types.NamespacedName) bool {
	return e.real.SatisfiedExpectations(klog.Background(), owner.String())
}

func (e *Expectations) DeleteExpectations(owner types.NamespacedName) {
	e.real.DeleteExpectations(klog.Background(), owner.String())
}
