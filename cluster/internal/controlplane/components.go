// The command line of each program. Flags that are not here have the value
// that a production cluster starts from, admission and RBAC included.

package controlplane

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"client-go-workshop/cluster/internal/launcher"
)

// components are listed in the order in which they must start.
func (p *plan) components() []launcher.Component {
	return []launcher.Component{
		p.component("etcd", p.etcdProbe(), p.etcd()),
		p.component("kube-apiserver", p.probe(p.ports.apiServer, "/readyz?verbose"), p.apiServer()),
		p.component("kube-controller-manager", p.probe(p.ports.controllerManager, "/healthz"), p.controllerManager()),
		p.component("kube-scheduler", p.probe(p.ports.scheduler, "/readyz"), p.scheduler()),
		p.kwok(),
	}
}

func (p *plan) component(name string, probe launcher.Probe, args []string) launcher.Component {
	return launcher.Component{Name: name, Path: p.Program(name), Args: args, Env: environment(), Probe: probe}
}

// environment is all that the programs get of ours. They read variables of
// their own (ETCD_NAME, KWOK_WORKDIR, GODEBUG …), and one that is set on one
// laptop must not make its cluster differ from everybody else's.
func environment(more ...string) []string {
	var env []string
	names := []string{"HOME", "PATH", "TMPDIR"}
	if runtime.GOOS == "windows" {
		names = []string{"PATH", "SystemRoot", "TEMP", "TMP", "USERPROFILE"}
	}
	for _, name := range names {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return append(env, more...)
}

// probe asks as the admin, who may ask anything.
func (p *plan) probe(port int, path string) launcher.Probe {
	return launcher.Probe{
		URL: address(port) + path, Authority: p.PKI("ca.crt"), Certificate: p.PKI("admin.crt"), Key: p.PKI("admin.key"),
	}
}

func (p *plan) etcdProbe() launcher.Probe {
	return launcher.Probe{
		URL: address(p.ports.etcd) + "/readyz", Authority: p.PKI("etcd-ca.crt"),
		Certificate: p.PKI("etcd-client.crt"), Key: p.PKI("etcd-client.key"),
	}
}

// etcd is a single member; it opens a port for peers all the same.
func (p *plan) etcd() []string {
	client, peer := address(p.ports.etcd), address(p.ports.etcdPeer)
	return []string{
		"--name=workshop",
		"--data-dir=" + p.Etcd(),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=workshop=" + peer,
		"--client-cert-auth",
		"--trusted-ca-file=" + p.PKI("etcd-ca.crt"),
		"--cert-file=" + p.PKI("etcd.crt"),
		"--key-file=" + p.PKI("etcd.key"),
		"--peer-client-cert-auth",
		"--peer-trusted-ca-file=" + p.PKI("etcd-ca.crt"),
		"--peer-cert-file=" + p.PKI("etcd.crt"),
		"--peer-key-file=" + p.PKI("etcd.key"),
		// Not waiting for the disk makes every write of the cluster faster. What
		// is at stake is the last second of a workshop, if the machine (not
		// just etcd) goes down.
		"--unsafe-no-fsync",
	}
}

func (p *plan) apiServer() []string {
	return []string{
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", p.ports.apiServer),
		// The address that pods would reach it under. A loopback address is
		// refused as an endpoint of the `kubernetes` Service, hence none.
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--tls-cert-file=" + p.PKI("kube-apiserver.crt"),
		"--tls-private-key-file=" + p.PKI("kube-apiserver.key"),
		"--client-ca-file=" + p.PKI("ca.crt"),
		"--requestheader-client-ca-file=" + p.PKI("front-proxy-ca.crt"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--authorization-mode=Node,RBAC",
		// Of the default admission plugins all but one. It taints a new node
		// until the node lifecycle controller has seen its kubelet; here are
		// neither, and nobody would take the taint away.
		"--disable-admission-plugins=TaintNodesByCondition",
		"--etcd-servers=" + address(p.ports.etcd),
		"--etcd-cafile=" + p.PKI("etcd-ca.crt"),
		"--etcd-certfile=" + p.PKI("etcd-client.crt"),
		"--etcd-keyfile=" + p.PKI("etcd-client.key"),
		"--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + p.PKI("service-account.pub"),
		"--service-account-signing-key-file=" + p.PKI("service-account.key"),
		"--profiling=false",
	}
}

// controllers are those that the workshop's Deployments and budgets need. The
// other forty or so would only cost memory, and log what they miss here.
var controllers = []string{
	"deployment-controller",           // Deployment → ReplicaSets
	"replicaset-controller",           // ReplicaSet → pods
	"disruption-controller",           // fills in the status of PodDisruptionBudgets
	"garbage-collector-controller",    // deletes what was owned by the deleted
	"namespace-controller",            // empties a namespace that is deleted
	"serviceaccount-controller",       // a `default` service account in each namespace
	"serviceaccount-token-controller", // gives the controllers above their credentials
}

func (p *plan) controllerManager() []string {
	credentials := p.Credentials("kube-controller-manager")
	return []string{
		"--kubeconfig=" + credentials,
		"--authentication-kubeconfig=" + credentials,
		"--authorization-kubeconfig=" + credentials,
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", p.ports.controllerManager),
		"--tls-cert-file=" + p.PKI("kube-controller-manager.crt"),
		"--tls-private-key-file=" + p.PKI("kube-controller-manager.key"),
		"--client-ca-file=" + p.PKI("ca.crt"),
		"--controllers=" + strings.Join(controllers, ","),
		// Each controller acts as a service account with its own role: the API
		// server's log and the events then say who did what.
		"--use-service-account-credentials",
		"--service-account-private-key-file=" + p.PKI("service-account.key"),
		"--root-ca-file=" + p.PKI("ca.crt"),
		"--leader-elect=false", // there is no other replica to wait for
		"--profiling=false",
	}
}

func (p *plan) scheduler() []string {
	credentials := p.Credentials("kube-scheduler")
	return []string{
		"--kubeconfig=" + credentials,
		"--authentication-kubeconfig=" + credentials,
		"--authorization-kubeconfig=" + credentials,
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", p.ports.scheduler),
		"--tls-cert-file=" + p.PKI("kube-scheduler.crt"),
		"--tls-private-key-file=" + p.PKI("kube-scheduler.key"),
		"--client-ca-file=" + p.PKI("ca.crt"),
		"--leader-elect=false",
		"--profiling=false",
	}
}

// kwok listens nowhere. That it works shows in its nodes, which ready looks at.
func (p *plan) kwok() launcher.Component {
	c := p.component("kwok", launcher.Probe{}, []string{
		"--kubeconfig=" + p.Credentials("kwok"),
		"--manage-all-nodes",
		"--node-lease-duration-seconds=0", // heartbeats, that nobody here listens to
	})
	// By default it would read a configuration in the user's home. (A --config
	// flag takes a list, and so no path that has a comma in it.)
	c.Env = environment("KWOK_WORKDIR=" + p.Kwok())
	c.Prepare = p.createObjects
	return c
}
