package fakeapi

// This file has the part of an OpenAPI document that kubectl reads before it sends a file: whether the server validates
// fields itself. It does, so kubectl does not.

import "k8s.io/apimachinery/pkg/runtime/schema"

type doc map[string]any

// openAPIRoot returns the paths of the documents, by group and version.
func openAPIRoot() doc {
	paths := doc{}
	for _, r := range resources {
		path := pathOf(r.gvr.GroupVersion())
		paths[path] = doc{"serverRelativeURL": "/openapi/v3/" + path}
	}
	return doc{"paths": paths}
}

func pathOf(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.String()
}

// openAPI returns the document of one group and version: patches, and so all writes, accept fieldValidation.
func openAPI(gv schema.GroupVersion) doc {
	paths := doc{}
	for _, r := range resources {
		if r.gvr.GroupVersion() != gv {
			continue
		}
		paths["/"+pathOf(gv)+"/namespaces/{namespace}/"+r.gvr.Resource+"/{name}"] = doc{"patch": doc{
			"parameters": []doc{
				{"name": "fieldValidation", "in": "query", "schema": doc{"type": "string"}},
			},
			"responses":                       doc{},
			"x-kubernetes-group-version-kind": doc{"group": gv.Group, "version": gv.Version, "kind": r.gvk.Kind},
		}}
	}
	return doc{"openapi": "3.0.0", "info": doc{"title": "Kubernetes", "version": Version}, "paths": paths}
}
