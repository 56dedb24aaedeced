// Stopping, and what is thrown away.

package launcher

import (
	"errors"
	"fmt"
	"os"
	"time"

	"client-go-workshop/cluster/internal/process"
	"client-go-workshop/cluster/internal/workspace"
)

// stopPatience is how long a component that has something to lose may take to
// end before it is killed.
const stopPatience = 5 * time.Second

// Stop ends every component and throws away everything in the cluster's
// folder; a state with Keep set leaves the stored objects, and the keys they
// were made with, for the next Start. The caller holds the cluster lock.
func Stop(w workspace.Workspace, state *State) error {
	if err := end(state); err != nil {
		return err
	}
	if !state.Keep {
		return Discard(w)
	}
	state.Phase, state.Components, state.Server = Stopped, nil, ""
	if err := state.save(w); err != nil {
		return err
	}
	// These name an address that nobody answers at any more.
	return errors.Join(os.RemoveAll(w.Kubeconfig()), os.RemoveAll(w.Cache()))
}

// Discard removes the cluster's folder. Nothing of it may be running.
func Discard(w workspace.Workspace) error {
	if err := os.RemoveAll(w.Cluster()); err != nil {
		return fmt.Errorf("throwing away the stopped cluster: %w", err)
	}
	return nil
}

// abandon undoes a start that failed: all that it left are the logs.
func abandon(w workspace.Workspace, state *State) error {
	if err := end(state); err != nil {
		return err
	}
	entries, err := os.ReadDir(w.Cluster())
	for _, entry := range entries {
		if path := w.InCluster(entry.Name()); path != w.Logs() {
			err = errors.Join(err, os.RemoveAll(path))
		}
	}
	if err != nil {
		return fmt.Errorf("removing what the failed start had written: %w", err)
	}
	return nil
}

// end returns once none of the components runs any more.
func end(state *State) error {
	var processes []process.Process
	for i := len(state.Components) - 1; i >= 0; i-- { // clients before servers
		processes = append(processes, state.Components[i].Process)
	}
	if !state.Keep { // nothing is worth waiting for
		if err := process.Stop(0, processes...); err != nil {
			return fmt.Errorf("stopping the cluster: %w", err)
		}
		return nil
	}
	for _, p := range processes {
		if err := process.Stop(stopPatience, p); err != nil {
			return fmt.Errorf("stopping the cluster: %w", err)
		}
	}
	return nil
}
