// Command podnet is the Pod network of a node image built from source. It runs on each node, in the node's network
// namespace, and does what kindnetd does in kind's own image, without network policies and IPv6:
//
//   - it writes the CNI configuration with the node's own Pod range, once the controller manager has assigned the range
//   - it keeps a route to the Pod range of each other node, through that node's address
//   - it rewrites the source of packets that leave the Pod network, so that answers come back
//
// It lives in a module of its own, beside CoreDNS, because both share the client-go of the cluster's Kubernetes.
package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// configPath is where the container runtime looks for its network.
const configPath = "/etc/cni/net.d/10-podnet.conflist"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatalf("podnet: %v", err)
	}
}

// network is the Pod network of one node.
type network struct {
	node       string // the name of this node
	podSubnet  string // the range of all Pods
	configPath string
	command    func(ctx context.Context, name string, args ...string) error
}

// run follows the nodes with the credentials of the Pod until ctx ends, or until a node cannot be applied. Kubernetes
// then starts podnet again.
func run(ctx context.Context) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return fmt.Errorf("reading the Pod's credentials: %w", err)
	}
	// The Service of the API server needs kube-proxy, which needs no network and yet may start later.
	if endpoint := os.Getenv("CONTROL_PLANE_ENDPOINT"); endpoint != "" {
		config.Host = "https://" + endpoint
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client for %s: %w", config.Host, err)
	}
	n := network{os.Getenv("NODE_NAME"), os.Getenv("POD_SUBNET"), configPath, command}
	if err := n.masquerade(ctx); err != nil {
		return err
	}
	return n.follow(ctx, client)
}

// follow applies each node, and each change of a node. It returns the first error, or nil after the end of ctx.
func (n network) follow(ctx context.Context, client kubernetes.Interface) error {
	failed := make(chan error, 1)
	apply := func(object any) {
		if err := n.apply(ctx, object.(*corev1.Node)); err != nil {
			select {
			case failed <- err:
			default: // the first failure ends the program
			}
		}
	}
	// The resync sets routes again that were lost from outside, for instance with a link that was down.
	factory := informers.NewSharedInformerFactory(client, time.Minute)
	handler := cache.ResourceEventHandlerFuncs{AddFunc: apply, UpdateFunc: func(_, object any) { apply(object) }}
	if _, err := factory.Core().V1().Nodes().Informer().AddEventHandler(handler); err != nil {
		return fmt.Errorf("following the nodes: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	factory.Start(ctx.Done())
	defer factory.Shutdown() // it waits for the informer
	defer stop()
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return err
	}
}

// apply writes the CNI configuration if the node is this one, and sets the route to its Pods otherwise. A deleted node
// keeps its route: its range may be assigned to a new node, whose route then replaces it.
func (n network) apply(ctx context.Context, node *corev1.Node) error {
	address := internalAddress(node)
	switch {
	case node.Spec.PodCIDR == "" || address == "":
		return nil // an update follows
	case node.Name == n.node:
		return writeConfig(n.configPath, cniConfig(node.Spec.PodCIDR))
	default:
		return n.command(ctx, "ip", "route", "replace", node.Spec.PodCIDR, "via", address)
	}
}

// internalAddress returns the node's IPv4 address, or "".
func internalAddress(node *corev1.Node) string {
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP && !strings.Contains(address.Address, ":") {
			return address.Address
		}
	}
	return ""
}

// cniConfig returns a configuration that gives each Pod a cable to the node, and an address out of podCIDR.
func cniConfig(podCIDR string) []byte {
	return fmt.Appendf(nil, `{
  "cniVersion": "0.4.0",
  "name": "podnet",
  "plugins": [
    {
      "type": "ptp",
      "ipMasq": false,
      "ipam": {
        "type": "host-local",
        "dataDir": "/run/cni-ipam-state",
        "routes": [{"dst": "0.0.0.0/0"}],
        "ranges": [[{"subnet": %q}]]
      }
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`, podCIDR)
}

// writeConfig writes path in one step, because the container runtime reads it at any time. It does not write the same
// content again.
func writeConfig(path string, content []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	next := filepath.Join(filepath.Dir(path), ".next")
	if err := os.WriteFile(next, content, 0o644); err != nil {
		return fmt.Errorf("writing the CNI configuration: %w", err)
	}
	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("writing the CNI configuration: %w", err)
	}
	log.Printf("wrote %s", path)
	return nil
}

// masquerade gives packets from Pods to the outside the node's address. Packets between Pods keep theirs.
func (n network) masquerade(ctx context.Context) error {
	rule := []string{"POSTROUTING", "--source", n.podSubnet, "!", "--destination", n.podSubnet, "--jump", "MASQUERADE"}
	iptables := func(what string) error {
		return n.command(ctx, "iptables", append([]string{"--wait", "--table", "nat", what}, rule...)...)
	}
	if iptables("--check") == nil {
		return nil
	}
	return iptables("--append")
}

// command runs a program and returns an error with what the program printed.
func command(ctx context.Context, name string, args ...string) error {
	said, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("running %s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(said))
	}
	return nil
}
