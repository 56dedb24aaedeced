package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// programs records the commands that podnet runs, and fails those that contain failing.
type programs struct {
	mu      sync.Mutex
	ran     []string
	failing string
}

func (p *programs) command(_ context.Context, name string, args ...string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := strings.Join(append([]string{name}, args...), " ")
	p.ran = append(p.ran, line)
	if p.failing != "" && strings.Contains(line, p.failing) {
		return errors.New("cannot run " + line)
	}
	return nil
}

func (p *programs) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.ran)
}

func testNetwork(t *testing.T) (network, *programs) {
	t.Helper()
	p := &programs{}
	return network{"worker", "10.244.0.0/16", filepath.Join(t.TempDir(), "10-podnet.conflist"), p.command}, p
}

// node returns a node. A range or an address that is "" is not assigned yet.
func node(name, podCIDR string, addresses ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDR: podCIDR}}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}}
	for _, a := range addresses {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
	}
	return n
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s:\n%s\nwant:\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// await waits until the condition holds. The informer runs in goroutines of its own.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

func TestApply_sets_a_route_to_each_other_node(t *testing.T) {
	n, p := testNetwork(t)
	for _, other := range []*corev1.Node{
		node("control-plane", "10.244.0.0/24", "fc00::2", "172.18.0.2"),
		node("no-range-yet", "", "172.18.0.4"),
		node("no-address-yet", "10.244.3.0/24"),
		node("only-IPv6", "10.244.4.0/24", "fc00::5"),
	} {
		if err := n.apply(t.Context(), other); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "commands", p.all(), []string{"ip route replace 10.244.0.0/24 via 172.18.0.2"})
	if _, err := os.Stat(n.configPath); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("only the own node has a range for the CNI configuration: %v", err)
	}
}

func TestApply_writes_the_range_of_this_node_for_the_container_runtime(t *testing.T) {
	n, p := testNetwork(t)
	for _, podCIDR := range []string{"10.244.1.0/24", "10.244.7.0/24"} {
		if err := n.apply(t.Context(), node("worker", podCIDR, "172.18.0.3")); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(n.configPath)
		if err != nil {
			t.Fatal(err)
		}
		var config struct {
			Plugins []struct {
				Type string `json:"type"`
				IPAM struct {
					Ranges [][]struct {
						Subnet string `json:"subnet"`
					} `json:"ranges"`
				} `json:"ipam"`
			} `json:"plugins"`
		}
		if err := json.Unmarshal(content, &config); err != nil {
			t.Fatalf("%v in\n%s", err, content)
		}
		if got := config.Plugins[0].IPAM.Ranges[0][0].Subnet; got != podCIDR {
			t.Fatalf("the Pods of this node get addresses of %s, want %s", got, podCIDR)
		}
		var plugins []string
		for _, plugin := range config.Plugins {
			plugins = append(plugins, plugin.Type)
		}
		equal(t, "plugins", plugins, []string{"ptp", "portmap"}) // the Dockerfile copies them
	}
	equal(t, "commands", p.all(), nil)
	files, err := os.ReadDir(filepath.Dir(n.configPath))
	if err != nil || len(files) != 1 {
		t.Fatalf("the folder has %v, want the configuration alone; %v", files, err)
	}
}

// The container runtime loads the network again after each change of the file.
func TestApply_does_not_write_the_same_configuration_again(t *testing.T) {
	n, _ := testNetwork(t)
	self := node("worker", "10.244.1.0/24", "172.18.0.3")
	if err := n.apply(t.Context(), self); err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := os.Chtimes(n.configPath, past, past); err != nil {
		t.Fatal(err)
	}
	if err := n.apply(t.Context(), self); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(n.configPath); err != nil || !info.ModTime().Equal(past) {
		t.Fatalf("written at %v, want %v; %v", info.ModTime(), past, err)
	}
}

func TestMasquerade_adds_the_rule_once(t *testing.T) {
	const rule = " POSTROUTING --source 10.244.0.0/16 ! --destination 10.244.0.0/16 --jump MASQUERADE"
	n, p := testNetwork(t)
	if err := n.masquerade(t.Context()); err != nil {
		t.Fatal(err)
	}
	equal(t, "with the rule", p.all(), []string{"iptables --wait --table nat --check" + rule})

	n, p = testNetwork(t)
	p.failing = "--check"
	if err := n.masquerade(t.Context()); err != nil {
		t.Fatal(err)
	}
	equal(t, "without the rule", p.all(),
		[]string{"iptables --wait --table nat --check" + rule, "iptables --wait --table nat --append" + rule})

	p.failing = "nat"
	if err := n.masquerade(t.Context()); err == nil {
		t.Fatal("iptables fails, and masquerade returns no error")
	}
}

func TestFollow_applies_nodes_as_they_come_and_change(t *testing.T) {
	n, p := testNetwork(t)
	client := fake.NewClientset(node("control-plane", "10.244.0.0/24", "172.18.0.2"), node("worker", "", "172.18.0.3"))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.follow(ctx, client) }()
	routes := func(want ...string) func() bool { return func() bool { return slices.Equal(p.all(), want) } }
	await(t, "a route to the node that was there", routes("ip route replace 10.244.0.0/24 via 172.18.0.2"))

	nodes := client.CoreV1().Nodes()
	if _, err := nodes.Update(ctx, node("worker", "10.244.1.0/24", "172.18.0.3"), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "a configuration with the range that was assigned", func() bool {
		content, err := os.ReadFile(n.configPath)
		return err == nil && strings.Contains(string(content), `"10.244.1.0/24"`)
	})
	// Docker gave the node another address when it started again.
	moved := node("control-plane", "10.244.0.0/24", "172.18.0.9")
	if _, err := nodes.Update(ctx, moved, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "a route to the new address", routes("ip route replace 10.244.0.0/24 via 172.18.0.2",
		"ip route replace 10.244.0.0/24 via 172.18.0.9"))
	stop()
	if err := <-ended; err != nil {
		t.Fatalf("follow ends with ctx, and returned %v", err)
	}
}

// Kubernetes starts podnet again, and it tries all nodes again.
func TestFollow_ends_when_a_route_cannot_be_set(t *testing.T) {
	n, p := testNetwork(t)
	p.failing = "ip route"
	ended := make(chan error, 1)
	go func() {
		ended <- n.follow(t.Context(), fake.NewClientset(node("control-plane", "10.244.0.0/24", "172.18.0.2")))
	}()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "via 172.18.0.2") {
			t.Fatalf("follow returned %v, want the error of the command", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("follow has not returned within 30 s")
	}
}

func TestCommand_returns_what_the_program_printed(t *testing.T) {
	err := command(t.Context(), "sh", "-c", "echo RTNETLINK answers: File exists >&2; exit 2")
	if err == nil || !strings.Contains(err.Error(), "exit status 2: RTNETLINK answers: File exists") {
		t.Fatalf("command returned %v", err)
	}
}
