// Command deployments is the first demo of most articles on informers: a factory, its informer of Deployments with a
// handler, its lister, and a resync every minute. It runs until Ctrl-C.
//
//	go run ./labs/programs/deployments --kubeconfig FILE
//
// Everything in it is client-go: the factory makes the informer of chapter 07, on the layers of chapters 01 to 05.
//
// What it leaves out: a workqueue. A handler that does more than print has one.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	kubeconfig := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "the `file` that names the server and the user")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err == nil {
		var client kubernetes.Interface
		if client, err = kubernetes.NewForConfig(config); err == nil {
			err = run(ctx, client, os.Stdout)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "deployments:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, client kubernetes.Interface, out io.Writer) error {
	factory := informers.NewSharedInformerFactory(client, time.Minute)
	deployments := factory.Apps().V1().Deployments()
	// The factory starts an informer only if it was requested before: Informer and Lister request it.
	lister := deployments.Lister()
	registration, err := deployments.Informer().AddEventHandler(printer{out})
	if err != nil {
		return fmt.Errorf("add the event handler: %w", err)
	}

	factory.StartWithContext(ctx)
	defer factory.Shutdown() // waits until the informer and the handler have ended
	// The registration, not the informer: the cache can be complete before the handler has received all of it.
	if !cache.WaitFor(ctx, "", registration.HasSyncedChecker()) {
		return context.Cause(ctx)
	}

	found, err := lister.Deployments("default").List(labels.Everything()) // from the cache, without a request
	if err != nil {
		return fmt.Errorf("list the Deployments in the cache: %w", err)
	}
	for _, deployment := range found { // in any order
		fmt.Fprintf(out, "lister   %s\n", text(deployment))
	}
	<-ctx.Done()
	return nil
}

// printer is an event handler. Its objects belong to the cache, so it only reads them.
type printer struct{ io.Writer }

func (out printer) OnAdd(obj any, isInInitialList bool) {
	fmt.Fprintf(out, "OnAdd    %s, in the first list: %t\n", text(obj), isInInitialList)
}

func (out printer) OnUpdate(old, new any) {
	if old.(*appsv1.Deployment).ResourceVersion == new.(*appsv1.Deployment).ResourceVersion {
		fmt.Fprintf(out, "OnUpdate %s: nothing has changed, this is a resync\n", text(new))
		return
	}
	fmt.Fprintf(out, "OnUpdate %s, before: %s\n", text(new), text(old))
}

func (out printer) OnDelete(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok { // the watch missed the deletion
		obj = tombstone.Obj
	}
	fmt.Fprintf(out, "OnDelete %s\n", text(obj))
}

func text(obj any) string {
	deployment := obj.(*appsv1.Deployment)
	return fmt.Sprintf("%s/%s with %d replicas", deployment.Namespace, deployment.Name, *deployment.Spec.Replicas)
}
