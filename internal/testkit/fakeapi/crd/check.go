package crd

// This file finds what a server refuses in a schema: the API machinery calls a schema without such errors structural.

import (
	"fmt"
	"maps"
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
	errs = append(errs, s.rules.check(s, path, path)...)
	if len(errs) == 0 && s.Default != nil {
		errs = s.checkDefault(path.Child("default"))
	}
	return errs
}

// check returns the errors of the rules of a schema. A schema within allOf, oneOf, anyOf and not has rules only, and
// they are about fields of the schema around it, which is at the path outer.
func (r *rules) check(around *schemaProps, outer, path *field.Path) (errs field.ErrorList) {
	if _, err := regexp.Compile(r.Pattern); err != nil {
		errs = append(errs, field.Invalid(path.Child("pattern"), r.Pattern,
			fmt.Sprintf("must be a valid regular expression, but isn't: %v", err)))
	}
	for name, list := range map[string][]*schemaProps{"allOf": r.AllOf, "oneOf": r.OneOf, "anyOf": r.AnyOf} {
		for i, inner := range list {
			errs = append(errs, inner.checkInner(around, outer, path.Child(name).Index(i))...)
		}
	}
	if r.Not != nil {
		errs = append(errs, r.Not.checkInner(around, outer, path.Child("not"))...)
	}
	return errs
}

// checkInner returns the errors of a schema within allOf, oneOf, anyOf or not.
func (s *schemaProps) checkInner(around *schemaProps, outer, path *field.Path) (errs field.ErrorList) {
	if s == nil {
		return nil
	}
	for _, forbidden := range []struct {
		has           bool
		name, message string
	}{
		{s.Type != "", "type", "must be empty to be structural"},
		{s.Title != "", "title", "must be empty to be structural"},
		{s.Description != "", "description", "must be empty to be structural"},
		{s.AdditionalProperties != nil, "additionalProperties", "must be undefined to be structural"},
		{s.Default != nil, "default", "must be undefined to be structural"},
		{s.Nullable, "nullable", "must be false to be structural"},
		{s.PreserveUnknown, "x-kubernetes-preserve-unknown-fields", "must be false to be structural"},
		{s.ListType != "", "x-kubernetes-list-type", "must be undefined to be structural"},
		{len(s.ListMapKeys) > 0, "x-kubernetes-list-map-keys", "must be empty to be structural"},
		{s.MapType != "", "x-kubernetes-map-type", "must be undefined to be structural"},
	} {
		if forbidden.has {
			errs = append(errs, field.Forbidden(path.Child(forbidden.name), forbidden.message))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		of, at := outer.Child("properties").Key(name), path.Child("properties").Key(name)
		if p := around.Properties[name]; p == nil {
			errs = append(errs, field.Required(of, "because it is defined in "+at.String()))
		} else {
			errs = append(errs, s.Properties[name].checkInner(p, of, at)...)
		}
	}
	if s.Items != nil && around.Items != nil {
		errs = append(errs, s.Items.checkInner(around.Items, outer.Child("items"), path.Child("items"))...)
	}
	return append(errs, s.rules.check(around, outer, path)...)
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
