package main

// This file measures the CPU time of the proxy, as a process, beside that of a proxy that changes nothing. Both carry
// the same work with TLS and HTTP/2 on the side of the clients: informers of 2,000 Deployments, each of which changes
// five times a round. A watch lives for minutes and carries changes, so the objects of its start must not be half of
// them.
//
//	go test -v ./labs/solutions/rewriting-proxy/cmd/proxy -run CPU -stress 1m
//	go test -v ./labs/solutions/rewriting-proxy/cmd/proxy -run CPU -stress 1m -kubeconfig FILE

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/realapi"
	"client-go-workshop/internal/testkit/stress"
)

const (
	deployments = 2000
	informers   = 5
	changes     = 5 // of each Deployment
	// most is how much more CPU the proxy may use.
	most = 1.10
)

// TestCPU takes turns between the two proxies, so that both meet the same load of the machine.
func TestCPU_of_2000_Deployments(t *testing.T) {
	length := stress.For(t)
	program := filepath.Join(t.TempDir(), "proxy")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	config, _ := realapi.Server(t, fakeapi.Start)
	config.QPS = -1
	client, err := typedappsv1.NewForConfig(config)
	require.NoError(t, err)
	all := client.Deployments("default")
	create(t, all)
	cpu := map[bool]time.Duration{}
	began := time.Now()
	for round := 0; round < 2 || time.Since(began) < length; round++ {
		for _, pass := range []bool{round%2 == 0, round%2 != 0} {
			used := carry(t, program, config, all, pass, fmt.Sprint(round, pass))
			cpu[pass] += used
			t.Logf("round %d, changes nothing: %v, CPU %v", round, pass, used)
		}
	}
	more := float64(cpu[false]) / float64(cpu[true])
	t.Logf("the proxy used %v of CPU, one that changes nothing %v: %.2f times as much", cpu[false], cpu[true], more)
	require.LessOrEqual(t, more, most)
}

func create(t *testing.T, all typedappsv1.DeploymentInterface) {
	ctx := context.Background()
	forEach(t, func(name string) error {
		_, err := all.Create(ctx, realapi.Deployment(name, "cpu", 0), metav1.CreateOptions{})
		return err
	})
	t.Cleanup(func() {
		all.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "made-by=cpu"})
	})
}

// forEach calls a function for the name of each Deployment, sixteen at a time.
func forEach(t *testing.T, do func(name string) error) {
	var next atomic.Int64
	var working sync.WaitGroup
	failed := make(chan error, deployments)
	for range 16 {
		working.Go(func() {
			for i := next.Add(1); i <= deployments; i = next.Add(1) {
				if err := do(fmt.Sprint("cpu-", i)); err != nil {
					failed <- err
				}
			}
		})
	}
	working.Wait()
	close(failed)
	require.NoError(t, <-failed)
}

// carry runs a proxy while informers behind it receive the changes of each Deployment. It returns the CPU time of the
// proxy.
func carry(t *testing.T, program string, config *rest.Config, all typedappsv1.DeploymentInterface, pass bool,
	round string) time.Duration {
	dir := t.TempDir()
	upstream, clients := filepath.Join(dir, "upstream"), filepath.Join(dir, "clients")
	require.NoError(t, clientcmd.WriteToFile(*kubeconfigOf(config), upstream))
	proxy := exec.Command(program, "--kubeconfig", upstream, "--clients", clients, fmt.Sprint("--pass=", pass))
	proxy.Stderr = os.Stderr
	require.NoError(t, proxy.Start())
	defer proxy.Process.Kill()
	var behind *rest.Config
	require.Eventually(t, func() (ok bool) { // the file may be there and not complete
		var err error
		behind, err = clientcmd.BuildConfigFromFlags("", clients)
		return err == nil
	}, time.Minute, 10*time.Millisecond, "the proxy has written a kubeconfig")
	behind.ContentType, behind.QPS = "application/json", -1

	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	var updated atomic.Int64
	for range informers {
		informer := newInformer(t, behind, &updated, round)
		running.Go(func() { informer.RunWithContext(ctx) })
		require.True(t, cache.WaitForCacheSync(ctx.Done(), informer.HasSynced))
	}
	for change := range changes {
		forEach(t, func(name string) error {
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"change":"%s %d"}}}`, round, change)
			if change == changes-1 { // which the informers count
				patch = fmt.Appendf(nil, `{"metadata":{"annotations":{"round":"%s"}}}`, round)
			}
			_, err := all.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
			return err
		})
	}
	complete := func() bool { return updated.Load() >= deployments*informers }
	require.Eventually(t, complete, 2*time.Minute, 10*time.Millisecond, "the informers have every change")
	cancel()
	running.Wait()
	require.NoError(t, proxy.Process.Signal(os.Interrupt))
	require.NoError(t, proxy.Wait())
	return proxy.ProcessState.UserTime() + proxy.ProcessState.SystemTime()
}

// newInformer returns an informer that counts the changes of a round.
func newInformer(t *testing.T, behind *rest.Config, updated *atomic.Int64, round string) cache.SharedIndexInformer {
	client, err := typedappsv1.NewForConfig(behind)
	require.NoError(t, err)
	all := client.Deployments("default")
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return all.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return all.Watch(ctx, o)
		},
	}, &appsv1.Deployment{}, 0, nil)
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, new any) {
		if old.(*appsv1.Deployment).Annotations["round"] != round && new.(*appsv1.Deployment).Annotations["round"] == round {
			updated.Add(1)
		}
	}})
	require.NoError(t, err)
	return informer
}

// kubeconfigOf returns a kubeconfig with what config says.
func kubeconfigOf(config *rest.Config) *clientcmdapi.Config {
	c := clientcmdapi.NewConfig()
	c.Clusters["upstream"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData,
		CertificateAuthority: config.CAFile}
	c.AuthInfos["upstream"] = &clientcmdapi.AuthInfo{
		Token: config.BearerToken, ClientCertificateData: config.CertData, ClientKeyData: config.KeyData,
		ClientCertificate: config.CertFile, ClientKey: config.KeyFile,
	}
	c.Contexts["upstream"] = &clientcmdapi.Context{Cluster: "upstream", AuthInfo: "upstream"}
	c.CurrentContext = "upstream"
	return c
}
