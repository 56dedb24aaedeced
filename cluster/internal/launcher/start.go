// Starting a cluster, and starting one of its components again.

package launcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"client-go-workshop/cluster/internal/process"
	"client-go-workshop/cluster/internal/workspace"
)

// Start brings up what plan says and returns once it is ready. When it fails,
// or ctx ends first, nothing that it started is left running; the logs stay.
// The caller holds the cluster lock.
func Start(ctx context.Context, w workspace.Workspace, plan Plan, out io.Writer) error {
	state := &State{Phase: Starting, Keep: plan.Keep || plan.Resumed, Nodes: plan.Nodes, Server: plan.Server,
		Started: time.Now()}
	err := bringUp(ctx, w, state, plan, out)
	if err == nil {
		return nil
	}
	cleanUp := abandon
	if plan.Resumed {
		cleanUp = Stop
	}
	if errCleanUp := cleanUp(w, state); errCleanUp != nil {
		// Not %w for the first one: who tests for it takes all else for done.
		return fmt.Errorf("%v; and then: %w", err, errCleanUp)
	}
	return err
}

func bringUp(ctx context.Context, w workspace.Workspace, state *State, plan Plan, out io.Writer) error {
	if err := os.RemoveAll(w.Logs()); err != nil { // those of an earlier cluster
		return fmt.Errorf("removing old logs: %w", err)
	}
	var children []child
	for i, component := range plan.Components {
		began := time.Now()
		if component.Prepare != nil {
			if err := component.Prepare(ctx); err != nil {
				return fmt.Errorf("preparing the start of %s: %w", component.Name, interrupted(ctx, err))
			}
		}
		started, err := launch(w, state, component)
		if err != nil {
			return err
		}
		children = append(children, started)
		if err := await(ctx, w, children, component.Name, component.Probe.Ask); err != nil {
			return err
		}
		if component.Probe.URL != "" { // all others show only in Ready
			fmt.Fprintf(out, "  %-24s ready after %.1f s (%d of %d)\n", component.Name, time.Since(began).Seconds(), i+1,
				len(plan.Components))
		}
	}
	if plan.Ready != nil {
		if err := await(ctx, w, children, "the cluster", plan.Ready); err != nil {
			return err
		}
	}
	state.Phase, state.Keep = Ready, plan.Keep
	return state.save(w)
}

// Restart ends a component, if it still runs, and starts it again with the
// command line it had: same port, same data. The others stay as they are.
// The caller holds the cluster lock.
func Restart(ctx context.Context, w workspace.Workspace, state *State, name string) error {
	running, err := state.Component(name)
	if err != nil {
		return err
	}
	if err := process.Stop(stopPatience, running.Process); err != nil {
		return fmt.Errorf("stopping %s: %w", name, err)
	}
	started, err := launch(w, state, running.Component)
	if err != nil {
		return err
	}
	// If it fails, it is left as it is: the rest of the cluster may be worth
	// more to its owner than order, and status shows what is the matter.
	return await(ctx, w, []child{started}, name, running.Probe.Ask)
}

// AwaitReady returns once every component of a cluster that runs is well. It
// says which one is not, if that takes too long.
func AwaitReady(ctx context.Context, w workspace.Workspace, state *State) error {
	for _, component := range state.Components {
		if err := await(ctx, w, nil, component.Name, component.Probe.Ask); err != nil {
			return err
		}
	}
	return nil
}

type child struct {
	name string
	*process.Child
}

// launch starts component and writes down at once that it did: from then on
// every later command can find the process. (If the launcher is killed between
// these two steps, microseconds apart, Find does.)
func launch(w workspace.Workspace, state *State, component Component) (child, error) {
	if err := os.MkdirAll(w.Logs(), 0o700); err != nil {
		return child{}, fmt.Errorf("making the folder for logs: %w", err)
	}
	started, err := process.Start(process.Command{
		Path: component.Path, Args: component.Args, Env: component.Env, Log: w.Log(component.Name),
	})
	if err != nil {
		return child{}, fmt.Errorf("starting %s: %w", component.Name, err)
	}
	running := Running{Component: component, Process: started.Process}
	if known, err := state.Component(component.Name); err == nil {
		*known = running
	} else {
		state.Components = append(state.Components, running)
	}
	if err := state.save(w); err != nil {
		return child{}, errors.Join(err, started.Kill())
	}
	return child{component.Name, started}, nil
}

// await asks until the answer is nil, but not longer than startTimeout or ctx
// allow, and not once one of the children has ended.
func await(ctx context.Context, w workspace.Workspace, children []child, name string,
	ask func(context.Context) error) error {
	patience, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var answer error // the last one that was given in time
	for {
		latest := ask(patience)
		for _, c := range children {
			select {
			case <-c.Exited():
				return died(w, c.name, c.Err())
			default:
			}
		}
		if latest == nil {
			return nil
		}
		if answer == nil || patience.Err() == nil {
			answer = latest
		}
		select {
		case <-tick.C:
		case <-patience.Done():
			if ctx.Err() != nil {
				return interrupted(ctx, answer)
			}
			return late(w, name, answer)
		}
	}
}

// interrupted replaces err by the reason why ctx ended, if it has.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
