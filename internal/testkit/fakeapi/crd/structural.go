package crd

// This file has the schema, the fields that it removes, and the defaults that it sets.

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/util/jsonpath"
)

// schemaProps are the keywords of OpenAPI that the fake knows. A manifest with another one is refused.
type schemaProps struct {
	Type                 string                  `json:"type,omitempty"`
	Title                string                  `json:"title,omitempty"`
	Description          string                  `json:"description,omitempty"`
	Properties           map[string]*schemaProps `json:"properties,omitempty"`
	AdditionalProperties *schemaProps            `json:"additionalProperties,omitempty"`
	Items                *schemaProps            `json:"items,omitempty"`
	Default              any                     `json:"default,omitempty"`
	Example              any                     `json:"example,omitempty"`
	Nullable             bool                    `json:"nullable,omitempty"`
	PreserveUnknown      bool                    `json:"x-kubernetes-preserve-unknown-fields,omitempty"`
	ListType             string                  `json:"x-kubernetes-list-type,omitempty"`
	ListMapKeys          []string                `json:"x-kubernetes-list-map-keys,omitempty"`
	MapType              string                  `json:"x-kubernetes-map-type,omitempty"`
	rules
}

// rules are the keywords that only limit values. Package validate of kube-openapi reads them.
type rules struct {
	Format           any            `json:"format,omitempty"`
	Required         any            `json:"required,omitempty"`
	Enum             any            `json:"enum,omitempty"`
	Pattern          string         `json:"pattern,omitempty"`
	Minimum          any            `json:"minimum,omitempty"`
	Maximum          any            `json:"maximum,omitempty"`
	ExclusiveMinimum any            `json:"exclusiveMinimum,omitempty"`
	ExclusiveMaximum any            `json:"exclusiveMaximum,omitempty"`
	MultipleOf       any            `json:"multipleOf,omitempty"`
	MinLength        any            `json:"minLength,omitempty"`
	MaxLength        any            `json:"maxLength,omitempty"`
	MinItems         any            `json:"minItems,omitempty"`
	MaxItems         any            `json:"maxItems,omitempty"`
	MinProperties    any            `json:"minProperties,omitempty"`
	MaxProperties    any            `json:"maxProperties,omitempty"`
	AllOf            []*schemaProps `json:"allOf,omitempty"`
	OneOf            []*schemaProps `json:"oneOf,omitempty"`
	AnyOf            []*schemaProps `json:"anyOf,omitempty"`
	Not              *schemaProps   `json:"not,omitempty"`
}

// root returns the schema with the fields that every object has. The server checks metadata itself, so the schema can
// only limit its name.
func (s *schemaProps) root() *schemaProps {
	root := *s
	root.Properties = maps.Clone(s.Properties)
	if root.Properties == nil {
		root.Properties = map[string]*schemaProps{}
	}
	meta := schemaProps{Type: "object"}
	if given := root.Properties["metadata"]; given != nil {
		meta = *given
	}
	meta.PreserveUnknown = true
	root.Properties["metadata"] = &meta
	root.Properties["apiVersion"], root.Properties["kind"] = &schemaProps{Type: "string"}, &schemaProps{Type: "string"}
	return &root
}

// prune removes the fields that the schema does not have, and adds their paths to unknown.
func (s *schemaProps) prune(value any, path string, unknown *[]string) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			at := name
			if path != "" {
				at = path + "." + name
			}
			child := s.Properties[name]
			if child == nil {
				child = s.AdditionalProperties
			}
			switch {
			case child != nil && v[name] == nil && !child.Nullable && child.Default == nil:
				delete(v, name) // like a missing field
			case child != nil:
				child.prune(v[name], at, unknown)
			case !s.PreserveUnknown:
				delete(v, name)
				*unknown = append(*unknown, at)
			}
		}
	case []any:
		for i := range v {
			if s.Items != nil {
				s.Items.prune(v[i], fmt.Sprintf("%s[%d]", path, i), unknown)
			}
		}
	}
}

// setDefaults sets the defaults of the fields that an object lacks. A default is set if the parent exists.
func (s *schemaProps) setDefaults(value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, p := range s.Properties {
			if held, exists := v[name]; p.Default != nil && (!exists || held == nil && !p.Nullable) {
				v[name] = runtime.DeepCopyJSONValue(p.Default)
			}
			if held, exists := v[name]; exists {
				p.setDefaults(held)
			}
		}
		for name, held := range v {
			if s.AdditionalProperties != nil && s.Properties[name] == nil {
				s.AdditionalProperties.setDefaults(held)
			}
		}
	case []any:
		for _, held := range v {
			if s.Items != nil {
				s.Items.setDefaults(held)
			}
		}
	}
}

// cell returns a cell of kubectl get, or nil for a field that the object lacks.
func cell(path *jsonpath.JSONPath, kind string, object map[string]any) any {
	results, err := path.FindResults(object)
	if err != nil || len(results) == 0 || len(results[0]) == 0 {
		return nil
	}
	value := results[0][0].Interface()
	text, isText := value.(string)
	switch {
	case kind == "date" && isText:
		at := metav1.Time{}
		if err := at.UnmarshalQueryParameter(text); err != nil {
			return "<invalid>"
		}
		return duration.HumanDuration(time.Since(at.Time))
	case isText, kind == "integer", kind == "number", kind == "boolean":
		return value
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return string(data)
}
