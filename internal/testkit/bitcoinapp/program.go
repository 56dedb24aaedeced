// Package bitcoinapp is the program around the controller of the lab custom-resource: flags, signals, informers and a
// queue. Two programs use it, the learner's in labs/custom-resource/cmd/bitcoin-controller and the finished one in
// solutions. They differ in the resource and the controller that they pass to Main.
//
// Left out: leader election and Events, which pdbapp has, a health endpoint, and metrics.
//
// Exit codes: 0 after SIGINT or SIGTERM, 1 after an error, 2 for wrong flags.
package bitcoinapp

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/testkit/layers"
)

const name = "bitcoin-controller"

// Parts are the differences between the two programs.
type Parts struct {
	Resource    schema.GroupVersionResource
	AddToScheme func(scheme *runtime.Scheme) error
	Example     runtime.Object // an empty network
	Manifest    func() string
	NewInformer layers.NewInformer
	// Sets are the sets of layers to choose from. The first choice is solutions.
	Sets map[string]layers.Layers
	// Run makes the controller and runs it until ctx ends.
	Run func(ctx context.Context, setup Setup) error
}

// Setup is what the controller is made from.
type Setup struct {
	Networks, Deployments               cache.SharedIndexInformer
	NetworkResource, DeploymentResource layers.Resource
	Queue                               layers.WorkQueue
	RegistryDir                         string
	Workers                             int
}

type options struct {
	kubeconfig, layers, registry string
	workers                      int
	printDefinition              bool
}

// Main is the program. It does not return.
func Main(parts Parts) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, os.Args[1:], os.Stdout, parts)
	stop()
	klog.Flush()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	}
	os.Exit(code)
}

// run runs the program until ctx ends, and returns its exit code.
func run(ctx context.Context, args []string, out io.Writer, parts Parts) (code int, err error) {
	var o options
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	klog.InitFlags(flags)
	flags.StringVar(&o.kubeconfig, "kubeconfig", os.Getenv(clientcmd.RecommendedConfigPathEnvVar),
		"the kubeconfig `file` of the cluster; if empty, the Pod this runs in")
	flags.StringVar(&o.layers, "layers", "solutions", "the set of `layers` to run on; LAYER=SET after a comma is for one")
	flags.StringVar(&o.registry, "registry", "", "the `folder` of the registry, which must exist")
	flags.IntVar(&o.workers, "workers", 2, "how many networks to work on at the same time")
	flags.BoolVar(&o.printDefinition, "print-crd", false, "print the CustomResourceDefinition, for kubectl apply -f -")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(out)
		flags.PrintDefaults()
		return 0, nil
	case err != nil:
		return 2, fmt.Errorf("%w; -h lists all flags", err)
	case flags.NArg() > 0:
		return 2, fmt.Errorf("unexpected argument %q: everything is given by flags, see -h", flags.Arg(0))
	case o.printDefinition:
		_, err := io.WriteString(out, parts.Manifest())
		return 0, err
	}
	if stat, err := os.Stat(o.registry); err != nil || !stat.IsDir() {
		return 2, fmt.Errorf("--registry=%s: it must be a folder that exists", o.registry)
	}
	below, err := layers.Choose(o.layers, parts.Sets)
	if err != nil {
		return 2, fmt.Errorf("--layers: %w", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return 1, fmt.Errorf("finding the cluster: %w", err)
	}
	config.QPS, config.Burst = 50, 100
	if err := keepNetworks(ctx, rest.AddUserAgent(config, name), below, o, parts); err != nil {
		return 1, err
	}
	return 0, nil
}

// keepNetworks runs the controller until ctx ends. The informers stop last.
func keepNetworks(ctx context.Context, config *rest.Config, below layers.Layers, o options, parts Parts) error {
	client, err := below.NewClient(config)
	if err != nil {
		return fmt.Errorf("making a client for %s: %w", config.Host, err)
	}
	scheme := runtime.NewScheme()
	if err := parts.AddToScheme(scheme); err != nil {
		return fmt.Errorf("adding the types of %s to a scheme: %w", parts.Resource.GroupVersion(), err)
	}
	metav1.AddToGroupVersion(scheme, metav1.Unversioned)
	networks, err := client.Resource(parts.Resource, scheme)
	if err != nil {
		return err
	}
	deployments, err := client.Resource(appsv1.SchemeGroupVersion.WithResource("deployments"), layers.Scheme)
	if err != nil {
		return err
	}
	informer := func(r layers.Resource, example runtime.Object) cache.SharedIndexInformer {
		return parts.NewInformer(below, r.ListerWatcher(metav1.NamespaceAll), example, cache.SharedIndexInformerOptions{
			ResyncPeriod: 10 * time.Minute,
			Indexers:     cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
		})
	}
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](5*time.Millisecond, time.Minute)
	setup := Setup{
		Networks: informer(networks, parts.Example), Deployments: informer(deployments, &appsv1.Deployment{}),
		NetworkResource: networks, DeploymentResource: deployments,
		Queue:       below.NewWorkQueue(limiter, layers.WorkQueueConfig{Name: name}),
		RegistryDir: o.registry, Workers: o.workers,
	}
	klog.FromContext(ctx).Info("Starting", "layers", strings.Join(strings.Fields(fmt.Sprint(below.From)), " "))
	informersCtx, stopInformers := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	defer running.Wait()
	defer stopInformers()
	running.Go(func() { setup.Networks.RunWithContext(informersCtx) })
	running.Go(func() { setup.Deployments.RunWithContext(informersCtx) })
	return parts.Run(ctx, setup)
}
