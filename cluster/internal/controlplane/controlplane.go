// Package controlplane knows what a Kubernetes control plane consists of:
// which programs, with which flags, on which ports, with whose credentials.
//
//	controlplane.go   the plan: everything below, put together
//	ports.go          free ports on the loopback address
//	credentials.go    authorities, certificates, kubeconfigs
//	components.go     the command line of each program
//	kwok.yaml         what the simulated nodes and pods do
//	objects.go        the objects that must exist before anybody comes
//
//	    kubectl, controllers
//	            │ HTTPS, client certificates
//	            ▼
//	     kube-apiserver ──────► etcd
//	       ▲    ▲     ▲
//	       │    │     └── kwok                      plays the kubelets
//	       │    └──────── kube-scheduler            gives each pod a node
//	       └───────────── kube-controller-manager   Deployment → ReplicaSet → pods
//
// Left out: a network and a container runtime, so no pod runs anything and no
// Service forwards anything; kube-proxy, DNS, storage, extension API servers;
// a second replica of anything.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"client-go-workshop/cluster/internal/launcher"
	"client-go-workshop/cluster/internal/pki"
	"client-go-workshop/cluster/internal/workspace"
)

// Options are what a person may choose.
type Options struct {
	Nodes  int  // how many nodes kwok simulates
	Port   int  // of the API server; 0 takes any free one
	Keep   bool // stored objects outlive Stop
	Resume bool // there are stored objects from before
}

// ports are where the programs listen, all on 127.0.0.1.
type ports struct {
	etcd, etcdPeer, apiServer, controllerManager, scheduler int
}

// plan carries what the parts of the plan share.
type plan struct {
	workspace.Workspace
	Options
	ports ports
}

// New makes fresh credentials and configuration in the workspace and returns
// the plan that uses them. It starts nothing. The caller holds the cluster lock.
func New(w workspace.Workspace, options Options) (launcher.Plan, error) {
	p := &plan{Workspace: w, Options: options}
	if err := p.choosePorts(); err != nil {
		return launcher.Plan{}, err
	}
	if err := p.writeCredentials(); err != nil {
		return launcher.Plan{}, fmt.Errorf("writing the cluster's credentials: %w", err)
	}
	if err := launcher.WriteFile(filepath.Join(w.Kwok(), "kwok.yaml"), kwokConfiguration); err != nil {
		return launcher.Plan{}, fmt.Errorf("writing kwok's configuration: %w", err)
	}
	return launcher.Plan{
		Server:     p.server(),
		Nodes:      options.Nodes,
		Keep:       options.Keep,
		Resumed:    options.Resume,
		Components: p.components(),
		Ready:      p.ready,
	}, nil
}

// server is the address of the Kubernetes API.
func (p *plan) server() string { return address(p.ports.apiServer) }

func address(port int) string { return fmt.Sprintf("https://127.0.0.1:%d", port) }

// get and post are what little the launcher itself needs of the API. It uses
// no client-go, so that it builds in seconds and starts at once.
func (p *plan) get(ctx context.Context, path string, into any) error {
	return p.call(ctx, http.MethodGet, path, nil, into)
}

// post creates an object; one that is there already is as good.
func (p *plan) post(ctx context.Context, path string, object any) error {
	err := p.call(ctx, http.MethodPost, path, object, nil)
	var status statusError
	if errors.As(err, &status) && status.code == http.StatusConflict {
		return nil
	}
	return err
}

// loadOrMake returns the authority whose files carry that name, which a kept
// cluster has, or makes it and writes it.
func (p *plan) loadOrMake(name, title string) (*pki.Authority, error) {
	certificate, err := os.ReadFile(p.PKI(name + ".crt"))
	key, errKey := os.ReadFile(p.PKI(name + ".key"))
	if err == nil && errKey == nil {
		return pki.LoadAuthority(pki.Pair{Certificate: certificate, Key: key})
	}
	authority, err := pki.NewAuthority(title)
	if err != nil {
		return nil, err
	}
	return authority, p.writePair(name, authority.Pair)
}
