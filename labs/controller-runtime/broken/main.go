// Command broken is a controller with a bug, and with package observe, whose recording names the bug. It counts in an
// annotation of each Deployment how often it has reconciled it. So each write makes the key reconcile again.
//
//	go run ./broken -kubeconfig FILE -observe 127.0.0.1:6061      from labs/controller-runtime
//	go tool workshop show http://127.0.0.1:6061/                  from the workshop
//
// The test beside it does the same on the fake API server.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"client-go-workshop/observe"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the cluster")
	address := flag.String("observe", "", "serve a recording on this address of loopback; none by default")
	flag.Parse()
	if err := run(ctrl.SetupSignalHandler(), *kubeconfig, *address); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, address string) error {
	var o *observe.Observer // nil records nothing
	if address != "" {
		o = observe.New(10_000)
		server := &http.Server{Addr: address, Handler: o, ReadHeaderTimeout: time.Second}
		defer server.Close()
		go func() { fmt.Fprintln(os.Stderr, server.ListenAndServe()) }()
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	manager, err := newManager(config, o)
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}

// newManager returns a manager that o observes.
func newManager(config *rest.Config, o *observe.Observer) (ctrl.Manager, error) {
	manager, err := ctrl.NewManager(o.Config(config), ctrl.Options{
		Logger:  logr.Discard(),
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: crcache.Options{NewInformer: func(lw cache.ListerWatcher, example runtime.Object, resync time.Duration,
			indexers cache.Indexers) cache.SharedIndexInformer {
			return o.Informer(cache.NewSharedIndexInformer(lw, example, resync, indexers))
		}},
		// With -count, one process has more than one controller of that name.
		Controller: crconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		return nil, err
	}
	return manager, ctrl.NewControllerManagedBy(manager).For(&appsv1.Deployment{}).
		WithOptions(controller.Options{NewQueue: func(name string, limiter workqueue.TypedRateLimiter[ctrl.Request],
		) workqueue.TypedRateLimitingInterface[ctrl.Request] {
			return observe.Queue(o, workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
				workqueue.TypedRateLimitingQueueConfig[ctrl.Request]{Name: name}))
		}}).
		Complete(counter{manager.GetClient()})
}

// counter counts the reconciles of a Deployment in an annotation.
type counter struct{ client.Client }

const reconciles = "workshop.example/reconciles"

func (c counter) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var deployment appsv1.Deployment
	if err := c.Get(ctx, request.NamespacedName, &deployment); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	n, _ := strconv.Atoi(deployment.Annotations[reconciles])
	if deployment.Annotations == nil {
		deployment.Annotations = map[string]string{}
	}
	deployment.Annotations[reconciles] = strconv.Itoa(n + 1)
	return ctrl.Result{}, c.Update(ctx, &deployment)
}
