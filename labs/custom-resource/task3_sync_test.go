package customresource_test

// Task 3: creating and correcting the Deployment.

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
	customresource "client-go-workshop/labs/custom-resource"
)

// syncDeployment calls SyncDeployment, and waits for the caches. It returns the writes.
func (w *world) syncDeployment() (*appsv1.Deployment, []string, error) {
	w.t.Helper()
	since := len(w.Requests(""))
	w.t.Did("SyncDeployment")
	d, err := w.controller.SyncDeployment(w.t.Context(), w.cached())
	settle()
	return d, w.writes(since), err
}

// withDeployment makes a world in which the network has its Deployment, as the edits spoil it.
func withDeployment(t *guard.T, edits ...func(*appsv1.Deployment)) *world {
	w := newWorld(t, demo())
	d := customresource.NewDeployment(w.cached())
	for _, edit := range edits {
		edit(d)
	}
	w.put(d)
	return w
}

var createsIt, updatesIt = []string{"create deployments"}, []string{"update deployments/demo"}

func TestTask3_Creates(t *testing.T) {
	guard.Test(t, "SyncDeployment creates the Deployment of a network, or corrects it, with at most one write.",
		func(t *guard.T) {
			w := newWorld(t, demo())
			_, writes, err := w.syncDeployment()
			require.NoError(t, err, "the error of SyncDeployment")
			require.Equal(t, createsIt, writes, "the writes")
			require.True(t, metav1.IsControlledBy(w.deployment(), w.cached()), "the network controls the Deployment")
			require.Equal(t, int32(2), *w.deployment().Spec.Replicas, "the replicas on the server")
		})
}

func TestTask3_Corrects(t *testing.T) {
	for name, spoil := range guard.InOrder(map[string]func(*appsv1.Deployment){
		"replicas":  func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](9) },
		"image":     func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "bitcoin/bitcoin:27.0" },
		"arguments": func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Args = []string{"-chain=main"} },
		"container": func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Name = "other" },
		"label":     func(d *appsv1.Deployment) { d.Labels = nil },

		"a container with a like name": func(d *appsv1.Deployment) {
			ours := d.Spec.Template.Spec.Containers[0]
			ours.Image = "bitcoin/bitcoin:27.0"
			d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "bitcoind-metrics", Image: "metrics:1"}, ours}
		},
		"no replicas": func(d *appsv1.Deployment) { d.Spec.Replicas = nil },
		"another repository": func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Image = "example.com/bitcoin:29.0"
		},
		"another registry": func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Image = "mirror.example.com/bitcoin/bitcoin:29.0"
		},
		"an owner before the network": func(d *appsv1.Deployment) {
			d.OwnerReferences, d.Spec.Replicas = []metav1.OwnerReference{nightly, d.OwnerReferences[0]}, ptr.To[int32](9)
		},
		"an owner of another version": func(d *appsv1.Deployment) {
			d.OwnerReferences[0].APIVersion, d.Spec.Replicas = "bitcoin.example.com/v1", ptr.To[int32](9)
		},
		"other tag":    func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image += "-alpine" },
		"label value":  func(d *appsv1.Deployment) { d.Labels[customresource.NetworkLabel] = "other" },
		"last of args": editArgs(func(a []string) []string { a[len(a)-1] += "0"; return a }),
		"more args":    editArgs(func(a []string) []string { return append(a, "-daemon=1") }),
		"order":        editArgs(func(a []string) []string { slices.Reverse(a); return a }),
		"spaces":       editArgs(func(a []string) []string { return []string{strings.Join(a, " ")} }),
	}) {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, "SyncDeployment creates the Deployment of a network, or corrects it, with at most one write: a "+
				"user's change of a field that the network decides does not stay.", func(t *guard.T) {
				w := withDeployment(t, spoil)
				_, writes, err := w.syncDeployment()
				require.NoError(t, err, "the error of SyncDeployment")
				require.Equal(t, updatesIt, writes, "the writes")
				now := w.deployment()
				wanted := customresource.NewDeployment(w.cached())
				require.Equal(t, wanted.Spec.Replicas, now.Spec.Replicas, "the replicas on the server")
				require.Equal(t, "demo", now.Labels[customresource.NetworkLabel], "the NetworkLabel on the server")
				found := map[string]corev1.Container{}
				for _, c := range now.Spec.Template.Spec.Containers {
					found[c.Name] = c
				}
				require.Equal(t, "bitcoin/bitcoin:29.0", found["bitcoind"].Image, "the image on the server")
				require.Equal(t, wanted.Spec.Template.Spec.Containers[0].Args, found["bitcoind"].Args,
					"the arguments on the server")
				_, writes, err = w.syncDeployment()
				require.NoError(t, err, "the error of the second SyncDeployment")
				require.Empty(t, writes, "the writes of the second SyncDeployment")
				t.Rule(othersStay)
				require.Equal(t, name == "container", found["other"].Name != "", "a container of another program is there")
				if metrics, ok := found["bitcoind-metrics"]; ok {
					require.Equal(t, "metrics:1", metrics.Image, "the image of the container bitcoind-metrics")
					require.Empty(t, metrics.Args, "the arguments of the container bitcoind-metrics")
				}
			})
		})
	}
}

// editArgs changes the arguments of the container bitcoind.
func editArgs(edit func([]string) []string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		c := &d.Spec.Template.Spec.Containers[0]
		c.Args = edit(c.Args)
	}
}

func TestTask3_Returns_what_the_server_has(t *testing.T) {
	guard.Test(t, "SyncDeployment returns the Deployment as the server has it: the next step reports its generation.",
		func(t *guard.T) {
			w := newWorld(t, demo())
			for _, step := range []string{"that is missing", "that is right"} {
				d, _, err := w.syncDeployment()
				require.NoError(t, err, "the error of SyncDeployment of a Deployment %s", step)
				require.Equal(t, w.deployment().UID, d.UID, "the UID of the returned Deployment %s", step)
			}
			w.put(func() fakeapi.Object {
				d := w.deployment().DeepCopy()
				d.Spec.Replicas, d.Status.ReadyReplicas = ptr.To[int32](5), 1
				return d
			}())
			d, _, err := w.syncDeployment()
			require.NoError(t, err, "the error of SyncDeployment of a Deployment that is wrong")
			require.Equal(t, w.deployment().ResourceVersion, d.ResourceVersion, "the version of the returned Deployment")
			require.Equal(t, int64(3), d.Generation, "the generation of the returned Deployment")
			require.Equal(t, int32(1), d.Status.ReadyReplicas, "the ready replicas of the returned Deployment")
		})
}

const othersStay = "It does not write a Deployment that is right, whatever other fields it has: defaults of the " +
	"server, and labels, annotations and containers of other programs stay. A comparison of the whole spec would find a " +
	"difference forever."

func TestTask3_Right_is_left_alone(t *testing.T) {
	guard.Test(t, othersStay, func(t *guard.T) {
		w := withDeployment(t, ofOthers)
		before := w.deployment().DeepCopy()
		_, writes, err := w.syncDeployment()
		require.NoError(t, err, "the error of SyncDeployment")
		require.Empty(t, writes, "the writes")
		require.Equal(t, before, w.deployment(), "the Deployment on the server")
		for _, change := range []struct {
			nodes   int32
			version string
		}{{4, "29.0"}, {0, "29.0"}, {2, "30.0"}} {
			t.Did("a user wants %d nodes of version %s", change.nodes, change.version)
			n := w.stored()
			n.Spec.Nodes, n.Spec.Version = &change.nodes, change.version
			w.put(n)
			_, writes, err = w.syncDeployment()
			require.NoError(t, err, "the error of SyncDeployment")
			require.Equal(t, updatesIt, writes, "the writes")
			now := w.deployment()
			require.Equal(t, change.nodes, *now.Spec.Replicas, "the replicas on the server")
			require.Equal(t, before.Labels, now.Labels, "the labels on the server")
			require.Equal(t, before.Annotations, now.Annotations, "the annotations on the server")
			require.Equal(t, before.OwnerReferences, now.OwnerReferences, "the owners on the server")
			require.Equal(t, before.Finalizers, now.Finalizers, "the finalizers on the server")
			before.Spec.Replicas = &change.nodes
			before.Spec.Template.Spec.Containers[1].Image = "bitcoin/bitcoin:" + change.version
			require.Equal(t, before.Spec, now.Spec, "the spec on the server")
		}
	})
}

// ofOthers adds what other programs write into a Deployment.
func ofOthers(d *appsv1.Deployment) {
	d.Labels["team"], d.Spec.Template.Labels["team"] = "chain", "chain"
	d.Annotations = map[string]string{"deployment.kubernetes.io/revision": "3"}
	d.Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "2026-01-02T03:04:05Z"}
	ours := &d.Spec.Template.Spec.Containers[0]
	ours.ImagePullPolicy, ours.WorkingDir = corev1.PullAlways, "/data"
	ours.Command = []string{"/bin/init", "bitcoind"}
	ours.Env = []corev1.EnvVar{{Name: "HTTP_PROXY", Value: "http://proxy"}}
	ours.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	d.Spec.Template.Spec.Containers = append([]corev1.Container{{Name: "proxy", Image: "proxy:1"}},
		d.Spec.Template.Spec.Containers...)
	d.Spec.Selector = &metav1.LabelSelector{ // of an older controller
		MatchLabels: map[string]string{customresource.NetworkLabel: "demo", "team": "chain"},
	}
	d.Spec.Strategy.Type, d.Spec.MinReadySeconds, d.Spec.Paused = appsv1.RecreateDeploymentStrategyType, 7, true
	d.Finalizers = []string{"example.com/backup"}
	d.OwnerReferences[0].APIVersion = "bitcoin.example.com/v1" // of a newer controller
	d.OwnerReferences = append(d.OwnerReferences, nightly)
}

// nightly is an owner that does not control the Deployment.
var nightly = metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Backup", Name: "nightly", UID: "nightly"}

func TestTask3_Foreign_is_left_alone(t *testing.T) {
	for name, disown := range guard.InOrder(map[string]func(*appsv1.Deployment){
		"no owner":                          func(d *appsv1.Deployment) { d.OwnerReferences = nil },
		"an earlier network":                func(d *appsv1.Deployment) { d.OwnerReferences[0].UID = "earlier" },
		"an owner that does not control it": func(d *appsv1.Deployment) { d.OwnerReferences[0].Controller = nil },
	}) {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, "It never writes to a Deployment that the network does not control: then the error is a "+
				"NameTakenError.", func(t *guard.T) {
				w := withDeployment(t, ofOthers, disown, func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](9) })
				_, writes, err := w.syncDeployment()
				require.Empty(t, writes, "the writes")
				var taken *customresource.NameTakenError
				require.ErrorAs(t, err, &taken, "the error of SyncDeployment")
				require.ErrorContains(t, err, "demo", "the error of SyncDeployment")
				t.Did("a user deletes the Deployment, which has a finalizer")
				w.Delete(w.deployment())
				settle()
				_, writes, err = w.syncDeployment()
				require.Empty(t, writes, "the writes to the Deployment that is being deleted")
				require.ErrorAs(t, err, &taken, "the error for the Deployment that is being deleted")
			})
		})
	}
}

func TestTask3_Deployment_on_its_way_out(t *testing.T) {
	guard.Test(t, "It returns the network's own Deployment without a write if that is being deleted: the end of the "+
		"deletion is an event, which brings the network back.",
		func(t *guard.T) {
			w := withDeployment(t, ofOthers, func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](9) })
			t.Did("a user deletes the Deployment, which has a finalizer")
			w.Delete(w.deployment())
			settle()
			d, writes, err := w.syncDeployment()
			require.NoError(t, err, "the error of SyncDeployment")
			require.Empty(t, writes, "the writes")
			require.Equal(t, w.deployment().UID, d.UID, "the UID of the returned Deployment")
		})
}

func TestTask3_Deployment_has_the_name(t *testing.T) {
	for name, namespace := range guard.InOrder(map[string]string{"another name": "default", "another namespace": "other"}) {
		t.Run(name, func(t *testing.T) {
			guard.Test(t, "SyncDeployment creates the Deployment of a network, or corrects it: the one of the network's "+
				"name and namespace. A copy of it may have its labels and its owner.", func(t *guard.T) {
				w := newWorld(t, demo())
				copied := customresource.NewDeployment(w.cached())
				copied.Namespace, copied.Spec.Replicas = namespace, ptr.To[int32](9)
				if namespace == "default" {
					copied.Name = "a-copy"
				}
				w.put(copied)
				t.Did("there is a copy with %s", name)
				d, writes, err := w.syncDeployment()
				require.NoError(t, err, "the error of SyncDeployment")
				require.Equal(t, createsIt, writes, "the writes")
				require.Equal(t, "default/demo", d.Namespace+"/"+d.Name, "the returned Deployment")
				wrong := d.DeepCopy()
				wrong.Spec.Replicas = ptr.To[int32](9)
				t.Did("a user changes the replicas of default/demo")
				w.put(wrong)
				_, writes, err = w.syncDeployment()
				require.NoError(t, err, "the error of SyncDeployment")
				require.Equal(t, updatesIt, writes, "the writes")
			})
		})
	}
}

func TestTask3_Cached_objects_stay(t *testing.T) {
	guard.Test(t, "It never changes a cached object: every reader shares it.", func(t *guard.T) {
		w := withDeployment(t, ofOthers, func(d *appsv1.Deployment) {
			d.Spec.Replicas, d.Labels[customresource.NetworkLabel] = ptr.To[int32](9), "other"
			d.Spec.Template.Spec.Containers[1].Image = "bitcoin/bitcoin:27.0"
		})
		obj, _, _ := w.deployments.GetStore().GetByKey("default/demo")
		shared, network := obj.(*appsv1.Deployment), w.cached()
		before, networkBefore := shared.DeepCopy(), network.DeepCopy()
		_, _, err := w.syncDeployment()
		require.NoError(t, err, "the error of SyncDeployment")
		require.Equal(t, before, shared, "the Deployment that the cache had")
		require.Equal(t, networkBefore, network, "the network that the cache had")

		roomy := w.deployment().DeepCopy()
		roomy.Spec.Template.Spec.Containers = append(make([]corev1.Container, 0, 8),
			corev1.Container{Name: "proxy", Image: "proxy:1"})
		require.NoError(t, w.deployments.GetStore().Update(roomy), "the error of the cache")
		t.Did("the list of containers in the cache has room for more, and lacks bitcoind")
		_, _, err = w.syncDeployment()
		require.NoError(t, err, "the error of SyncDeployment")
		require.Empty(t, roomy.Spec.Template.Spec.Containers[:2][1].Name, "the container behind the end of the cached list")
	})
}

func TestTask3_Errors_name_the_Deployment(t *testing.T) {
	guard.Test(t, "Any other error names the Deployment and wraps the server's error.", func(t *guard.T) {
		for _, code := range []int{403, 404, 409, 422, 500, 504} {
			for verb, once := range guard.InOrder(map[string][]string{"create": createsIt, "update": updatesIt}) {
				w := newWorld(t, demo())
				if verb == "update" {
					w = withDeployment(t, func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](9) })
				}
				t.Did("the server refuses the %s with %d", verb, code)
				w.Script(verb, fakeapi.Answer(code, ""))
				_, writes, err := w.syncDeployment()
				var refused apierrors.APIStatus
				require.ErrorAs(t, err, &refused, "the error of SyncDeployment")
				require.Equal(t, int32(code), refused.Status().Code, "the code of the server's error")
				require.ErrorContains(t, err, "demo", "the error of SyncDeployment")
				require.Equal(t, once, writes, "the writes")
			}
		}
	})
}

func TestTask3_Cache_lacks_the_Deployment(t *testing.T) {
	guard.Test(t, "That includes AlreadyExists, because the cache may be behind the server: the Deployment may be the "+
		"network's own.", func(t *guard.T) {
		w := newWorld(t, demo())
		own := customresource.NewDeployment(w.cached())
		w.Script("create", func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
			t.Did("the network's Deployment comes into being, just before the creation arrives")
			w.Create(own)
			next.ServeHTTP(rw, r)
		})
		_, _, err := w.syncDeployment()
		require.True(t, apierrors.IsAlreadyExists(err), "the error wraps the server's AlreadyExists: %v", err)
		require.ErrorContains(t, err, "demo", "the error of SyncDeployment")
	})
}

func TestTask3_Stale_cache_loses(t *testing.T) {
	guard.Test(t, "A write that is based on an old Deployment is refused: the update names the version that was read.",
		func(t *guard.T) {
			w := withDeployment(t, func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](9) })
			d := w.deployment().DeepCopy()
			d.Labels["team"] = "chain"
			w.Script("update", func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
				t.Did("another client writes a label, just before the update arrives")
				w.Update(d)
				next.ServeHTTP(rw, r)
			})
			t.Did("SyncDeployment")
			_, err := w.controller.SyncDeployment(t.Context(), w.cached())
			require.True(t, apierrors.IsConflict(err), "the error is a conflict: %v", err)
			require.Equal(t, "chain", w.deployment().Labels["team"], "the other client's label")
		})
}

func TestTask3_Several_differences_are_one_write(t *testing.T) {
	guard.Test(t, "SyncDeployment creates the Deployment of a network, or corrects it, with at most one write.",
		func(t *guard.T) {
			w := withDeployment(t, func(d *appsv1.Deployment) {
				d.Labels, d.Spec.Replicas = nil, ptr.To[int32](9)
				d.Spec.Template.Spec.Containers[0].Image = "bitcoin/bitcoin:27.0"
			})
			t.Did("SyncDeployment of a Deployment without labels, with another number of replicas and another image")
			_, writes, err := w.syncDeployment()
			require.NoError(t, err, "the error of SyncDeployment")
			require.Len(t, writes, 1, "the writes")
			t.Did("SyncDeployment again")
			_, writes, err = w.syncDeployment()
			require.NoError(t, err, "the error of SyncDeployment")
			require.Empty(t, writes, "the writes of the second one")
		})
}
