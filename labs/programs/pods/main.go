// Command pods runs an informer of the Pods of one namespace. So it needs a Role in that namespace, and no ClusterRole.
// It runs until Ctrl-C.
//
//	go run ./labs/programs/pods --kubeconfig FILE --namespace default
//
// Everything in it is client-go. The namespace is a part of the path of each request: see chapter 02, ListWatch.
//
// What it leaves out: several namespaces. Each needs a factory of its own.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	kubeconfig := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "the `file` that names the server and the user")
	namespace := flag.String("namespace", "default", "the namespace of the Pods")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err == nil {
		var client kubernetes.Interface
		if client, err = kubernetes.NewForConfig(config); err == nil {
			err = run(ctx, client, *namespace, os.Stdout)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pods:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, client kubernetes.Interface, namespace string, out io.Writer) error {
	// Period 0: no resyncs.
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	registration, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			pod := obj.(*corev1.Pod)
			fmt.Fprintf(out, "added   %s, %s\n", pod.Name, pod.Status.Phase)
		},
		UpdateFunc: func(old, new any) {
			// A Pod changes several times before it runs: its node, its conditions, its addresses.
			if before, pod := old.(*corev1.Pod), new.(*corev1.Pod); before.Status.Phase != pod.Status.Phase {
				fmt.Fprintf(out, "changed %s, from %s to %s\n", pod.Name, before.Status.Phase, pod.Status.Phase)
			}
		},
		DeleteFunc: func(obj any) {
			key, err := cache.DeletionHandlingObjectToName(obj) // of a Pod or of a tombstone
			if err == nil {
				fmt.Fprintf(out, "deleted %s\n", key.Name)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("add the event handler: %w", err)
	}
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	if !cache.WaitFor(ctx, "", registration.HasSyncedChecker()) {
		return context.Cause(ctx)
	}
	fmt.Fprintf(out, "The cache has all Pods of namespace %s.\n", namespace)
	<-ctx.Done()
	return nil
}
