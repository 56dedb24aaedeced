package crd

// This file validates an object with kube-openapi, as k8s.io/apiextensions-apiserver does. The errors and their
// messages are those of a real server.

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	openapi "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// validator returns a function that returns the errors of a value.
func (s *schemaProps) validator() (func(value any, path *field.Path) field.ErrorList, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write the schema: %w", err)
	}
	var schema spec.Schema
	if err := json.Unmarshal(data, &schema); err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	return func(value any, path *field.Path) (errs field.ErrorList) {
		result := validate.NewSchemaValidator(&schema, nil, "", strfmt.Default).Validate(value)
		for _, err := range result.Errors {
			errs = append(errs, fieldError(path, err))
		}
		return append(errs, s.validateLists(value, path)...)
	}, nil
}

// fieldError returns an error of kube-openapi as the error that a server sends.
func fieldError(path *field.Path, err error) *field.Error {
	var e *openapi.Validation
	if !errors.As(err, &e) {
		return field.Invalid(path, "", err.Error())
	}
	if name := strings.TrimPrefix(e.Name, "."); name != "" {
		path = path.Child(name)
	}
	value := e.Value
	if value == nil {
		value = ""
	}
	number := func(value any) int {
		n, _ := value.(int64)
		return int(n)
	}
	switch e.Code() {
	case openapi.RequiredFailCode:
		return field.Required(path, "")
	case openapi.EnumFailCode:
		var supported []string
		for _, one := range e.Values {
			supported = append(supported, fmt.Sprint(one))
		}
		return field.NotSupported(path, e.Value, supported)
	case openapi.TooLongFailCode:
		return field.TooLong(path, "", number(e.Valid))
	case openapi.MaxItemsFailCode, openapi.TooManyPropertiesCode:
		return field.TooMany(path, number(e.Value), number(e.Valid))
	case openapi.InvalidTypeCode:
		return field.TypeInvalid(path, value, e.Error())
	}
	return field.Invalid(path, value, e.Error())
}

// validateLists returns the duplicates in lists that are sets or maps.
func (s *schemaProps) validateLists(value any, path *field.Path) (errs field.ErrorList) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if p := s.Properties[name]; p != nil {
				errs = append(errs, p.validateLists(v[name], path.Child(name))...)
			} else if s.AdditionalProperties != nil {
				errs = append(errs, s.AdditionalProperties.validateLists(v[name], path.Key(name))...)
			}
		}
	case []any:
		seen := map[string]bool{}
		for i, item := range v {
			if s.Items != nil {
				errs = append(errs, s.Items.validateLists(item, path.Index(i))...)
			}
			if key := s.keyOf(item); key != "" {
				if seen[key] {
					errs = append(errs, field.Duplicate(path.Index(i), s.shown(item)))
				}
				seen[key] = true
			}
		}
	}
	return errs
}

// keyOf returns what must be unique in a list, or nothing if nothing must.
func (s *schemaProps) keyOf(item any) string {
	switch s.ListType {
	case "set":
		return fmt.Sprintf("%T %v", item, item)
	case "map":
		return fmt.Sprint(s.shown(item))
	}
	return ""
}

// shown returns what the message about a duplicate shows.
func (s *schemaProps) shown(item any) any {
	object, ok := item.(map[string]any)
	if s.ListType != "map" || !ok {
		return item
	}
	keys := map[string]any{}
	for _, key := range s.ListMapKeys {
		keys[key] = object[key]
	}
	return keys
}
