package reference

// This file is the table of names under which texts speak of packages. A name that is not here, and is not a chapter,
// is not checked, so a new one that texts use belongs here.

import (
	"path"
	"path/filepath"
	"strings"
)

// spoken lists packages, each after the beginning of their import paths. A package is spoken of by the last element of
// its path, or by the names behind "=". Where several have one name, messages name the first.
var spoken = [][2]string{
	{"k8s.io/apimachinery/pkg/", `
		api/errors=apierrors api/meta apis/meta/v1=metav1 apis/meta/v1/unstructured fields labels runtime runtime/schema
		runtime/serializer runtime/serializer/streaming selection types util/framer util/intstr util/json util/net=utilnet
		runtime/serializer/json util/runtime=runtime,utilruntime util/sets util/wait watch`},
	{"k8s.io/client-go/", `
		features informers rest transport tools/cache tools/cache/synctrack tools/clientcmd tools/clientcmd/api=clientcmdapi
		tools/leaderelection tools/leaderelection/resourcelock tools/pager tools/record kubernetes=kubernetes,clientset
		kubernetes/fake kubernetes/scheme rest/watch=watch,restwatch tools/watch util/flowcontrol util/retry util/workqueue
		listers/apps/v1=listers,appsv1listers listers/core/v1=listers listers/policy/v1=listers,policyv1listers`},
	{"k8s.io/api/", "apps/v1=appsv1 coordination/v1=coordinationv1 core/v1=corev1 events/v1=eventsv1 policy/v1=policyv1"},
	{"k8s.io/", "klog/v2=klog utils/buffer utils/clock utils/clock/testing=clocktesting utils/ptr utils/trace=utiltrace"},
	{"", "encoding/json runtime"},
}

// aliases gives the import paths that a name may stand for; a symbol has to exist in one of them. In a Go file the
// file's own imports win.
var aliases = func() map[string][]string {
	all := map[string][]string{}
	for _, group := range spoken {
		for _, field := range strings.Fields(group[1]) {
			importPath, names, renamed := strings.Cut(field, "=")
			if !renamed {
				names = path.Base(importPath)
			}
			for name := range strings.SplitSeq(names, ",") {
				all[name] = append(all[name], group[0]+importPath)
			}
		}
	}
	return all
}()

// everyday are the aliases that also head other things: label keys (kubernetes.io/hostname), paths into objects
// (labels.app), host names (kubernetes.default). Of these only exported symbols are checked.
var everyday = strings.Fields("buffer clock fake features fields framer json kubernetes labels meta record retry " +
	"runtime schema scheme selection streaming transport types wait watch")

// chapters finds the packages of the workshop that texts name: the solutions of chapters and labs, by package name.
func chapters(root string) map[string]string {
	all := map[string]string{}
	for _, pattern := range []string{"solutions/[0-9][0-9]-*", "labs/solutions/*"} {
		dirs, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern))) // the pattern is well-formed
		for _, dir := range dirs {
			topic := strings.TrimLeft(filepath.Base(dir), "0123456789-")
			all[strings.ReplaceAll(topic, "-", "")] = ownModule + "/" + path.Dir(pattern) + "/" + filepath.Base(dir)
		}
	}
	return all
}
