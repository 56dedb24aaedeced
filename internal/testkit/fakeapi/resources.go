package fakeapi

// This file says which resources there are, and what is special about each: its subresources, the fields that can be
// selected by, whether an update may come without a version, and what is the status.

import (
	"maps"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// resource is one kind of objects.
type resource struct {
	gvr        schema.GroupVersionResource
	kind       string
	singular   string
	short      []string
	categories []string
	namespaced bool
	// status says that there is a status subresource, and scale a scale subresource.
	status, scale bool
	// createOnUpdate lets PUT create; unconditional lets it come without a resourceVersion.
	createOnUpdate, unconditional bool
	// selectable are the fields of an object that a field selector may name, besides its name and namespace.
	selectable func(obj Object) fields.Set
	// fill sets the defaults of a new or changed object.
	fill func(obj Object)
	// validate returns what is wrong with an object.
	validate validator
	// validateUpdate returns what is wrong with a change.
	validateUpdate func(obj, before Object) field.ErrorList
	// table is how the resource looks in kubectl get.
	table table
}

// part is what an update is about.
type part int

const (
	// spec is everything that users write: all but the status.
	spec part = iota
	// status is what controllers write.
	statusOnly
	// everything is for the methods of Server.
	everything
)

var resources = []*resource{
	{
		gvr: appsv1.SchemeGroupVersion.WithResource("deployments"), kind: "Deployment", singular: "deployment",
		short: []string{"deploy"}, categories: []string{"all"}, namespaced: true, status: true, scale: true, unconditional: true,
		fill: fillDeployment, validate: validateDeployment, validateUpdate: validateDeploymentUpdate, table: deploymentTable,
	},
	{
		gvr: policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"), kind: "PodDisruptionBudget", singular: "poddisruptionbudget",
		short: []string{"pdb"}, namespaced: true, status: true,
		validate: validateBudget, table: budgetTable,
	},
	{
		gvr: corev1.SchemeGroupVersion.WithResource("events"), kind: "Event", singular: "event",
		short: []string{"ev"}, namespaced: true, createOnUpdate: true, unconditional: true,
		selectable: eventFields, table: eventTable,
	},
	{
		gvr: coordinationv1.SchemeGroupVersion.WithResource("leases"), kind: "Lease", singular: "lease",
		namespaced: true, createOnUpdate: true,
		table: leaseTable,
	},
	{
		gvr: corev1.SchemeGroupVersion.WithResource("configmaps"), kind: "ConfigMap", singular: "configmap",
		short: []string{"cm"}, namespaced: true, unconditional: true,
		table: configMapTable,
	},
}

// resourceNamed returns the resource of that name, or nil.
func resourceNamed(name string) *resource {
	return find(func(r *resource) bool { return r.gvr.Resource == name })
}

// resourceAt returns the resource of that name in a group and version, or nil.
func resourceAt(gvr schema.GroupVersionResource) *resource {
	return find(func(r *resource) bool { return r.gvr == gvr })
}

// resourceOf returns the resource that an object belongs to, or nil.
func resourceOf(obj runtime.Object) *resource {
	kinds, _, err := scheme.ObjectKinds(obj)
	if err != nil {
		return nil
	}
	return find(func(r *resource) bool { return slices.Contains(kinds, r.gvk()) })
}

func find(is func(r *resource) bool) *resource {
	if i := slices.IndexFunc(resources, is); i >= 0 {
		return resources[i]
	}
	return nil
}

func (r *resource) gvk() schema.GroupVersionKind        { return r.gvr.GroupVersion().WithKind(r.kind) }
func (r *resource) groupResource() schema.GroupResource { return r.gvr.GroupResource() }
func (r *resource) groupKind() schema.GroupKind         { return r.gvk().GroupKind() }

// new returns an empty object.
func (r *resource) new() Object {
	obj, err := scheme.New(r.gvk())
	utilruntime.Must(err)
	return obj.(Object)
}

// newList returns an empty list.
func (r *resource) newList() runtime.Object {
	list, err := scheme.New(r.gvr.GroupVersion().WithKind(r.kind + "List"))
	utilruntime.Must(err)
	return list
}

// fields returns what a field selector can see of an object.
func (r *resource) fields(obj Object) fields.Set {
	set := fields.Set{"metadata.name": obj.GetName(), "metadata.namespace": obj.GetNamespace()}
	if r.selectable != nil {
		maps.Copy(set, r.selectable(obj))
	}
	return set
}

func eventFields(obj Object) fields.Set {
	e := obj.(*corev1.Event)
	source := e.Source.Component
	if source == "" {
		source = e.ReportingController
	}
	return fields.Set{
		"involvedObject.kind":            e.InvolvedObject.Kind,
		"involvedObject.namespace":       e.InvolvedObject.Namespace,
		"involvedObject.name":            e.InvolvedObject.Name,
		"involvedObject.uid":             string(e.InvolvedObject.UID),
		"involvedObject.apiVersion":      e.InvolvedObject.APIVersion,
		"involvedObject.resourceVersion": e.InvolvedObject.ResourceVersion,
		"involvedObject.fieldPath":       e.InvolvedObject.FieldPath,
		"reason":                         e.Reason,
		"reportingComponent":             e.ReportingController,
		"source":                         source,
		"type":                           e.Type,
	}
}

// statusOf returns the status of an object, to be read and set, if its kind has one.
func statusOf(obj Object) reflect.Value {
	return reflect.ValueOf(obj).Elem().FieldByName("Status")
}

// specOf returns the spec of an object, if its kind has one.
func specOf(obj Object) reflect.Value {
	return reflect.ValueOf(obj).Elem().FieldByName("Spec")
}

// hasGeneration says whether the server counts the versions of the spec.
func (r *resource) hasGeneration() bool { return r.status }

// same says whether nothing is different.
func same(a, b Object) bool { return equality.Semantic.DeepEqual(a, b) }

// scheme knows the types that are served, and no others.
var scheme = newScheme()

var codecs = serializer.NewCodecFactory(scheme, serializer.EnableStrict)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, policyv1.AddToScheme, corev1.AddToScheme, coordinationv1.AddToScheme, eventsv1.AddToScheme, autoscalingv1.AddToScheme, metav1.AddMetaToScheme,
	} {
		utilruntime.Must(add(s))
	}
	metav1.AddToGroupVersion(s, metav1.SchemeGroupVersion)
	unversioned := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(s, unversioned)
	s.AddUnversionedTypes(unversioned, &metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{}, &metav1.APIResourceList{})
	return s
}
