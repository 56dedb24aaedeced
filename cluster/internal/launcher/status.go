// Status: how each component is, and the last words of those that died.

package launcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"client-go-workshop/cluster/internal/workspace"
)

// ErrUnwell is what Status returns when it has told of a component that is
// dead or not ready.
var ErrUnwell = errors.New("the cluster is not well")

// Status writes a table of the components to out and, below it, what is known
// of those that are not well; then it returns ErrUnwell.
func Status(ctx context.Context, w workspace.Workspace, state *State, out io.Writer) error {
	end := "`cluster down` throws it away"
	if state.Keep {
		end = "`cluster down` keeps its objects"
	}
	fmt.Fprintf(out, "%s, %s, started %s ago; %s\n\n", state.Server, plural(state.Nodes, "simulated node"),
		time.Since(state.Started).Round(time.Second), end)

	var unwell []string
	var total int64
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "COMPONENT\tSTATE\tPID\tMEMORY")
	for _, c := range state.Components {
		condition, memory := "running", "-"
		if !c.Process.Alive() {
			condition = "dead"
			unwell = append(unwell, fmt.Sprintf("%s is dead; `go tool workshop cluster restart %s` starts it again%s",
				c.Name, c.Name, quote(w, c.Name)))
		} else if err := c.Probe.Ask(ctx); err != nil {
			condition = "not ready"
			unwell = append(unwell, fmt.Sprintf("%s is not ready: %v", c.Name, err))
		}
		if bytes, known := c.Process.Memory(); known {
			memory = megabytes(bytes)
			total += bytes
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\n", c.Name, condition, c.Process.PID, memory)
	}
	if total > 0 {
		fmt.Fprintf(table, "together\t\t\t%s\n", megabytes(total))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	for _, text := range unwell {
		fmt.Fprintf(out, "\n%s\n", text)
	}
	if len(unwell) > 0 {
		return ErrUnwell
	}
	return nil
}

func megabytes(bytes int64) string { return fmt.Sprintf("%d MB", (bytes+500_000)/1_000_000) }

func plural(count int, noun string) string {
	if count == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", count, noun)
}
