package fakeapi

// This file lists the resources with their differences: subresources, the fields for selectors, and whether an update
// needs a resourceVersion.

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// resource is one kind of objects. All are namespaced.
type resource struct {
	gvk        schema.GroupVersionKind
	gvr        schema.GroupVersionResource // set in init
	singular   string                      // set in init
	short      []string
	categories []string
	// status and scale say whether there are these subresources.
	status, scale bool
	// createOnUpdate lets PUT create an object; unconditional lets PUT omit the resourceVersion.
	createOnUpdate, unconditional bool
	// annotations says that a change of annotations counts as a generation, as one of the spec does.
	annotations bool
	// selectable returns the fields of an object that a field selector may name, besides its name and namespace.
	selectable func(obj Object) fields.Set
	// fill sets the defaults of a new or changed object.
	fill func(obj Object)
	// validate returns the errors in an object, and in its change unless before is nil.
	validate func(obj, before Object) field.ErrorList
	// table is the output of kubectl get.
	table columns
	// custom has the differences of a custom resource. It is nil for a resource with Go types.
	custom *Custom
}

// part is the part of an object that an update changes.
type part int

const (
	// spec is all but the status: users write it.
	spec part = iota
	// statusOnly is the part that controllers write.
	statusOnly
	// everything is for the methods of Server.
	everything
)

// resources are ordered by name in each group, as in the answers of discovery.
var resources = []*resource{
	{
		gvk: appsv1.SchemeGroupVersion.WithKind("Deployment"), short: []string{"deploy"}, categories: []string{"all"},
		status: true, scale: true, unconditional: true, annotations: true, // its ReplicaSets copy them
		fill: fillDeployment, validate: validateDeployment, table: deploymentTable,
	},
	{
		gvk: policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), short: []string{"pdb"},
		status: true, validate: validateBudget, table: budgetTable,
	},
	{
		gvk: corev1.SchemeGroupVersion.WithKind("ConfigMap"), short: []string{"cm"}, unconditional: true,
		table: configMapTable,
	},
	{
		gvk: corev1.SchemeGroupVersion.WithKind("Event"), short: []string{"ev"},
		createOnUpdate: true, unconditional: true, selectable: eventFields, table: eventTable,
	},
	{
		gvk: coordinationv1.SchemeGroupVersion.WithKind("Lease"), createOnUpdate: true, table: leaseTable,
	},
}

func init() {
	for _, r := range resources {
		plural, singular := meta.UnsafeGuessKindToResource(r.gvk)
		r.gvr, r.singular = plural, singular.Resource
	}
}

// resourceOf returns the resource that an object belongs to, or nil.
func (s *Server) resourceOf(obj runtime.Object) *resource {
	kinds, _, _ := scheme.ObjectKinds(obj) // none if there is an error
	if u, ok := obj.(*unstructured.Unstructured); ok {
		kinds = []schema.GroupVersionKind{u.GroupVersionKind()}
	}
	return s.find(func(r *resource) bool { return slices.Contains(kinds, r.gvk) })
}

func (s *Server) find(is func(r *resource) bool) *resource {
	all := s.served()
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return nil
}

// served returns all resources of the server.
func (s *Server) served() []*resource {
	s.lock.Lock()
	defer s.lock.Unlock()
	return slices.Concat(resources, s.custom)
}

// has reports whether there is a subresource.
func (r *resource) has(subresource string) bool {
	return r.status && subresource == "status" || r.scale && subresource == "scale"
}

// new returns an empty object.
func (r *resource) new() Object { return r.newOf(r.gvk.Kind, &unstructured.Unstructured{}).(Object) }

// newOf returns an empty object of a kind in the resource's group: custom for a custom resource.
func (r *resource) newOf(kind string, custom runtime.Unstructured) runtime.Object {
	gvk := r.gvk.GroupVersion().WithKind(kind)
	if r.custom != nil {
		custom.GetObjectKind().SetGroupVersionKind(gvk)
		return custom
	}
	obj, err := scheme.New(gvk)
	utilruntime.Must(err)
	return obj
}

// listOf returns a list of objects as of a revision.
func (r *resource) listOf(objs []runtime.Object, revision int64) runtime.Object {
	list := r.newOf(r.gvk.Kind+"List", &unstructured.UnstructuredList{})
	utilruntime.Must(meta.SetList(list, objs))
	of, err := meta.ListAccessor(list)
	utilruntime.Must(err)
	of.SetResourceVersion(strconv.FormatInt(revision, 10))
	return list
}

// fields returns the fields of an object that a field selector may name.
func (r *resource) fields(obj Object) fields.Set {
	set := fields.Set{"metadata.name": obj.GetName(), "metadata.namespace": obj.GetNamespace()}
	if r.selectable != nil {
		maps.Copy(set, r.selectable(obj))
	}
	return set
}

func eventFields(obj Object) fields.Set {
	e := obj.(*corev1.Event)
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
		"source":                         cmp.Or(e.Source.Component, e.ReportingController),
		"type":                           e.Type,
	}
}

// section returns the "Spec" or "Status" of an object, which must have one. It can be set.
func section(obj Object, name string) reflect.Value {
	return reflect.ValueOf(obj).Elem().FieldByName(name)
}

// copySection gives an object the "Spec" or "Status" of another one, or none if that has none.
func copySection(to, from Object, name string) {
	u, ok := to.(*unstructured.Unstructured)
	if !ok {
		section(to, name).Set(section(from, name))
		return
	}
	key := strings.ToLower(name)
	if value, exists := content(from)[key]; exists {
		u.Object[key] = value
	} else {
		delete(u.Object, key)
	}
}

// desired returns the part of an object whose changes count as generations.
func (r *resource) desired(obj Object) any {
	if r.custom == nil {
		return section(obj, "Spec").Interface()
	}
	part := maps.Clone(content(obj))
	delete(part, "metadata")
	if r.status {
		delete(part, "status")
	}
	return part
}

// hasGenerations reports whether the server counts the changes of what is desired.
func (r *resource) hasGenerations() bool { return r.status || r.custom != nil }

// scheme has the types of the resources.
var scheme = newScheme()

var codecs = serializer.NewCodecFactory(scheme, serializer.EnableStrict)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(appsv1.AddToScheme, policyv1.AddToScheme, corev1.AddToScheme,
		coordinationv1.AddToScheme,
		eventsv1.AddToScheme, autoscalingv1.AddToScheme, metav1.AddMetaToScheme)
	utilruntime.Must(builder.AddToScheme(s))
	metav1.AddToGroupVersion(s, metav1.SchemeGroupVersion)
	metav1.AddToGroupVersion(s, metav1.Unversioned)
	return s
}
