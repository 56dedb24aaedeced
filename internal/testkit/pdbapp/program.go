// Package pdbapp is the program around the controller of chapter 07: everything that a controller needs to run in a
// cluster, and nothing that explains the controller. Two programs are made of it, the learner's in
// 07-controller/cmd/pdb-controller and the finished one in solutions. They differ in the controller and the informer
// that they pass to Main. cmd/show uses its choice of layers.
//
//   - program.go, this one: signals, and the parts put together.
//   - options.go: flags, and how to reach the cluster.
//   - layers.go: the choice of layers.
//   - demo.go: what it does without a cluster.
//   - election/: only one of several instances works.
//   - events.go: Events that are written before the program ends.
//
// Left out: a health endpoint and metrics.
//
// Exit codes: 0 after a clean stop by SIGINT or SIGTERM, 1 after an error or a second signal, 2 for wrong flags.
package pdbapp

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/todo"
)

// name is what this program is called in Events, Leases and logs.
const name = "pdb-controller"

// Elect runs work while it holds a Lease.
type Elect = func(ctx context.Context, config *rest.Config, namespace, lease string,
	work func(context.Context) error) error

// Config is the controller's, field by field, so that one can be converted to the other.
type Config struct {
	Deployments, Budgets cache.SharedIndexInformer
	Queue                layers.WorkQueue
	Client               func(namespace string) layers.BudgetClient
	Recorder             record.EventRecorder
	Workers              int
	DrainTimeout         time.Duration
}

// Runner is a controller that can run.
type Runner interface{ Run(ctx context.Context) }

// Main is the program. It does not return.
func Main(parts Parts) {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error is printed once, below
	options, err := parseOptions(flags, os.Args[1:], parts)
	todo.OnReach(func(todo todo.NotWritten) bool {
		fmt.Fprintf(os.Stderr, "%s: %s\n", name, Unwritten(todo, finished(todo, options.choice)))
		os.Exit(1)
		return true
	})
	if errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(os.Stdout)
		fmt.Println("Keeps a PodDisruptionBudget for each Deployment that has more than one replica.\n\nFlags:")
		flags.PrintDefaults()
		os.Exit(0)
	}
	code := 2
	if err == nil {
		code = 1
		err = run(klog.NewContext(context.Background(), klog.LoggerWithName(klog.Background(), name)), options)
		klog.Flush()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(code)
	}
	os.Exit(0)
}

// Unwritten returns what to tell a user who has reached code that is not written yet: the chapter, and the ways out, of
// which the second is a command that runs finished code.
func Unwritten(todo todo.NotWritten, finished string) string {
	chapter := todo.Chapter()
	typed, isLab := strings.CutPrefix(chapter, "labs/")
	if !isLab {
		typed, _, _ = strings.Cut(chapter, "-") // its number
	}
	return fmt.Sprintf("chapter %s is not written yet: it needs %s (%s:%d, task %d)\n"+
		"  to write it               go tool workshop %s\n"+
		"  to run the finished code  %s",
		chapter, todo.Symbol, filepath.Base(todo.File), todo.Line, todo.Task, typed, finished)
}

// finished returns the flag or the command that runs the finished code of a chapter, for a choice of layers.
func finished(todo todo.NotWritten, choice string) string {
	switch {
	case todo.Chapter() == "labs/todays-informer": // it comes with "deltafifo=real"
		return "--layers " + strings.Replace(choice, "yours", "solutions", 1)
	case todo.Layer() == "":
		return "go run ./solutions/" + todo.Chapter() + "/cmd/" + name
	}
	return "--layers " + choice + "," + todo.Layer() + "=solutions"
}

// stopOnSignal returns a context that ends at the first SIGINT or SIGTERM. A second one ends the process at once.
func stopOnSignal(parent context.Context) context.Context {
	ctx, stop := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		klog.FromContext(ctx).Info("Stopping; a second signal ends the process at once", "signal", <-signals)
		stop()
		<-signals
		os.Exit(1)
	}()
	return ctx
}

// run runs the controller until ctx ends or a signal comes. Neither is an error.
func run(ctx context.Context, options options) error {
	config, err := loadConfig(options.kubeconfig)
	if errors.Is(err, errNoCluster) {
		// Without a log, which would appear between the lines.
		return runDemo(stopOnSignal(klog.NewContext(ctx, klog.New(nil))), options, os.Stdout)
	}
	if err != nil {
		return err
	}
	ctx = stopOnSignal(ctx)
	// Events have a client of their own, so that work never waits behind them in the rate limiter.
	events, err := newEventSink(ctx, config)
	if err != nil {
		return fmt.Errorf("making a client for Events: %w", err)
	}
	recorder, flush := startRecorder(ctx, events)
	defer flush()

	work := func(ctx context.Context) error { return keepBudgets(ctx, config, recorder, options) }
	if !options.leaderElect {
		return work(ctx)
	}
	return options.elect(ctx, config, options.leaseNamespace, name, work)
}

// keepBudgets runs the controller until ctx ends. The workers stop first, while the informers still keep their caches
// up to date, and the informers last.
func keepBudgets(ctx context.Context, config *rest.Config, recorder record.EventRecorder, options options) error {
	logger := klog.FromContext(ctx)
	logger.Info("Starting", append(options.layers.inWords(), "resync", options.resync, "namespace", options.namespace)...)

	client, err := options.layers.NewClient(config)
	if err != nil {
		return fmt.Errorf("making a client for %s: %w", config.Host, err)
	}
	informer := func(lw cache.ListerWatcher, example runtime.Object) cache.SharedIndexInformer {
		return options.layers.NewInformer(options.layers.Layers, lw, example, cache.SharedIndexInformerOptions{
			ResyncPeriod: options.resync,
			Indexers:     cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
		})
	}
	deployments := informer(client.Deployments(options.namespace), &appsv1.Deployment{})
	budgets := informer(client.Budgets(options.namespace), &policyv1.PodDisruptionBudget{})
	c, err := options.layers.NewController(logger, Config{
		Deployments:  deployments,
		Budgets:      budgets,
		Queue:        newQueue(options.layers.Layers),
		Client:       client.BudgetWriter,
		Recorder:     recorder,
		Workers:      options.workers,
		DrainTimeout: 10 * time.Second,
	})
	if err != nil {
		return err
	}
	informersCtx, stopInformers := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	defer running.Wait()
	defer stopInformers()
	running.Go(func() { deployments.RunWithContext(informersCtx) })
	running.Go(func() { budgets.RunWithContext(informersCtx) })
	c.Run(ctx)
	return nil
}

// newQueue returns a queue that doubles a failing key's delay from 5 ms up to a minute. The client-go default goes up
// to 17 minutes, long after an API server that was away is back.
func newQueue(below layers.Layers) layers.WorkQueue {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](5*time.Millisecond, time.Minute)
	return below.NewWorkQueue(limiter, layers.WorkQueueConfig{Name: name})
}
