package fakeapi

// This file serves custom resources. Their objects have no Go type: they are stored as maps. The parts that follow from
// a CustomResourceDefinition come from package crd, so that the chapters without custom resources do not compile it.

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// Custom is a custom resource: what one version of a CustomResourceDefinition says.
type Custom struct {
	Kind             schema.GroupVersionKind
	Plural, Singular string
	ShortNames       []string
	Categories       []string
	// Status says whether there is the status subresource.
	Status bool
	// Prune removes the fields that the schema does not have, and returns their paths.
	Prune func(object map[string]any) []string
	// Default sets the defaults of the schema.
	Default func(object map[string]any)
	// Validate returns the errors of the schema.
	Validate func(object map[string]any) field.ErrorList
	// Columns and Cells are the output of kubectl get.
	Columns []metav1.TableColumnDefinition
	Cells   func(object map[string]any) []any
}

// Serve adds a custom resource, as the creation of its CustomResourceDefinition does.
func (s *Server) Serve(custom Custom) {
	r := &resource{
		gvk: custom.Kind, gvr: custom.Kind.GroupVersion().WithResource(custom.Plural), singular: custom.Singular,
		short: custom.ShortNames, categories: custom.Categories, status: custom.Status, custom: &custom,
		validate: func(obj, _ Object) field.ErrorList { return custom.Validate(content(obj)) },
		table:    columns{custom.Columns, func(obj Object) []any { return custom.Cells(content(obj)) }},
	}
	s.custom.lock.Lock()
	defer s.custom.lock.Unlock()
	s.custom.resources = append(slices.Clone(s.custom.resources), r)
}

// customResources are the custom resources of a server.
type customResources struct {
	lock      sync.Mutex
	resources []*resource
}

// and returns the given resources and the custom ones.
func (c *customResources) and(resources []*resource) []*resource {
	c.lock.Lock()
	defer c.lock.Unlock()
	return append(slices.Clip(resources), c.resources...)
}

func content(obj Object) map[string]any { return obj.(*unstructured.Unstructured).Object }

func (c *Custom) new() Object {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(c.Kind)
	return u
}

func (c *Custom) listOf(objs []runtime.Object, revision int64) runtime.Object {
	list := &unstructured.UnstructuredList{Items: make([]unstructured.Unstructured, 0, len(objs))}
	list.SetGroupVersionKind(c.Kind.GroupVersion().WithKind(c.Kind.Kind + "List"))
	list.SetResourceVersion(strconv.FormatInt(revision, 10))
	for _, obj := range objs {
		list.Items = append(list.Items, *obj.(*unstructured.Unstructured))
	}
	return list
}

// prepareForCreate does for a custom resource what resource.prepareForCreate does for others.
func (c *Custom) prepareForCreate(obj Object) {
	obj.GetObjectKind().SetGroupVersionKind(c.Kind)
	obj.SetGeneration(1)
	if c.Status {
		delete(content(obj), "status")
	}
	c.Prune(content(obj))
	c.Default(content(obj))
}

// prepareForUpdate keeps the part of the object that the update must not change. An update of the status changes
// nothing else, not even a label.
func (c *Custom) prepareForUpdate(obj, before Object, part part) {
	obj.GetObjectKind().SetGroupVersionKind(c.Kind)
	now, then := content(obj), before.DeepCopyObject().(*unstructured.Unstructured).Object
	switch {
	case c.Status && part == spec:
		move(then, now, "status")
	case part == statusOnly:
		move(now, then, "status")
		version := obj.GetResourceVersion()
		clear(now)
		for name, value := range then {
			now[name] = value
		}
		obj.SetResourceVersion(version)
	}
	c.Prune(now)
	c.Default(now)
	if !equality.Semantic.DeepEqual(c.generated(now), c.generated(content(before))) {
		obj.SetGeneration(before.GetGeneration() + 1)
	}
}

// move copies a field from one object to another one, or removes it there.
func move(from, to map[string]any, name string) {
	if value, ok := from[name]; ok {
		to[name] = value
	} else {
		delete(to, name)
	}
}

// generated returns the part of an object whose changes count as generations.
func (c *Custom) generated(object map[string]any) map[string]any {
	part := map[string]any{}
	for name, value := range object {
		if name != "metadata" && (name != "status" || !c.Status) {
			part[name] = value
		}
	}
	return part
}

// decodeCustom decodes the body into a custom resource.
func (c *call) decodeCustom() (Object, error) {
	mediaType, _, _ := strings.Cut(cmp.Or(c.r.Header.Get("Content-Type"), runtime.ContentTypeJSON), ";")
	data := c.body
	switch mediaType {
	case runtime.ContentTypeJSON:
	case runtime.ContentTypeYAML:
		converted, err := yaml.YAMLToJSON(data)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		data = converted
	default:
		return nil, statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
			"the body of the request was in an unknown format - accepted media types include: "+
				"application/json, application/yaml", nil)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(data); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)",
			c.res.gvk.Kind, err, cmp.Or(string(c.body), "<empty>")))
	}
	if found := obj.GroupVersionKind(); found != c.res.gvk {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): "+
			"couldn't get version/kind; json parse error: wrong kind %s", c.res.gvk.Kind, found))
	}
	if err := c.prune(obj.Object); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v",
			c.res.gvk.Kind, c.res.gvk.Version, c.res.gvk.Kind, err))
	}
	return obj, c.place(obj)
}

// prune removes the fields that the schema does not have. It refuses, ignores or warns of them, as the query says.
func (c *call) prune(object map[string]any) error {
	var unknown []error
	for _, path := range c.res.custom.Prune(object) {
		unknown = append(unknown, fmt.Errorf("unknown field %q", path))
	}
	if len(unknown) == 0 {
		return nil
	}
	return c.validateFields(runtime.NewStrictDecodingError(unknown))
}

// decodePatched decodes a patched custom resource.
func (c *call) decodePatched(patched []byte, into *unstructured.Unstructured) error {
	if err := into.UnmarshalJSON(patched); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if err := c.prune(into.Object); err != nil {
		return apierrors.NewInvalid(schema.GroupKind{}, "",
			field.ErrorList{field.Invalid(field.NewPath("patch"), string(patched), err.Error())})
	}
	return nil
}

// customNotAcceptable and customPatchType refuse protobuf and strategic merge patches: both need Go types.
var (
	customNotAcceptable = statusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"406: Not Acceptable\n\nAvailable representations: application/json, application/yaml", &metav1.StatusDetails{})
	customPatchType = statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		"the body of the request was in an unknown format - accepted media types include: "+
			"application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml", nil)
)
