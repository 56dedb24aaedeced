// Command pdb-controller keeps a PodDisruptionBudget for each Deployment with two or
// more replicas, in the cluster that --kubeconfig, $KUBECONFIG or its own Pod names.
//
// Four files, each around the controller package and none needed to understand it:
//   - main.go (this one): signals, and the parts put together.
//   - options.go: flags, and how to reach the cluster.
//   - leader.go: only one of several instances works.
//   - events.go: Events that are written before the program ends.
//
// Left out: a health endpoint and metrics.
//
// Exit codes: 0 after a clean stop by SIGINT or SIGTERM, 1 after an error or a second
// signal, 2 for wrong flags.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	controller "client-go-workshop/solutions/07-controller"
)

// name is what this program is called in Events, Leases and logs.
const name = "pdb-controller"

func main() {
	options, err := parseOptions(flag.CommandLine, os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(2)
	}
	ctx := klog.NewContext(context.Background(), klog.LoggerWithName(klog.Background(), name))
	err = run(stopOnSignal(ctx), options)
	klog.Flush()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// stopOnSignal returns a context that ends at the first SIGINT or SIGTERM. A second one
// ends the process at once, for whoever finds that stopping takes too long.
func stopOnSignal(parent context.Context) context.Context {
	ctx, stop := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		klog.FromContext(ctx).Info("Stopping; a second signal ends the process at once", "signal", <-signals)
		stop()
		<-signals
		os.Exit(1)
	}()
	return ctx
}

// run works until ctx ends, which is no error.
func run(ctx context.Context, options options) error {
	config, err := loadConfig(options.kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client for %s: %w", config.Host, err)
	}
	recorder, flush, err := startRecorder(ctx, config)
	if err != nil {
		return err
	}
	defer flush()

	work := func(ctx context.Context) error { return keepBudgets(ctx, client, recorder, options) }
	if !options.leaderElect {
		return work(ctx)
	}
	lock, err := newLock(config, options.leaseNamespace)
	if err != nil {
		return err
	}
	return runAsLeader(ctx, lock, work)
}

// keepBudgets runs the controller until ctx ends. The stages stop in the order in which
// the work flows backwards: workers first, while their caches are still fed, informers last.
func keepBudgets(ctx context.Context, client kubernetes.Interface, recorder record.EventRecorder, options options) error {
	logger := klog.FromContext(ctx)
	logger.Info("Starting", "informers", "client-go", "queue", "client-go", "resync", options.resync, "namespace", options.namespace)

	// The layers that the workshop rebuilds are chosen here and nowhere else.
	factory := informers.NewSharedInformerFactoryWithOptions(client, options.resync, informers.WithNamespace(options.namespace))
	c, err := controller.New(logger, controller.Config{
		Deployments: factory.Apps().V1().Deployments().Informer(),
		Budgets:     factory.Policy().V1().PodDisruptionBudgets().Informer(),
		Queue:       newQueue(),
		Client: func(namespace string) controller.BudgetClient {
			return client.PolicyV1().PodDisruptionBudgets(namespace)
		},
		Recorder:     recorder,
		Workers:      options.workers,
		DrainTimeout: 10 * time.Second,
	})
	if err != nil {
		return err
	}
	informersCtx, stopInformers := context.WithCancel(context.WithoutCancel(ctx))
	defer factory.Shutdown() // waits for the informers' goroutines
	defer stopInformers()
	factory.StartWithContext(informersCtx)
	c.Run(ctx)
	return nil
}

// newQueue returns a queue that doubles a failing key's delay from 5 ms up to a minute. The
// client-go default goes up to 17 minutes, long after an API server that was away is back.
func newQueue() workqueue.TypedRateLimitingInterface[cache.ObjectName] {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](5*time.Millisecond, time.Minute)
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{Name: name})
}
