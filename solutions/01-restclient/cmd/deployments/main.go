// Command deployments shows that the client of chapter 01 works on a real API server, over TLS, and needs only a
// kubeconfig. It creates some Deployments, lists them in pages, changes one, and deletes them again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	restclient "client-go-workshop/solutions/01-restclient"
)

func main() {
	kubeconfig := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "which API server, and who asks")
	namespace := flag.String("namespace", "default", "where to create the Deployments")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *kubeconfig, *namespace, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "deployments:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, namespace string, out io.Writer) error {
	if kubeconfig == "" {
		return errors.New("which API server? Say --kubeconfig FILE; `go tool workshop cluster up` starts one, and so does " +
			"`go run ./cmd/fakeapi`")
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	client, err := restclient.AppsV1For(config)
	if err != nil {
		return err
	}
	return show(ctx, restclient.NewDeployments(client, namespace), out)
}

// show uses each operation once. It deletes its Deployments before it returns.
func show(ctx context.Context, deployments restclient.DeploymentInterface, out io.Writer) (err error) {
	const selector = "made-by=chapter-01"
	defer func() { err = errors.Join(err, clean(deployments, selector)) }()
	for _, name := range []string{"one", "two", "three", "four", "five"} {
		created, err := deployments.Create(ctx, deployment("chapter-01-"+name), metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create %s: %w", name, err)
		}
		fmt.Fprintf(out, "created %s\n", created.Name)
	}
	opts := metav1.ListOptions{LabelSelector: selector, Limit: 2}
	for more := true; more; more = opts.Continue != "" {
		page, err := deployments.List(ctx, opts)
		if err != nil {
			return fmt.Errorf("list: %w", err)
		}
		fmt.Fprintf(out, "a page of %d\n", len(page.Items))
		opts.Continue = page.Continue
	}
	patched, err := deployments.Patch(ctx, "chapter-01-one", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`),
		metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	fmt.Fprintf(out, "%s has %d replicas\n", patched.Name, *patched.Spec.Replicas)
	_, err = deployments.Create(ctx, deployment("chapter-01-one"), metav1.CreateOptions{})
	fmt.Fprintf(out, "created twice: %v\n", err)
	if !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create what exists: %w", err)
	}
	return nil
}

// clean deletes the Deployments of show, even after Ctrl-C.
func clean(deployments restclient.DeploymentInterface, selector string) error {
	list, err := deployments.List(context.Background(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return fmt.Errorf("list what has to be deleted: %w", err)
	}
	for _, d := range list.Items {
		if err := deployments.Delete(context.Background(), d.Name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("delete %s: %w", d.Name, err)
		}
	}
	return nil
}

func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name, "made-by": "chapter-01"}
	replicas := int32(0)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.29"}}},
			},
		},
	}
}
