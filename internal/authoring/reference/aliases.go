package reference

// This file is the table of names under which texts speak of packages. A name that is not here, and is not a chapter, is
// not checked, so a new one that texts use belongs here.

import (
	"path/filepath"
	"regexp"
)

const (
	clientGo     = "k8s.io/client-go/"
	apimachinery = "k8s.io/apimachinery/pkg/"
)

// aliases gives the import paths that a name may stand for; a symbol has to exist in one of them. In a Go file the file's
// own imports win.
var aliases = map[string][]string{
	// client-go
	"cache":           {clientGo + "tools/cache"},
	"clientcmd":       {clientGo + "tools/clientcmd"},
	"clientcmdapi":    {clientGo + "tools/clientcmd/api"},
	"clientset":       {clientGo + "kubernetes"},
	"fake":            {clientGo + "kubernetes/fake"},
	"features":        {clientGo + "features"},
	"flowcontrol":     {clientGo + "util/flowcontrol"},
	"informers":       {clientGo + "informers"},
	"kubernetes":      {clientGo + "kubernetes"},
	"leaderelection":  {clientGo + "tools/leaderelection"},
	"listers":         {clientGo + "listers/apps/v1", clientGo + "listers/core/v1", clientGo + "listers/policy/v1"},
	"appsv1listers":   {clientGo + "listers/apps/v1"},
	"policyv1listers": {clientGo + "listers/policy/v1"},
	"pager":           {clientGo + "tools/pager"},
	"record":          {clientGo + "tools/record"},
	"resourcelock":    {clientGo + "tools/leaderelection/resourcelock"},
	"rest":            {clientGo + "rest"},
	"restwatch":       {clientGo + "rest/watch"},
	"retry":           {clientGo + "util/retry"},
	"scheme":          {clientGo + "kubernetes/scheme"},
	"synctrack":       {clientGo + "tools/cache/synctrack"},
	"transport":       {clientGo + "transport"},
	"workqueue":       {clientGo + "util/workqueue"},

	// apimachinery; the standard library has some of these names too
	"apierrors":    {apimachinery + "api/errors"},
	"fields":       {apimachinery + "fields"},
	"framer":       {apimachinery + "util/framer"},
	"intstr":       {apimachinery + "util/intstr"},
	"json":         {apimachinery + "util/json", apimachinery + "runtime/serializer/json", "encoding/json"},
	"labels":       {apimachinery + "labels"},
	"meta":         {apimachinery + "api/meta"},
	"metav1":       {apimachinery + "apis/meta/v1"},
	"runtime":      {apimachinery + "runtime", apimachinery + "util/runtime", "runtime"},
	"schema":       {apimachinery + "runtime/schema"},
	"selection":    {apimachinery + "selection"},
	"serializer":   {apimachinery + "runtime/serializer"},
	"sets":         {apimachinery + "util/sets"},
	"streaming":    {apimachinery + "runtime/serializer/streaming"},
	"types":        {apimachinery + "types"},
	"unstructured": {apimachinery + "apis/meta/v1/unstructured"},
	"utilnet":      {apimachinery + "util/net"},
	"utilruntime":  {apimachinery + "util/runtime"},
	"wait":         {apimachinery + "util/wait"},
	"watch":        {apimachinery + "watch", clientGo + "rest/watch", clientGo + "tools/watch"},

	// api, utils, klog
	"appsv1":         {"k8s.io/api/apps/v1"},
	"coordinationv1": {"k8s.io/api/coordination/v1"},
	"corev1":         {"k8s.io/api/core/v1"},
	"eventsv1":       {"k8s.io/api/events/v1"},
	"policyv1":       {"k8s.io/api/policy/v1"},
	"buffer":         {"k8s.io/utils/buffer"},
	"clock":          {"k8s.io/utils/clock"},
	"clocktesting":   {"k8s.io/utils/clock/testing"},
	"ptr":            {"k8s.io/utils/ptr"},
	"utiltrace":      {"k8s.io/utils/trace"},
	"klog":           {"k8s.io/klog/v2"},
}

// everyday are the aliases that also head other things: label keys (kubernetes.io/hostname), paths into objects
// (labels.app), host names (kubernetes.default). Of these only exported symbols are checked.
var everyday = map[string]bool{
	"buffer": true, "clock": true, "fake": true, "features": true, "fields": true, "framer": true, "json": true,
	"kubernetes": true, "labels": true, "meta": true, "record": true, "retry": true, "runtime": true, "schema": true,
	"scheme": true, "selection": true, "streaming": true, "transport": true, "types": true, "wait": true, "watch": true,
}

// chapterFolder is a chapter's folder name; the package is named after what follows the number.
var chapterFolder = regexp.MustCompile(`^\d\d-[a-z][a-z0-9-]*$`)

// chapters finds the packages of the workshop that texts name: the solutions, by package name.
func chapters(own *Source, root string) map[string]string {
	all := map[string]string{}
	dirs, _ := filepath.Glob(filepath.Join(root, "solutions", "*")) // the pattern is well-formed
	for _, dir := range dirs {
		if !chapterFolder.MatchString(filepath.Base(dir)) {
			continue
		}
		importPath := ownModule + "/solutions/" + filepath.Base(dir)
		if p := own.load(importPath); p != nil {
			all[p.name] = importPath
		}
	}
	return all
}
