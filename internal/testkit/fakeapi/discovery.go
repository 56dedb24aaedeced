package fakeapi

// This file is what a client asks before anything else: which groups, versions and resources there are, which version of
// Kubernetes this is, and whether it is well.

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// Version is the one of Kubernetes that the server behaves as.
const Version = "v1.36.3"

// served says whether there is a resource in a group and version.
func served(gv schema.GroupVersion) bool {
	return find(func(r *resource) bool { return r.gvr.GroupVersion() == gv }) != nil
}

func (c *call) discover() error {
	switch path := strings.TrimSuffix(c.r.URL.Path, "/"); path {
	case "/api":
		return c.answerMeta(&metav1.APIVersions{
			Versions:                   []string{"v1"},
			ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: c.r.Host}},
		})
	case "/apis":
		return c.answerMeta(groups())
	case "/version":
		return c.answerPlain(version.Info{Major: "1", Minor: "36", GitVersion: Version, Platform: "in/memory"})
	case "/healthz", "/readyz", "/livez":
		writeText(c.w, http.StatusOK, "ok")
		return nil
	case "/openapi/v3":
		return c.answerPlain(openAPIRoot())
	default:
		if name, ok := strings.CutPrefix(path, "/openapi/v3/"); ok {
			if gv, rest, ok := groupVersion(strings.Split(name, "/")); ok && len(rest) == 0 && served(gv) {
				return c.answerPlain(openAPI(gv))
			}
			return errPath
		}
		group, rest, ok := groupVersion(strings.Split(strings.Trim(path, "/"), "/"))
		if ok && len(rest) == 0 && served(group) {
			return c.answerMeta(resourcesOf(group))
		}
		if name, ok := strings.CutPrefix(path, "/apis/"); ok {
			for _, g := range groups().Groups {
				if g.Name == name {
					return c.answerMeta(&g)
				}
			}
		}
		return errPath
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

func groups() *metav1.APIGroupList {
	list := &metav1.APIGroupList{}
	for _, r := range resources {
		gv := r.gvr.GroupVersion()
		known := slices.ContainsFunc(list.Groups, func(g metav1.APIGroup) bool { return g.Name == gv.Group })
		if gv.Group == "" || known {
			continue
		}
		v := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
		list.Groups = append(list.Groups, metav1.APIGroup{Name: gv.Group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
	}
	return list
}

func resourcesOf(gv schema.GroupVersion) *metav1.APIResourceList {
	list := &metav1.APIResourceList{GroupVersion: gv.String(), APIResources: []metav1.APIResource{}}
	for _, r := range resources {
		if r.gvr.GroupVersion() != gv {
			continue
		}
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: r.gvr.Resource, SingularName: r.singular, Namespaced: true, Kind: r.gvk.Kind, ShortNames: r.short, Categories: r.categories,
			Verbs: metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
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
