// Package workspace finds the workshop's repository and names every file that
// the cluster keeps in it. No other package joins paths below .workshop, so
// this file is the whole list of what `cluster` writes to a disk.
//
//	.workshop/
//	  bin/                 the programs of the control plane, built from source
//	  bin/build.lock       held by whoever builds them
//	  share/               the programs in one file, for others in the room
//	  cluster.lock         held by whoever starts or stops the cluster
//	  cluster/
//	    state.json         which process is which; the launcher's only memory
//	    kubeconfig         for people and controllers (mode 0600)
//	    credentials/       one kubeconfig per component (0600)
//	    pki/               certificate authorities, certificates, keys (0600)
//	    etcd/              every Kubernetes object
//	    kwok/              what the simulated nodes and pods do
//	    cache/             kubectl's discovery cache
//	    logs/              one file per component
//
// Left out: anything outside the repository. Nothing is read from or written
// to the home folder, except the caches of the go command itself.
package workspace

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// RootVariable is the environment variable with which a caller that knows the
// repository's root hands it over; without it the root is looked for.
const RootVariable = "WORKSHOP_ROOT"

// rootModule is what the go.mod at the repository's root says it is.
const rootModule = "client-go-workshop"

// Workspace is one clone of the repository. It is a value; copy it freely.
type Workspace struct {
	root string
}

// Find returns the workspace that RootVariable names, or else the one that
// the working directory lies in.
func Find() (Workspace, error) {
	if root := os.Getenv(RootVariable); root != "" {
		return At(root)
	}
	directory, err := os.Getwd()
	if err != nil {
		return Workspace{}, fmt.Errorf("finding the workshop's repository: %w", err)
	}
	for {
		if moduleIn(directory) == rootModule {
			return At(directory)
		}
		parent := filepath.Dir(directory)
		if parent == directory {
			return Workspace{}, errors.New("this is not the workshop's repository: no folder from here " +
				"upwards has a go.mod that says `module " + rootModule + "`; change into your clone of it")
		}
		directory = parent
	}
}

// At returns the workspace whose root is the given folder, which must hold
// the cluster module.
func At(root string) (Workspace, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return Workspace{}, fmt.Errorf("finding the workshop's repository: %w", err)
	}
	// Without links in it, a path means the same to us and to every program
	// that is handed it.
	if resolved, err := filepath.EvalSymlinks(root); err == nil {
		root = resolved
	}
	w := Workspace{root: root}
	if moduleIn(w.Module()) != rootModule+"/cluster" {
		return Workspace{}, fmt.Errorf("%s is not the workshop's repository (it has no cluster/go.mod): "+
			"set %s to your clone of it, or unset it", root, RootVariable)
	}
	return w, nil
}

// moduleIn returns the module path that the go.mod in a folder declares, or
// "" when there is none.
func moduleIn(directory string) string {
	file, err := os.Open(filepath.Join(directory, "go.mod"))
	if err != nil {
		return ""
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if name, found := strings.CutPrefix(lines.Text(), "module "); found {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

// Root is the repository's root folder.
func (w Workspace) Root() string { return w.root }

// Module is the folder of the cluster module's source.
func (w Workspace) Module() string { return filepath.Join(w.root, "cluster") }

// Bin is the folder of the built programs.
func (w Workspace) Bin() string { return w.local("bin") }

// Program is the path of one built program.
func (w Workspace) Program(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return w.local("bin", name)
}

// BuildLock guards the Bin folder.
func (w Workspace) BuildLock() string { return w.local("bin", "build.lock") }

// Pack is the file of all programs for this platform. What else lies in its
// folder is the user's: `workshop share` serves all of it.
func (w Workspace) Pack() string {
	return w.local("share", "cluster-"+runtime.GOOS+"-"+runtime.GOARCH+".tar.gz")
}

// ClusterLock guards the Cluster folder. It lies outside, because that folder
// is thrown away while the lock is held.
func (w Workspace) ClusterLock() string { return w.local("cluster.lock") }

// Cluster is the folder of everything that belongs to one cluster's life.
func (w Workspace) Cluster() string { return w.local("cluster") }

// State is the file with the components that run.
func (w Workspace) State() string { return w.local("cluster", "state.json") }

// Kubeconfig is the file with the credentials of the cluster's administrator.
func (w Workspace) Kubeconfig() string { return w.local("cluster", "kubeconfig") }

// Etcd is etcd's data folder.
func (w Workspace) Etcd() string { return w.local("cluster", "etcd") }

// Kwok is kwok's working folder.
func (w Workspace) Kwok() string { return w.local("cluster", "kwok") }

// Cache is kubectl's cache folder.
func (w Workspace) Cache() string { return w.local("cluster", "cache") }

// Logs is the folder of all components' logs.
func (w Workspace) Logs() string { return w.local("cluster", "logs") }

// InCluster is one entry of the Cluster folder.
func (w Workspace) InCluster(entry string) string { return w.local("cluster", entry) }

// Log is the log of one component: what it wrote to stdout and to stderr.
func (w Workspace) Log(component string) string {
	return w.local("cluster", "logs", component+".log")
}

// PKI is the path of a file of the public key infrastructure.
func (w Workspace) PKI(file string) string { return w.local("cluster", "pki", file) }

// Credentials is the kubeconfig that one component uses.
func (w Workspace) Credentials(component string) string {
	return w.local("cluster", "credentials", component)
}

func (w Workspace) local(elements ...string) string {
	return filepath.Join(append([]string{w.root, ".workshop"}, elements...)...)
}
