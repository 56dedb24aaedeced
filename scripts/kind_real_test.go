package scripts

// This test is the whole way of kind: a node image from source, a cluster of three nodes, the controller in it as two
// Pods, a drain, the death of the leader, the learner's controller, and the removal of everything.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const labelOfNodes = "label=io.x-k8s.kind.cluster=client-go-workshop"

func TestReal_kind_from_source_runs_the_controller_in_Pods(t *testing.T) {
	needReal(t)
	require.Empty(t, docker(t, "ps", "--all", "--quiet", "--filter", labelOfNodes),
		"there is a cluster already, and this test would take it down: scripts/kind-down.sh")
	before := inDocker(t)
	t.Cleanup(func() {
		command(t, "scripts/kind-down.sh")
		require.Equal(t, before, inDocker(t), "scripts/kind-down.sh leaves nothing that was not there before")
		require.NoDirExists(t, "../.workshop/kind")
	})
	t.Cleanup(func() {
		if t.Failed() {
			logCluster(t)
		}
	})

	command(t, "scripts/kind-up.sh", "--from-source", "--controller")
	c := connect(t, "../.workshop/kind/kubeconfig", "pdb-controller")
	t.Logf("the cluster:\n%s", kubectl(t, "get", "nodes,pods", "--all-namespaces", "--output=wide"))

	c.requireTwoControllersOfWhichOneLeads(t)
	c.createWeb(t)
	c.requirePodsReachOtherNodes(t)
	c.requireWork(t)
	c.drainKeepsTheBudget(t)
	c.anotherTakesOver(t)

	// The learner's folder holds stubs. They end as soon as they lead.
	said, err := exec.CommandContext(t.Context(), "../scripts/kind-up.sh", "--controller=yours").CombinedOutput()
	t.Logf("scripts/kind-up.sh --controller=yours, without code:\n%s", said)
	require.Error(t, err, "the stubs cannot lead")
	require.Contains(t, string(said), "chapter 07-controller is not written yet")
	require.Regexp(t, "kind-up.sh: waiting for the controller to (run|lead): ", string(said))

	// The solution of the chapter stands in for the learner's work.
	t.Setenv("GOFLAGS", "-overlay="+solved(t, "07-controller"))
	finished := c.controllerImage(t)
	command(t, "scripts/kind-up.sh", "--controller=yours")
	require.NotEqual(t, finished, c.controllerImage(t))
	c.requireTwoControllersOfWhichOneLeads(t)
	c.requireWork(t)
}

// inDocker returns all containers, volumes and networks in Docker, and the images of controllers. It leaves out the
// network that all clusters of kind share: kind-down.sh says that it stays.
func inDocker(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{
		"containers": strings.Fields(docker(t, "ps", "--all", "--quiet")),
		"volumes":    strings.Fields(docker(t, "volume", "ls", "--quiet")),
		"networks":   strings.Fields(docker(t, "network", "ls", "--format={{.Name}}")),
		"images": strings.Fields(docker(t, "image", "ls", "--quiet",
			"--filter", "label=client-go-workshop=pdb-controller")),
	}
	all["networks"] = slices.DeleteFunc(all["networks"], func(name string) bool { return name == "kind" })
	for _, names := range all {
		slices.Sort(names)
	}
	return all
}

// logCluster logs what explains a failure: nodes, Pods, the controller's Lease, Events and logs.
func logCluster(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{
		{"get", "nodes,pods", "--all-namespaces", "--output=wide"},
		{"--namespace=pdb-controller", "get", "lease", "pdb-controller", "--output=yaml"},
		{"get", "events", "--all-namespaces", "--sort-by=.lastTimestamp"},
		{"--namespace=kube-system", "logs", "--selector=k8s-app=kube-proxy", "--prefix", "--tail=100"},
		{"--namespace=kube-system", "logs", "--selector=app=podnet", "--prefix", "--tail=50"},
		{"--namespace=pdb-controller", "logs", "--selector=app=pdb-controller", "--prefix", "--tail=50"},
		{"--namespace=pdb-controller", "logs", "--selector=app=pdb-controller", "--prefix", "--tail=50", "--previous"},
	} {
		// The test has failed already, perhaps because there is no cluster.
		said, err := exec.Command("docker", inControlPlane(args...)...).CombinedOutput()
		t.Logf("kubectl %s (%v)\n%s", strings.Join(args, " "), err, said)
	}
}

// inControlPlane returns the arguments of Docker for the kubectl in the control plane's node, as kind-up.sh uses it.
func inControlPlane(args ...string) []string {
	return append([]string{"exec", "client-go-workshop-control-plane", "kubectl",
		"--kubeconfig=/etc/kubernetes/admin.conf"}, args...)
}

func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	return docker(t, inControlPlane(args...)...)
}

// running returns the Pods of an app that are Ready and not about to end.
func (c *realCluster) running(ctx context.Context, namespace, app string) (pods []corev1.Pod, err error) {
	list, err := c.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		return nil, err
	}
	for _, pod := range list.Items {
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil {
				pods = append(pods, pod)
			}
		}
	}
	return pods, nil
}

func (c *realCluster) requireTwoControllersOfWhichOneLeads(t *testing.T) {
	t.Helper()
	eventually(t, time.Minute, "two Pods of the controller run, and one of them leads", func(ctx context.Context) error {
		pods, err := c.running(ctx, "pdb-controller", "pdb-controller")
		if err != nil {
			return err
		}
		leader := c.leader(ctx)
		var names []string
		for _, pod := range pods {
			names = append(names, pod.Name)
		}
		if len(pods) != 2 || !slices.Contains(names, leader) {
			return fmt.Errorf("the Pods %q are Ready, and the Lease names %q", names, leader)
		}
		return nil
	})
}

// createWeb creates a Deployment of three. Its image is the one that each node has: pause.
func (c *realCluster) createWeb(t *testing.T) {
	t.Helper()
	labels := map[string]string{"app": "web"}
	_, err := c.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](3),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: ptr.To[int64](1),
					Containers: []corev1.Container{{
						Name: "web", Image: "registry.k8s.io/pause:3.10", ImagePullPolicy: corev1.PullNever,
					}},
				},
			},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.requireThreeOfWeb(t)
}

// requireThreeOfWeb waits for the three Pods of the Deployment web, and returns them.
func (c *realCluster) requireThreeOfWeb(t *testing.T) (pods []corev1.Pod) {
	t.Helper()
	eventually(t, 2*time.Minute, "three Pods of web run", func(ctx context.Context) (err error) {
		if pods, err = c.running(ctx, "default", "web"); err == nil && len(pods) != 3 {
			err = fmt.Errorf("%d are Ready", len(pods))
		}
		return err
	})
	return pods
}

// requirePodsReachOtherNodes requires that a Pod of web reaches CoreDNS on the node of the control plane: each of its
// Pods, by the routes of podnet, and its Service, by kube-proxy. The image of web has no program for this, so a program
// of the node connects from the network namespace of the Pod.
func (c *realCluster) requirePodsReachOtherNodes(t *testing.T) {
	t.Helper()
	web := c.requireThreeOfWeb(t)[0]
	process := docker(t, "exec", web.Spec.NodeName, "sh", "-c",
		`ctr --namespace=k8s.io task ls 2>/dev/null | awk -v id="$0" '$1 == id {print $2}'`, containerID(web))
	require.Regexp(t, `^\d+$`, process, "the process of the Pod %s", web.Name)

	dns, err := c.CoreV1().Services("kube-system").Get(t.Context(), "kube-dns", metav1.GetOptions{})
	require.NoError(t, err)
	pods, err := c.CoreV1().Pods("kube-system").List(t.Context(), metav1.ListOptions{LabelSelector: "k8s-app=kube-dns"})
	require.NoError(t, err)
	addresses := map[string]string{"the Service kube-dns": dns.Spec.ClusterIP}
	for _, pod := range pods.Items {
		if pod.Spec.NodeName != web.Spec.NodeName {
			addresses["the Pod "+pod.Name] = pod.Status.PodIP
		}
	}
	require.GreaterOrEqual(t, len(addresses), 2, "a Pod of CoreDNS on another node than %s", web.Spec.NodeName)
	for name, address := range addresses {
		eventually(t, 30*time.Second, web.Name+" reaches "+name, func(ctx context.Context) error {
			said, err := exec.CommandContext(ctx, "docker", "exec", web.Spec.NodeName,
				"nsenter", "--target", process, "--net", "timeout", "5", "bash", "-c",
				`exec 3<>"/dev/tcp/$0/9153" && printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3 && head -n 1 <&3`, address).
				CombinedOutput()
			if !strings.HasPrefix(string(said), "HTTP/1.0 200 OK") {
				return fmt.Errorf("%s answers %q (%v)", address, said, err)
			}
			return nil
		})
	}
}

// containerID returns the name of a Pod's first container in containerd.
func containerID(pod corev1.Pod) string {
	return strings.TrimPrefix(pod.Status.ContainerStatuses[0].ContainerID, "containerd://")
}

// drainKeepsTheBudget drains the node with the most Pods of web. The budget allows one eviction at a time, so at each
// moment two of the three Pods are left.
func (c *realCluster) drainKeepsTheBudget(t *testing.T) {
	t.Helper()
	on := map[string]int{}
	node := ""
	for _, pod := range c.requireThreeOfWeb(t) {
		on[pod.Spec.NodeName]++
		if on[pod.Spec.NodeName] > on[node] {
			node = pod.Spec.NodeName
		}
	}
	require.GreaterOrEqual(t, on[node], 2, "three Pods on two workers")

	least := 3
	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(50 * time.Millisecond):
				if pods, err := c.running(t.Context(), "default", "web"); err == nil {
					least = min(least, len(pods))
				}
			}
		}
	})
	said := kubectl(t, "drain", node, "--ignore-daemonsets", "--timeout=3m")
	close(ended)
	watching.Wait()

	t.Logf("kubectl drain %s\n%s", node, said)
	require.Contains(t, said, "Cannot evict pod as it would violate the pod's disruption budget")
	require.Len(t, regexp.MustCompile(`(?m)^pod/web-\S+ evicted`).FindAllString(said, -1), on[node])
	require.Equal(t, 2, least, "the budget of three Pods is two")
	kubectl(t, "uncordon", node)
	c.requireThreeOfWeb(t)
	c.requireTwoControllersOfWhichOneLeads(t)
}

// anotherTakesOver kills the leader by SIGKILL, so it cannot give its Lease back, and the Lease has to expire. It also
// removes the Pod, because the kubelet would start the leader again.
func (c *realCluster) anotherTakesOver(t *testing.T) {
	t.Helper()
	dead := c.leader(t.Context())
	pod, err := c.CoreV1().Pods("pdb-controller").Get(t.Context(), dead, metav1.GetOptions{})
	require.NoError(t, err)
	killed := time.Now()
	docker(t, "exec", pod.Spec.NodeName,
		"ctr", "--namespace=k8s.io", "task", "kill", "--signal=SIGKILL", containerID(*pod))
	kubectl(t, "--namespace=pdb-controller", "delete", "pod", dead, "--grace-period=0", "--force")
	c.requireLeader(t, time.Minute, dead)
	require.Greater(t, time.Since(killed), 8*time.Second, "the dead leader gave its Lease of 15 s back")
	c.requireTwoControllersOfWhichOneLeads(t)
	c.requireWork(t)
}

func (c *realCluster) controllerImage(t *testing.T) string {
	t.Helper()
	deployment, err := c.AppsV1().Deployments("pdb-controller").Get(t.Context(), "pdb-controller", metav1.GetOptions{})
	require.NoError(t, err)
	return deployment.Spec.Template.Spec.Containers[0].Image
}

// solved writes an overlay for the go command, in which a chapter's files are those of its solution.
func solved(t *testing.T, chapter string) (overlay string) {
	t.Helper()
	replace := map[string]string{}
	files, err := filepath.Glob(filepath.Join("..", "solutions", chapter, "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		file, err := filepath.Abs(file)
		require.NoError(t, err)
		replace[filepath.Join(filepath.Dir(file), "..", "..", chapter, filepath.Base(file))] = file
	}
	content, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	overlay = filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(overlay, content, 0o644))
	return overlay
}
