package pdbapp

// This file reads the command line with the standard flag package, and finds the cluster. It has two of klog's flags,
// those that a program without log files can use: -v and -vmodule.
//
// Left out: a configuration file, and ~/.kube/config as a last resort: a program that writes should not pick the
// cluster that kubectl used last.

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

type options struct {
	kubeconfig     string
	namespace      string // "" is all of them
	workers        int
	resync         time.Duration
	leaderElect    bool
	leaseNamespace string
	choice         string // of the layers
	layers         Chosen
	elect          Elect
}

// parseOptions reads args, the command line without the program's name. It prints nothing. If args ask for help, the
// error is flag.ErrHelp, and flags can print the help.
func parseOptions(flags *flag.FlagSet, args []string, parts Parts) (options, error) {
	o := options{elect: parts.Elect}
	flags.Usage = func() {}
	logging := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(logging)
	for _, name := range []string{"v", "vmodule"} {
		f := logging.Lookup(name)
		flags.Var(f.Value, name, f.Usage)
	}
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "the kubeconfig `file` of the cluster; if empty $KUBECONFIG, "+
		"then the Pod this runs in; otherwise a demonstration on an API server of its own")
	flags.StringVar(&o.choice, "layers", defaultLayers, layersUsage(parts))
	flags.StringVar(&o.namespace, "namespace", metav1.NamespaceAll,
		"the only namespace to look after; if empty all of them")
	flags.IntVar(&o.workers, "workers", 2, "how many Deployments to work on at the same time")
	flags.DurationVar(&o.resync, "resync", 10*time.Minute,
		"how often to look at every Deployment again without an event; 0 is never")
	flags.BoolVar(&o.leaderElect, "leader-elect", parts.Elect != nil,
		"work only while holding a Lease, so that several instances can run; needs a build with -tags elect")
	flags.StringVar(&o.leaseNamespace, "lease-namespace", podNamespace(),
		"namespace of that Lease; in a Pod its own if not given")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return o, err
	} else if err != nil {
		return o, fmt.Errorf("%w; -h lists all flags", err)
	}
	var err error
	if o.layers, err = Choose(o.choice, parts); err != nil {
		return o, fmt.Errorf("--layers: %w", err)
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q: everything is given by flags, see -h", flags.Arg(0))
	case o.leaderElect && parts.Elect == nil:
		return o, errors.New("--leader-elect: this program was built without it; build it with -tags elect")
	case o.workers < 1:
		return o, fmt.Errorf("--workers=%d: at least 1 is needed", o.workers)
	case o.resync < 0:
		return o, fmt.Errorf("--resync=%s: cannot be negative; 0 turns it off", o.resync)
	}
	return o, nil
}

// loadConfig finds the cluster: the file that the flag names, otherwise the files in $KUBECONFIG, otherwise the Pod
// this runs in. Without any of them the error is errNoCluster.
func loadConfig(kubeconfig string) (*rest.Config, error) {
	config, err := findConfig(kubeconfig, os.Getenv(clientcmd.RecommendedConfigPathEnvVar))
	if err != nil {
		return nil, err
	}
	// The defaults, 5 a second and bursts of 10, are for people at a terminal. The first run over a cluster with 1000
	// Deployments would take three and a half minutes.
	config.QPS, config.Burst = 50, 100
	return rest.AddUserAgent(config, name), nil
}

// errNoCluster says that no cluster is configured. It is not a failure: the program then runs the demonstration.
var errNoCluster = errors.New("no cluster to connect to: --kubeconfig is not given, $KUBECONFIG is empty, " +
	"and this is not a Pod")

func findConfig(flagged, environment string) (*rest.Config, error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: flagged}
	source := "--kubeconfig=" + flagged
	if flagged == "" {
		rules.Precedence = filepath.SplitList(environment) // like PATH, it may name several
		source = "$KUBECONFIG (" + environment + ")"
	}
	if flagged == "" && environment == "" {
		config, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, errNoCluster
		}
		if err != nil {
			return nil, fmt.Errorf("reading this Pod's service account: %w", err)
		}
		return config, nil
	}
	// Not the deferred loader, which would use the Pod it runs in if the file is empty.
	raw, err := rules.Load()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", source, err)
	}
	config, err := clientcmd.NewDefaultClientConfig(*raw, &clientcmd.ConfigOverrides{}).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, fmt.Errorf("%s says nothing about a cluster: does the file exist, and is its current-context set?",
			source)
	}
	if err != nil {
		return nil, fmt.Errorf("using %s: %w", source, err)
	}
	return config, nil
}

// podNamespace is the namespace of the Pod this runs in, or "default".
func podNamespace() string {
	const file = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
	if content, err := os.ReadFile(file); err == nil {
		return strings.TrimSpace(string(content))
	}
	return metav1.NamespaceDefault
}
