package fakeapi

// This file serves custom resources. Their objects have no Go type: they are stored as maps. The parts that follow from
// a CustomResourceDefinition come from package crd, so that the chapters without custom resources do not compile it.

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

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
		fill: func(obj Object) {
			obj.GetObjectKind().SetGroupVersionKind(custom.Kind)
			custom.Prune(content(obj))
			custom.Default(content(obj))
		},
		validate: func(obj, _ Object) field.ErrorList { return custom.Validate(content(obj)) },
		table:    columns{custom.Columns, func(obj Object) []any { return custom.Cells(content(obj)) }},
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	s.custom = append(s.custom, r)
}

func content(obj Object) map[string]any { return obj.(*unstructured.Unstructured).Object }

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

// customNotAcceptable and customPatchType refuse protobuf and strategic merge patches: both need Go types.
var (
	customNotAcceptable = statusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"406: Not Acceptable\n\nAvailable representations: application/json, application/yaml", &metav1.StatusDetails{})
	customPatchType = statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		"the body of the request was in an unknown format - accepted media types include: "+
			"application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml", nil)
)
