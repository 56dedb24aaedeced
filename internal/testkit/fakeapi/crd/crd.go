// Package crd makes a custom resource of the fake API server from a CustomResourceDefinition in YAML:
//
//	manifest ──Parse──▶ fakeapi.Custom: names, status subresource, columns
//	            │          ├─ Prune, Default   structural.go
//	            │          └─ Validate         validate.go
//	            └─ errors of the schema        check.go
//
// It reads the part of a definition that the lab custom-resource needs: one version, and a structural schema.
// Parse returns an error for any other field, so a test cannot pass because the fake ignores a rule.
// The messages are those of a real server; testdata/custom.txtar has the proofs.
//
// Left out: conversion between versions, CEL rules, embedded resources, int-or-string, server-side apply, scale, and
// ratcheting.
package crd

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"client-go-workshop/internal/testkit/fakeapi"
)

// definition is a CustomResourceDefinition, as far as the fake knows it.
type definition struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   metav1.ObjectMeta `json:"metadata"`
	Spec       struct {
		Group      string    `json:"group"`
		Scope      string    `json:"scope"`
		Names      names     `json:"names"`
		Versions   []version `json:"versions"`
		Conversion struct {
			Strategy string `json:"strategy"`
		} `json:"conversion"`
		PreserveUnknown bool `json:"preserveUnknownFields"`
	} `json:"spec"`
	Status any `json:"status"` // the server ignores it
}

type names struct {
	Plural     string   `json:"plural"`
	Singular   string   `json:"singular"`
	Kind       string   `json:"kind"`
	ListKind   string   `json:"listKind"`
	ShortNames []string `json:"shortNames"`
	Categories []string `json:"categories"`
}

type version struct {
	Name         string `json:"name"`
	Served       bool   `json:"served"`
	Storage      bool   `json:"storage"`
	Deprecated   bool   `json:"deprecated"`
	Subresources struct {
		Status *struct{} `json:"status"`
		Scale  *scale    `json:"scale"`
	} `json:"subresources"`
	Columns    []printed  `json:"additionalPrinterColumns"`
	Selectable []struct { // accepted; no request of the lab selects by it
		JSONPath string `json:"jsonPath"`
	} `json:"selectableFields"`
	Schema struct {
		OpenAPI *schemaProps `json:"openAPIV3Schema"`
	} `json:"schema"`
}

// scale is accepted, and not served.
type scale struct {
	SpecReplicas   string `json:"specReplicasPath"`
	StatusReplicas string `json:"statusReplicasPath"`
	LabelSelector  string `json:"labelSelectorPath"`
}

type printed struct {
	metav1.TableColumnDefinition `json:",inline"`
	JSONPath                     string `json:"jsonPath"`
}

// Parse reads a CustomResourceDefinition. It returns an error for a definition that a real server refuses, as far as
// the fake knows the rules, and for one that uses more than the fake knows.
func Parse(manifest string) (fakeapi.Custom, error) {
	data, err := yaml.YAMLToJSONStrict([]byte(manifest))
	if err != nil {
		return fakeapi.Custom{}, fmt.Errorf("read the CustomResourceDefinition: %w", err)
	}
	var d definition
	unknown, err := json.UnmarshalStrict(data, &d) // integers become int64, as the API machinery has them
	if err = errors.Join(append(unknown, err)...); err != nil {
		return fakeapi.Custom{}, fmt.Errorf("read the CustomResourceDefinition: %w", err)
	}
	if err := d.check(d.Metadata.Name); err != nil {
		return fakeapi.Custom{}, fmt.Errorf("the CustomResourceDefinition %q is invalid: %w", d.Metadata.Name, err)
	}
	return d.custom()
}

// check returns the rules that the definition breaks.
func (d *definition) check(name string) error {
	var errs []error
	must := func(holds bool, format string, args ...any) {
		if !holds {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	n := d.Spec.Names
	must(d.APIVersion == "apiextensions.k8s.io/v1" && d.Kind == "CustomResourceDefinition",
		"it is a %s, %s, and not an apiextensions.k8s.io/v1, CustomResourceDefinition", d.APIVersion, d.Kind)
	must(name == n.Plural+"."+d.Spec.Group, `metadata.name: Invalid value: %q: must be spec.names.plural+"."+spec.group`,
		name)
	must(n.Kind != "", "spec.names.kind: Required value")
	must(n.Plural == strings.ToLower(n.Plural), "spec.names.plural: Invalid value: %q: must be lower case", n.Plural)
	must(d.Spec.Scope == "Namespaced", "the fake serves namespaced resources only, and spec.scope is %q", d.Spec.Scope)
	must(d.Spec.Conversion.Strategy == "" || d.Spec.Conversion.Strategy == "None",
		"the fake does not convert, and spec.conversion.strategy is %q", d.Spec.Conversion.Strategy)
	must(!d.Spec.PreserveUnknown, "spec.preserveUnknownFields: Invalid value: true: must be false")
	must(len(d.Spec.Versions) == 1, "the fake serves one version, and there are %d", len(d.Spec.Versions))
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	v := d.Spec.Versions[0]
	must(v.Storage, "spec.versions: Invalid value: must have exactly one version marked as storage version")
	must(!v.Deprecated, "the fake sends no warning of a version, and spec.versions[0].deprecated is true")
	must(v.Served, "spec.versions[0].served is false, so no request finds the resource")
	if s := v.Subresources.Scale; s != nil {
		must(strings.HasPrefix(s.SpecReplicas, ".spec."),
			"spec.versions[0].subresources.scale.specReplicasPath: Invalid value: %q: should be a json path under .spec",
			s.SpecReplicas)
		must(strings.HasPrefix(s.StatusReplicas, ".status."),
			"spec.versions[0].subresources.scale.statusReplicasPath: Invalid value: %q: should be a json path under .status",
			s.StatusReplicas)
	}
	if v.Schema.OpenAPI == nil {
		must(false, "spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required")
	} else {
		for _, err := range v.Schema.OpenAPI.structural(rootPath) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// custom makes the custom resource of a checked definition.
func (d *definition) custom() (fakeapi.Custom, error) {
	n, v := d.Spec.Names, d.Spec.Versions[0]
	columns, cells, err := table(v.Columns)
	if err != nil {
		return fakeapi.Custom{}, err
	}
	root := v.Schema.OpenAPI.root()
	validate, err := root.validator()
	if err != nil {
		return fakeapi.Custom{}, err
	}
	singular := n.Singular
	if singular == "" {
		singular = strings.ToLower(n.Kind)
	}
	return fakeapi.Custom{
		Kind:   schema.GroupVersionKind{Group: d.Spec.Group, Version: v.Name, Kind: n.Kind},
		Plural: n.Plural, Singular: singular, ShortNames: n.ShortNames, Categories: n.Categories,
		Status: v.Subresources.Status != nil,
		Prune: func(object map[string]any) []string {
			unknown := []string{}
			root.prune(object, "", &unknown)
			return unknown
		},
		Default:  func(object map[string]any) { root.setDefaults(object) },
		Validate: func(object map[string]any) field.ErrorList { return validate(object, nil) },
		Columns:  columns,
		Cells:    cells,
	}, nil
}

// table returns the columns of kubectl get, and a function that returns an object's cells.
func table(columns []printed) ([]metav1.TableColumnDefinition, func(object map[string]any) []any, error) {
	head := []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name",
		Description: metav1.ObjectMeta{}.SwaggerDoc()["name"]}}
	var paths []*jsonpath.JSONPath
	if len(columns) == 0 {
		columns = []printed{{metav1.TableColumnDefinition{Name: "Age", Type: "date",
			Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"]}, ".metadata.creationTimestamp"}}
	}
	for _, c := range columns {
		path := jsonpath.New(c.Name).AllowMissingKeys(true)
		if err := path.Parse("{" + c.JSONPath + "}"); err != nil {
			return nil, nil, fmt.Errorf("the jsonPath of column %s: %w", c.Name, err)
		}
		paths = append(paths, path)
		c.Description = cmp.Or(c.Description, "Custom resource definition column (in JSONPath format): "+c.JSONPath)
		head = append(head, c.TableColumnDefinition)
	}
	cells := func(object map[string]any) []any {
		name, _, _ := unstructured.NestedFieldNoCopy(object, "metadata", "name")
		cells := []any{name}
		for i, path := range paths {
			cells = append(cells, cell(path, columns[i].Type, object))
		}
		return cells
	}
	return head, cells, nil
}
