package crd

// This file finds what a server refuses in a schema: the API machinery calls a schema without such errors structural.

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var types = []string{"object", "array", "string", "integer", "number", "boolean"}

// rootPath is the path of the schema in a definition.
var rootPath = field.NewPath("spec", "versions").Index(0).Child("schema", "openAPIV3Schema")

// structural returns the reasons why a schema is not structural: each field needs a type, and a default is valid.
func (s *schemaProps) structural(path *field.Path) (errs field.ErrorList) {
	if !slices.Contains(types, s.Type) {
		errs = append(errs, field.Required(path.Child("type"), "must not be empty for specified object fields"))
	}
	if s.Type == "array" && s.Items == nil {
		errs = append(errs, field.Required(path.Child("items"), "must be specified"))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if p := s.Properties[name]; p != nil {
			errs = append(errs, p.structural(path.Child("properties").Key(name))...)
		}
	}
	if path == rootPath && s.Properties["metadata"] != nil {
		for name := range s.Properties["metadata"].Properties {
			if name != "name" && name != "generateName" {
				errs = append(errs, field.Forbidden(path.Child("properties").Key("metadata"), "must not specify anything other "+
					"than name and generateName, but metadata is implicitly specified"))
				break
			}
		}
	}
	for name, p := range map[string]*schemaProps{"items": s.Items, "additionalProperties": s.AdditionalProperties} {
		if p != nil {
			errs = append(errs, p.structural(path.Child(name))...)
		}
	}
	errs = append(errs, s.rules.check(s, path)...)
	if len(errs) == 0 && s.Default != nil {
		errs = s.checkDefault(path.Child("default"))
	}
	return errs
}

// check returns the errors of the rules of a schema. A schema within allOf, oneOf, anyOf and not has rules only, and
// they are about fields of the schema around it.
func (r *rules) check(around *schemaProps, path *field.Path) (errs field.ErrorList) {
	if _, err := regexp.Compile(r.Pattern); err != nil {
		errs = append(errs, field.Invalid(path.Child("pattern"), r.Pattern,
			fmt.Sprintf("must be a valid regular expression, but isn't: %v", err)))
	}
	for name, list := range map[string][]*schemaProps{"allOf": r.AllOf, "oneOf": r.OneOf, "anyOf": r.AnyOf} {
		for i, inner := range list {
			errs = append(errs, inner.checkInner(around, path.Child(name).Index(i))...)
		}
	}
	if r.Not != nil {
		errs = append(errs, r.Not.checkInner(around, path.Child("not"))...)
	}
	return errs
}

// checkInner returns the errors of a schema within allOf, oneOf, anyOf or not.
func (s *schemaProps) checkInner(around *schemaProps, path *field.Path) (errs field.ErrorList) {
	onlyRules := schemaProps{Properties: s.Properties, Items: s.Items, rules: s.rules}
	if !reflect.DeepEqual(*s, onlyRules) {
		errs = append(errs, field.Forbidden(path, "only rules for values are structural here, and no type, title, "+
			"description, default, nullable and additionalProperties"))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		at := path.Child("properties").Key(name)
		if outer := around.Properties[name]; outer == nil {
			errs = append(errs, field.Required(at, "the schema around it must have the field, too"))
		} else {
			errs = append(errs, s.Properties[name].checkInner(outer, at)...)
		}
	}
	if s.Items != nil && around.Items != nil {
		errs = append(errs, s.Items.checkInner(around.Items, path.Child("items"))...)
	}
	return append(errs, s.rules.check(around, path)...)
}

// checkDefault returns the errors of a default: the schema must accept it, and have all its fields.
func (s *schemaProps) checkDefault(path *field.Path) field.ErrorList {
	value := runtime.DeepCopyJSONValue(s.Default)
	var unknown []string
	if s.prune(value, "", &unknown); len(unknown) > 0 {
		return field.ErrorList{field.Invalid(path, s.Default, "must not have unknown fields")}
	}
	validate, err := s.validator()
	if err != nil {
		return field.ErrorList{field.Invalid(path, s.Default, err.Error())}
	}
	return validate(value, path)
}
