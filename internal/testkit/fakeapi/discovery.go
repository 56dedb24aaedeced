package fakeapi

// This file answers the first questions of a client: the groups, versions and resources, the version of Kubernetes, and
// whether the server is healthy.

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// Version is the version of Kubernetes whose answers the server gives.
const Version = "v1.36.3"

// documents are the answers that are always the same, by path.
var documents = sync.OnceValue(func() map[string]any {
	all := map[string]any{
		"/version":    version.Info{Major: "1", Minor: "36", GitVersion: Version, Platform: "in/memory"},
		"/openapi/v3": openAPIRoot(),
	}
	groups := &metav1.APIGroupList{}
	for _, r := range resources {
		gv := r.gvk.GroupVersion()
		if all["/"+pathOf(gv)] != nil {
			continue
		}
		all["/"+pathOf(gv)], all["/openapi/v3/"+pathOf(gv)] = resourcesOf(gv), openAPI(gv)
		if gv.Group != "" {
			v := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
			group := metav1.APIGroup{Name: gv.Group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v}
			groups.Groups = append(groups.Groups, group)
			all["/apis/"+gv.Group] = &group
		}
	}
	all["/apis"] = groups
	return all
})

// served reports whether there is a resource in a group and version.
func served(gv schema.GroupVersion) bool { return documents()["/"+pathOf(gv)] != nil }

func (c *call) discover() error {
	switch path := strings.TrimSuffix(c.r.URL.Path, "/"); path {
	case "/api":
		return c.answerMeta(&metav1.APIVersions{
			Versions:                   []string{"v1"},
			ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: c.r.Host}},
		})
	case "/healthz", "/readyz", "/livez":
		writeText(c.w, http.StatusOK, "ok")
		return nil
	default:
		switch document := documents()[path].(type) {
		case nil:
			return errPath
		case runtime.Object:
			return c.answerMeta(document)
		default:
			return c.answerPlain(document)
		}
	}
}

func (c *call) answerMeta(obj runtime.Object) error {
	// A client that asks for everything in one answer (aggregated discovery) accepts it in pieces, too.
	return write(c.w, negotiatePlain(c.r), http.StatusOK, obj)
}

func (c *call) answerPlain(v any) error {
	c.w.Header().Set("Content-Type", "application/json")
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = c.w.Write(text)
	return err
}

func resourcesOf(gv schema.GroupVersion) *metav1.APIResourceList {
	list := &metav1.APIResourceList{GroupVersion: gv.String(), APIResources: []metav1.APIResource{}}
	for _, r := range resources {
		if r.gvr.GroupVersion() != gv {
			continue
		}
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: r.gvr.Resource, SingularName: r.singular, Namespaced: true, Kind: r.gvk.Kind, ShortNames: r.short,
			Categories: r.categories,
			Verbs:      metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
		})
		sub := metav1.Verbs{"get", "patch", "update"}
		if r.scale {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: r.gvr.Resource + "/scale", Namespaced: true, Group: "autoscaling", Version: "v1", Kind: "Scale", Verbs: sub,
			})
		}
		if r.status {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: r.gvr.Resource + "/status", Namespaced: true, Kind: r.gvk.Kind, Verbs: sub,
			})
		}
	}
	slices.SortFunc(list.APIResources, func(a, b metav1.APIResource) int { return strings.Compare(a.Name, b.Name) })
	return list
}
