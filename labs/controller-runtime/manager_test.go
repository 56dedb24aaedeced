// Package controllerruntime runs the informer of chapter 07 inside controller-runtime: the cache of a real manager
// makes its informers with our constructor, and a reconciler keeps the budgets of chapter 07 on top of them.
//
//	go test ./...                               with the finished informer, from this folder
//	go test -tags yours ./...                   with yours
//	go test . -run Real -v -kubeconfig FILE     on a real API server
//
// manager_test.go runs the manager on the fake API server, in a bubble with an outage. real_test.go runs it over a
// socket.
//
// This is a module of its own, because controller-runtime requires many modules that the workshop does not need.
//
// What it leaves out: the rules of chapter 07 about foreign budgets, and leader election.
package controllerruntime

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"client-go-workshop/internal/testkit/fakeapi"
	_ "client-go-workshop/internal/testkit/fakeapi/strategic"
	controller "client-go-workshop/solutions/07-controller"
)

// budgets keeps a budget for each Deployment with two or more replicas. All reads are from the cache.
type budgets struct{ client.Client }

func (b budgets) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var deployment appsv1.Deployment
	if err := b.Get(ctx, request.NamespacedName, &deployment); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var budget policyv1.PodDisruptionBudget
	err := b.Get(ctx, request.NamespacedName, &budget)
	wanted := ptr.Deref(deployment.Spec.Replicas, 1) > 1
	switch {
	case apierrors.IsNotFound(err) && wanted:
		return ctrl.Result{}, b.Create(ctx, controller.NewBudget(&deployment))
	case err != nil:
		return ctrl.Result{}, client.IgnoreNotFound(err)
	case !wanted:
		return ctrl.Result{}, b.Delete(ctx, &budget, client.Preconditions{ResourceVersion: &budget.ResourceVersion})
	case len(controller.Conform(&budget, &deployment)) > 0: // budget is a copy, see CacheReader.Get
		return ctrl.Result{}, b.Update(ctx, &budget)
	}
	return ctrl.Result{}, nil
}

// constructed notes the kinds for which a cache has made informers.
type constructed struct {
	lock  sync.Mutex
	kinds []string
}

// newInformer is a cache.Options.NewInformer.
func (c *constructed) newInformer(lw cache.ListerWatcher, example runtime.Object, resync time.Duration,
	indexers cache.Indexers) cache.SharedIndexInformer {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.kinds = append(c.kinds, reflect.TypeOf(example).Elem().Name())
	return newSharedIndexInformer(lw, example, resync, indexers)
}

func TestManager_runs_on_the_informer_of_chapter_07(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.Start(t)
		api.Create(web(3))
		made := &constructed{}
		ended := start(t, api.Config(), made)
		minAvailable := func() string {
			time.Sleep(time.Minute)
			synctest.Wait()
			var all []string
			for _, obj := range api.Objects("poddisruptionbudgets") {
				all = append(all, fmt.Sprint(obj.GetName(), " ", obj.(*policyv1.PodDisruptionBudget).Spec.MinAvailable))
			}
			return fmt.Sprint(all)
		}
		require.Equal(t, "[web 2]", minAvailable(), "the first list")
		edited := api.Objects("poddisruptionbudgets")[0].(*policyv1.PodDisruptionBudget)
		edited.Spec.MinAvailable = ptr.To(intstr.FromInt32(0))
		api.Update(edited)
		require.Equal(t, "[web 2]", minAvailable(), "an edit is repaired: Owns maps the budget to its Deployment")
		api.Delete(edited)
		require.Equal(t, "[web 2]", minAvailable(), "a deleted budget comes back")

		api.Down()
		api.Update(web(5))
		api.Compact()
		api.Up()
		require.Equal(t, "[web 4]", minAvailable(), "an outage in which the history is lost")
		api.Update(web(1))
		require.Equal(t, "[]", minAvailable())

		slices.Sort(made.kinds)
		require.Equal(t, []string{"Deployment", "PodDisruptionBudget"}, made.kinds, "one informer for each kind")
		require.Empty(t, api.Requests("get"), "all reads are from the cache")
		require.NoError(t, ended())
		synctest.Wait()
		require.Zero(t, api.Watches(), "watches that are open after the end")
	})
}

// start runs a manager with the reconciler. The returned function ends it.
func start(t *testing.T, config *rest.Config, made *constructed) (end func() error) {
	config.QPS = -1
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Logger:  logr.Discard(),
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:   crcache.Options{NewInformer: made.newInformer},
		// With -count, one process has more than one controller of that name.
		Controller: crconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	require.NoError(t, err)
	require.NoError(t, ctrl.NewControllerManagedBy(manager).
		For(&appsv1.Deployment{}).
		Owns(&policyv1.PodDisruptionBudget{}).
		Complete(budgets{manager.GetClient()}))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}
}

func web(replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.29"}}},
			},
		},
	}
}
