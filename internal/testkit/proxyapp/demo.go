package proxyapp

// This file demonstrates the proxy without a cluster: an API server in the process, the proxy in front of it over TLS,
// and client-go's informer behind the proxy.

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/fakeapi"
)

const (
	hide = "example.com/hidden"
	// quiet is how long the demonstration waits for a call of the handler that must not come.
	quiet = 300 * time.Millisecond
	late  = 30 * time.Second
)

// demo runs the demonstration. An error says which call of the handler has not come.
func demo(ctx context.Context, newProxy NewProxy, out io.Writer) error {
	api := fakeapi.New()
	defer api.Close()
	url, err := api.Listen("127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("start an API server: %w", err)
	}
	handler, err := inFrontOf(&rest.Config{Host: url}, newProxy, 3, hide)
	if err != nil {
		return err
	}
	s, err := listen("127.0.0.1:0", handler)
	if err != nil {
		return err
	}
	defer s.http.Close()
	client, err := typedappsv1.NewForConfig(s.config())
	if err != nil {
		return fmt.Errorf("make a client of the proxy: %w", err)
	}
	fmt.Fprintf(out, "An API server, a proxy that multiplies replicas by 3 and hides %s,\n"+
		"and client-go's informer behind the proxy, all in this process.\n\n%-34s %-12s %s\n",
		hide, "what happens", "stored", "the informer's handler")

	ctx, stop := context.WithCancel(ctx)
	calls := make(chan string, 100)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	lw := cache.NewListWatchFromClient(client.RESTClient(), "deployments", "", fields.Everything())
	informer := cache.NewSharedIndexInformer(lw, &appsv1.Deployment{}, 0, nil)
	if _, err := informer.AddEventHandler(noting(calls)); err != nil {
		return err
	}
	running.Go(func() { informer.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return ctx.Err()
	}
	for _, step := range steps(ctx, api, client.Deployments("default")) {
		said := step.do()
		call := next(calls, step.silent)
		if call == "" && !step.silent {
			return fmt.Errorf("%s: the informer's handler was not called within %v", step.what, late)
		}
		if call == "" {
			call = cmp.Or(said, "nothing")
		}
		fmt.Fprintf(out, "%-34s %-12s %s\n", step.what, stored(api), call)
	}
	return nil
}

// step is one change, and whether the informer must not notice it. The function returns the error of a client.
type step struct {
	what   string
	silent bool
	do     func() string
}

func steps(ctx context.Context, api *fakeapi.Server, client typedappsv1.DeploymentInterface) []step {
	store := func(do func(...fakeapi.Object), replicas int32, labels map[string]string) func() string {
		return func() string {
			d := fakeapi.Deployment("web", replicas)
			d.Labels = labels
			do(d)
			return ""
		}
	}
	scale := func(replicas int) func() string {
		return func() string {
			patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
			if _, err := client.Patch(ctx, "web", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				return "nothing; the client gets an error: " + string(apierrors.ReasonForError(err))
			}
			return ""
		}
	}
	hidden := map[string]string{hide: "true"}
	return []step{
		{"web is created", false, store(api.Create, 1, nil)},
		{"a client behind the proxy sends 6", false, scale(6)},
		{"a client behind the proxy sends 7", true, scale(7)},
		{"web gets the label", false, store(api.Update, 2, hidden)},
		{"web is scaled", true, store(api.Update, 4, hidden)},
		{"web loses the label", false, store(api.Update, 4, nil)},
	}
}

// noting returns a handler that sends its calls as text.
func noting(calls chan<- string) cache.ResourceEventHandler {
	note := func(what string, obj any) {
		d := obj.(*appsv1.Deployment)
		calls <- fmt.Sprintf("%s %s, replicas %d", what, d.Name, *d.Spec.Replicas)
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { note("OnAdd", obj) },
		UpdateFunc: func(_, obj any) { note("OnUpdate", obj) },
		DeleteFunc: func(any) { calls <- "OnDelete web" },
	}
}

// next returns the next call, or "" if none comes.
func next(calls <-chan string, silent bool) string {
	patience := late
	if silent {
		patience = quiet
	}
	select {
	case call := <-calls:
		return call
	case <-time.After(patience):
		return ""
	}
}

// stored returns the stored number of replicas.
func stored(api *fakeapi.Server) string {
	return fmt.Sprint("replicas ", *api.Objects("deployments")[0].(*appsv1.Deployment).Spec.Replicas)
}
