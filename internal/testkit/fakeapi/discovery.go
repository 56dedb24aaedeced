package fakeapi

// This file answers the first questions of a client: the groups, versions and resources, the version of Kubernetes, and
// whether the server is healthy. It has the part of an OpenAPI document that kubectl reads before it sends a file:
// whether the server validates fields itself. It does, so kubectl does not.

import (
	"encoding/json"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// Version is the version of Kubernetes whose answers the server gives.
const Version = "v1.37.2"

type doc map[string]any

// documents returns the answers for the server's resources, by path.
func (s *Server) documents() map[string]any {
	groups, openAPI := &metav1.APIGroupList{}, doc{}
	all := map[string]any{
		"/version":    version.Info{Major: "1", Minor: "36", GitVersion: Version, Platform: "in/memory"},
		"/apis":       groups,
		"/openapi/v3": doc{"paths": openAPI},
	}
	for _, r := range s.served() {
		gv := r.gvk.GroupVersion()
		path := pathOf(gv)
		if all["/"+path] == nil {
			all["/"+path] = &metav1.APIResourceList{GroupVersion: gv.String()}
			openAPI[path] = doc{"serverRelativeURL": "/openapi/v3/" + path}
			all["/openapi/v3/"+path] = doc{
				"openapi": "3.0.0", "info": doc{"title": "Kubernetes", "version": Version}, "paths": doc{},
			}
			if gv.Group != "" {
				v := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
				group := metav1.APIGroup{Name: gv.Group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v}
				groups.Groups = append(groups.Groups, group)
				all["/apis/"+gv.Group] = &group
			}
		}
		list := all["/"+path].(*metav1.APIResourceList)
		list.APIResources = append(list.APIResources, r.discovery()...)
		patches := all["/openapi/v3/"+path].(doc)["paths"].(doc)
		patches["/"+path+"/namespaces/{namespace}/"+r.gvr.Resource+"/{name}"] = doc{"patch": r.openAPI()}
	}
	return all
}

func pathOf(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.String()
}

// discovery describes the resource and its subresources, ordered by name.
func (r *resource) discovery() []metav1.APIResource {
	sub := metav1.Verbs{"get", "patch", "update"}
	all := []metav1.APIResource{{
		Name: r.gvr.Resource, SingularName: r.singular, Namespaced: true, Kind: r.gvk.Kind, ShortNames: r.short,
		Categories: r.categories,
		Verbs:      metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
	}}
	if r.scale {
		all = append(all, metav1.APIResource{
			Name: r.gvr.Resource + "/scale", Namespaced: true, Group: "autoscaling", Version: "v1", Kind: "Scale", Verbs: sub,
		})
	}
	if r.status {
		all = append(all, metav1.APIResource{
			Name: r.gvr.Resource + "/status", Namespaced: true, Kind: r.gvk.Kind, Verbs: sub,
		})
	}
	return all
}

// openAPI describes patches of the resource: they, and so all writes, accept fieldValidation.
func (r *resource) openAPI() doc {
	return doc{
		"parameters":                      []doc{{"name": "fieldValidation", "in": "query", "schema": doc{"type": "string"}}},
		"responses":                       doc{},
		"x-kubernetes-group-version-kind": doc{"group": r.gvk.Group, "version": r.gvk.Version, "kind": r.gvk.Kind},
	}
}

func (c *call) discover() error {
	// A client that asks for everything in one answer (aggregated discovery) accepts it in pieces, too.
	form := negotiatePlain(c.r)
	switch path := strings.TrimSuffix(c.r.URL.Path, "/"); path {
	case "/api":
		clients := []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: c.r.Host}}
		return write(c.w, form, c.code, &metav1.APIVersions{Versions: []string{"v1"}, ServerAddressByClientCIDRs: clients})
	case "/healthz", "/readyz", "/livez":
		c.w.Header().Set("X-Content-Type-Options", "nosniff")
		_, err := io.WriteString(c.w, "ok")
		return err
	default:
		switch document := c.documents()[path].(type) {
		case nil:
			return errPath
		case runtime.Object:
			return write(c.w, form, c.code, document)
		default:
			c.w.Header().Set("Content-Type", runtime.ContentTypeJSON)
			text := json.NewEncoder(c.w)
			text.SetIndent("", "  ")
			return text.Encode(document)
		}
	}
}
