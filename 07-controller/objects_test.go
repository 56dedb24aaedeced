package controller_test

// This file has the helpers of the controller's tests: makers of objects, a recorder of Events, and budgetServer, the
// part of the API server that a BudgetClient talks to. It refuses stale writes as the real one does, and fails when a
// test says so.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	controller "client-go-workshop/07-controller"
)

// web returns a Deployment default/web, with things of other programs in it. The edits make it the one a test is about.
func web(edits ...func(*appsv1.Deployment)) *appsv1.Deployment {
	deployment := deployment("web")
	deployment.UID, deployment.ResourceVersion = "web-uid", "1"
	deployment.Spec.Replicas = ptr.To[int32](3)
	deployment.Labels = map[string]string{"team": "web", "part-of": "shop"} // team has another value in the budget
	deployment.Annotations = map[string]string{"note": "of the Deployment", "revision": "3"}
	deployment.Finalizers = []string{"example.com/backup"}
	deployment.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "example.com/v1", Kind: "Platform", Name: "prod", UID: "platform"},
	}
	for _, edit := range edits {
		edit(deployment)
	}
	return deployment
}

func replicas(n int32) func(*appsv1.Deployment) {
	return func(deployment *appsv1.Deployment) { deployment.Spec.Replicas = &n }
}

func annotated(value string) func(*appsv1.Deployment) {
	return func(deployment *appsv1.Deployment) {
		metav1.SetMetaDataAnnotation(&deployment.ObjectMeta, "client-go-workshop/pdb", value)
	}
}

// inNamespace moves a Deployment to another namespace, where it is another one.
func inNamespace(namespace string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Namespace, d.UID = namespace, types.UID(namespace+"-"+d.Name+"-uid") }
}

// called gives a Deployment and its Pods another name.
func called(name string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Spec = *deployment(name).Spec.DeepCopy()
		d.Name, d.UID, d.Spec.Replicas = name, types.UID(name+"-uid"), ptr.To[int32](3)
	}
}

func beingDeleted(deployment *appsv1.Deployment) {
	deployment.DeletionTimestamp = ptr.To(metav1.Now())
}

// webBudget returns the right budget for web(), as the server would hand it out. The edits spoil it.
func webBudget(edits ...func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
	return budgetOf(web(), edits...)
}

// budgetOf returns the right budget for a Deployment, with things of other programs in it.
func budgetOf(
	deployment *appsv1.Deployment, edits ...func(*policyv1.PodDisruptionBudget),
) *policyv1.PodDisruptionBudget {
	budget := controller.NewBudget(deployment)
	budget.UID, budget.ResourceVersion = types.UID("budget-of-"+deployment.UID), "7"
	ofOthers(budget)
	budget.Finalizers = []string{"example.com/audit"}
	for _, edit := range edits {
		edit(budget)
	}
	return budget
}

// ofOthers puts things of other programs into a budget: labels, annotations, an owner, a field of the spec, a status.
func ofOthers(budget *policyv1.PodDisruptionBudget) {
	metav1.SetMetaDataLabel(&budget.ObjectMeta, "team", "shop")
	metav1.SetMetaDataAnnotation(&budget.ObjectMeta, "note", "of the team")
	budget.Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.AlwaysAllow)
	budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 4, CurrentHealthy: 3, ExpectedPods: 3}
	budget.Generation, budget.ManagedFields = 4, []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	other := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "App", Name: "shop", UID: "app"}
	budget.OwnerReferences = append([]metav1.OwnerReference{other}, budget.OwnerReferences...)
}

// noOwner cuts the owner reference of the Deployment.
func noOwner(budget *policyv1.PodDisruptionBudget) {
	budget.OwnerReferences = slices.DeleteFunc(budget.OwnerReferences, isControlling)
}

// noOtherOwner cuts every other owner reference.
func noOtherOwner(budget *policyv1.PodDisruptionBudget) {
	budget.OwnerReferences = slices.DeleteFunc(budget.OwnerReferences,
		func(o metav1.OwnerReference) bool { return !isControlling(o) })
}

func isControlling(owner metav1.OwnerReference) bool { return ptr.Deref(owner.Controller, false) }

func noLabel(budget *policyv1.PodDisruptionBudget) { delete(budget.Labels, controller.ManagedByLabel) }

func ownedByOther(kind, name string, uid types.UID) func(*policyv1.PodDisruptionBudget) {
	return func(budget *policyv1.PodDisruptionBudget) {
		noOwner(budget)
		budget.OwnerReferences = append(budget.OwnerReferences, metav1.OwnerReference{
			APIVersion: "apps/v1", Kind: kind, Name: name, UID: uid, Controller: ptr.To(true),
		})
	}
}

// handmade returns a budget that a user made by hand, which selects the Pods with these labels (app=web: web's).
func handmade(name string, podLabels map[string]string, edits ...func(*policyv1.PodDisruptionBudget),
) *policyv1.PodDisruptionBudget {
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name + "-uid"), ResourceVersion: "5"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: podLabels},
		},
	}
	for _, edit := range edits {
		edit(budget)
	}
	return budget
}

// eventLog is a record.EventRecorder that keeps "object type reason" of each Event.
type eventLog struct {
	// before, if set, runs at the start of each call.
	before func()

	mu       sync.Mutex
	events   []string
	messages []string
}

func (l *eventLog) Event(object runtime.Object, eventType, reason, message string) {
	if l.before != nil {
		l.before()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	name, _ := cache.ObjectToName(object)
	l.events = append(l.events, fmt.Sprintf("%s %s %s", name, eventType, reason))
	l.messages = append(l.messages, message)
}

func (l *eventLog) Eventf(object runtime.Object, eventType, reason, format string, args ...any) {
	l.Event(object, eventType, reason, fmt.Sprintf(format, args...))
}

func (l *eventLog) AnnotatedEventf(
	object runtime.Object, _ map[string]string, eventType, reason, format string, args ...any,
) {
	l.Eventf(object, eventType, reason, format, args...)
}

func (l *eventLog) list() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.events...)
}

// budgetServer holds the server's budgets. If it has a source, changes go to its watchers.
type budgetServer struct {
	source *recordedSource

	// before, if set, runs at the start of each call, outside the lock. Its error is the answer.
	before func(ctx context.Context, verb string) error

	mu      sync.Mutex
	budgets map[cache.ObjectName]*policyv1.PodDisruptionBudget
	calls   []string // "create default/web", in order
	version int
}

func newBudgetServer(budgets ...*policyv1.PodDisruptionBudget) *budgetServer {
	s := &budgetServer{budgets: map[cache.ObjectName]*policyv1.PodDisruptionBudget{}, version: 100}
	for _, budget := range budgets {
		s.budgets[cache.MetaObjectToName(budget)] = budget.DeepCopy()
	}
	return s
}

func (s *budgetServer) client(namespace string) controller.BudgetClient {
	return &budgetClient{server: s, namespace: namespace}
}

// get returns a copy of default/web, nil if there is none.
func (s *budgetServer) get() *policyv1.PodDisruptionBudget { return s.at("default", "web") }

// at returns a copy of a budget, nil if there is none.
func (s *budgetServer) at(namespace, name string) *policyv1.PodDisruptionBudget {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.budgets[cache.NewObjectName(namespace, name)].DeepCopy()
}

func (s *budgetServer) callLog() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.calls...)
}

// put stores budget as another client than the controller would: without checks.
func (s *budgetServer) put(budget *policyv1.PodDisruptionBudget) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.storeLocked(budget.DeepCopy())
}

func (s *budgetServer) storeLocked(budget *policyv1.PodDisruptionBudget) {
	key := cache.MetaObjectToName(budget)
	_, exists := s.budgets[key]
	switch {
	case s.source == nil:
		s.version++
		budget.ResourceVersion = strconv.Itoa(s.version)
	case exists:
		s.source.Modify(budget) // sets the resourceVersion
	default:
		s.source.Add(budget)
	}
	s.budgets[key] = budget.DeepCopy()
}

// drop deletes default/web as another client than the controller would, with all its finalizers.
func (s *budgetServer) drop() { s.dropAt("default", "web") }

func (s *budgetServer) dropAt(namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deleteLocked(cache.NewObjectName(namespace, name))
}

func (s *budgetServer) deleteLocked(key cache.ObjectName) {
	if s.source != nil {
		s.source.Delete(s.budgets[key].DeepCopy())
	}
	delete(s.budgets, key)
}

type budgetClient struct {
	server    *budgetServer
	namespace string
}

// call runs do under the lock, with the stored budget or nil, after it was logged.
func (c *budgetClient) call(
	ctx context.Context, verb, name string, do func(stored *policyv1.PodDisruptionBudget) error,
) error {
	key := cache.NewObjectName(c.namespace, name)
	c.server.mu.Lock()
	c.server.calls = append(c.server.calls, verb+" "+key.String())
	tooMany := len(c.server.calls) > 1000
	c.server.mu.Unlock()
	if tooMany { // a controller that answers each of its own writes with another never rests
		return errors.New("the test's server refuses more than 1000 writes")
	}
	if c.server.before != nil {
		if err := c.server.before(ctx, verb); err != nil {
			return err
		}
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	return do(c.server.budgets[key])
}

var budgetResource = policyv1.Resource("poddisruptionbudgets")

func (c *budgetClient) Create(
	ctx context.Context, budget *policyv1.PodDisruptionBudget, _ metav1.CreateOptions,
) (*policyv1.PodDisruptionBudget, error) {
	created := budget.DeepCopy()
	return created, c.call(ctx, "create", budget.Name, func(stored *policyv1.PodDisruptionBudget) error {
		if stored != nil {
			return apierrors.NewAlreadyExists(budgetResource, budget.Name)
		}
		created.UID = types.UID("made-by-server")
		c.server.storeLocked(created)
		return nil
	})
}

func (c *budgetClient) Update(
	ctx context.Context, budget *policyv1.PodDisruptionBudget, _ metav1.UpdateOptions,
) (*policyv1.PodDisruptionBudget, error) {
	updated := budget.DeepCopy()
	return updated, c.call(ctx, "update", budget.Name, func(stored *policyv1.PodDisruptionBudget) error {
		switch {
		case stored == nil:
			return apierrors.NewNotFound(budgetResource, budget.Name)
		case budget.ResourceVersion != "" && budget.ResourceVersion != stored.ResourceVersion: // "" is: overwrite
			return apierrors.NewConflict(budgetResource, budget.Name, fmt.Errorf("it is at %s", stored.ResourceVersion))
		}
		c.server.storeLocked(updated)
		return nil
	})
}

func (c *budgetClient) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	return c.call(ctx, "delete", name, func(stored *policyv1.PodDisruptionBudget) error {
		if stored == nil {
			return apierrors.NewNotFound(budgetResource, name)
		}
		if p := options.Preconditions; p != nil {
			if p.UID != nil && *p.UID != stored.UID || p.ResourceVersion != nil && *p.ResourceVersion != stored.ResourceVersion {
				return apierrors.NewConflict(budgetResource, name, fmt.Errorf("it is %s at %s", stored.UID, stored.ResourceVersion))
			}
		}
		if len(stored.Finalizers) > 0 { // it stays until they are removed
			going := stored.DeepCopy()
			going.DeletionTimestamp = ptr.To(metav1.Now())
			c.server.storeLocked(going)
			return nil
		}
		c.server.deleteLocked(cache.NewObjectName(c.namespace, name))
		return nil
	})
}

// replace sets *variable and returns the function that sets it back.
func replace[T any](variable *T, value T) (restore func()) {
	before := *variable
	*variable = value
	return func() { *variable = before }
}
