package crd

// This file validates an object. The errors and their messages are those of k8s.io/apiextensions-apiserver, which makes
// them with kube-openapi.

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validate returns the errors of a value.
func (s *schemaProps) validate(value any, path *field.Path) (errs field.ErrorList) {
	if value == nil && s.Nullable {
		return nil
	}
	if kind := typeOf(value); kind != s.Type && (kind != "integer" || s.Type != "number") {
		return field.ErrorList{field.TypeInvalid(path, kind,
			fmt.Sprintf("%s in body must be of type %s: %q", path, s.Type, kind))}
	}
	switch v := value.(type) {
	case map[string]any:
		errs = s.validateObject(v, path)
	case []any:
		errs = s.validateList(v, path)
	case string:
		errs = s.validateText(v, path)
	case int64:
		errs = s.validateNumber(float64(v), v, path)
	case float64:
		errs = s.validateNumber(v, v, path)
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, value) {
		supported := []string{}
		for _, one := range s.Enum {
			supported = append(supported, fmt.Sprint(one))
		}
		errs = append(errs, field.NotSupported(path, value, supported))
	}
	return errs
}

func typeOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	case int64:
		return "integer"
	}
	return "number"
}

func (s *schemaProps) validateObject(object map[string]any, path *field.Path) (errs field.ErrorList) {
	if s.MaxProperties != nil && len(object) > *s.MaxProperties {
		errs = append(errs, field.TooMany(path, len(object), *s.MaxProperties))
	}
	for _, name := range s.Required {
		if _, exists := object[name]; !exists {
			errs = append(errs, field.Required(path.Child(name), ""))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if p := s.Properties[name]; p != nil {
			errs = append(errs, p.validate(object[name], path.Child(name))...)
		} else if s.AdditionalProperties != nil {
			errs = append(errs, s.AdditionalProperties.validate(object[name], path.Child(name))...)
		}
	}
	return errs
}

func (s *schemaProps) validateList(list []any, path *field.Path) (errs field.ErrorList) {
	if s.MaxItems != nil && len(list) > *s.MaxItems {
		errs = append(errs, field.TooMany(path, len(list), *s.MaxItems))
	}
	if s.MinItems != nil && len(list) < *s.MinItems {
		errs = append(errs, field.Invalid(path, int64(len(list)), fmt.Sprintf("%s in body should have at least %d items",
			path, *s.MinItems)))
	}
	seen := map[any]bool{}
	for i, item := range list {
		errs = append(errs, s.Items.validate(item, path.Index(i))...)
		if key := s.keyOf(item); key != "" {
			if seen[key] {
				errs = append(errs, field.Duplicate(path.Index(i), s.shown(item)))
			}
			seen[key] = true
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

func (s *schemaProps) validateText(text string, path *field.Path) (errs field.ErrorList) {
	if s.MaxLength != nil && len([]rune(text)) > *s.MaxLength {
		errs = append(errs, field.TooLong(path, text, *s.MaxLength))
	}
	if _, err := time.Parse(time.RFC3339Nano, text); s.Format == "date-time" && err != nil {
		message := fmt.Sprintf("%s in body must be of type date-time: %q", path, text)
		errs = append(errs, field.TypeInvalid(path, text, message))
	}
	if s.MinLength != nil && len([]rune(text)) < *s.MinLength {
		errs = append(errs, field.Invalid(path, text, fmt.Sprintf("%s in body should be at least %d chars long",
			path, *s.MinLength)))
	}
	if s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(text) {
		errs = append(errs, field.Invalid(path, text, fmt.Sprintf("%s in body should match '%s'", path, s.Pattern)))
	}
	return errs
}

func (s *schemaProps) validateNumber(number float64, value any, path *field.Path) (errs field.ErrorList) {
	if s.Maximum != nil && number > *s.Maximum {
		errs = append(errs, field.Invalid(path, value, fmt.Sprintf("%s in body should be less than or equal to %v", path,
			*s.Maximum)))
	}
	if s.Minimum != nil && number < *s.Minimum {
		errs = append(errs, field.Invalid(path, value, fmt.Sprintf("%s in body should be greater than or equal to %v",
			path, *s.Minimum)))
	}
	return errs
}
