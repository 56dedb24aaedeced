// Package realapi lets a test run on a real kube-apiserver instead of package fakeapi. It has the flags for that:
//
//	go test ./solutions/03-reflector -run Real -kubeconfig FILE -compact 'go tool workshop cluster compact'
//
// A test binary that imports this package accepts both flags. The package does not import fakeapi, because fakeapi's
// own tests use it too.
package realapi

import (
	"flag"
	"fmt"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var (
	kubeconfig = flag.String("kubeconfig", "",
		"the kubeconfig `file` of a real API server, to use instead of the fake one")
	compactor = flag.String("compact", "",
		"the shell `command` that makes the real API server forget its history and restart")
)

// Given reports whether the command line names a real API server.
func Given() bool { return *kubeconfig != "" }

// Config returns how to reach the real API server. It fails the test if the kubeconfig cannot be used.
func Config(t testing.TB) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	require.NoError(t, err)
	return config
}

// Compact runs the command of -compact: the real API server forgets its history, and restarts.
func Compact() error {
	if *compactor == "" {
		return fmt.Errorf("compact the history of the real API server: -compact does not name a command")
	}
	if out, err := exec.Command("sh", "-c", *compactor).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", *compactor, err, out)
	}
	return nil
}

// fake is a server in this process: *fakeapi.Server.
type fake interface {
	Listen(address string) (url string, err error)
	Restart()
}

// Server returns how to reach an API server: the real one if the command line names it, otherwise one that start makes,
// on a socket. The function restart makes the server forget its history and break all connections.
func Server[F fake](t testing.TB, start func(testing.TB) F) (config *rest.Config, restart func()) {
	t.Helper()
	if Given() {
		return Config(t), func() { require.NoError(t, Compact()) }
	}
	api := start(t)
	url, err := api.Listen("127.0.0.1:0")
	require.NoError(t, err)
	return &rest.Config{Host: url}, api.Restart
}

// Deployment returns a Deployment with the label made-by. Its namespace is empty: the client fills it in.
func Deployment(name, madeBy string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"made-by": madeBy}}}
	d.Spec.Replicas = &replicas
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "nginx:1.29"}}
	return d
}
