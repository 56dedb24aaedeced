// Finding the components without state.json, which can be damaged or gone.

package launcher

import (
	"path/filepath"
	"strings"

	"client-go-workshop/cluster/internal/process"
	"client-go-workshop/cluster/internal/workspace"
)

// Find returns the programs that run on the cluster's folder: each is one of
// those named, from the folder of the built programs, with a path in the
// cluster's folder among its arguments. The error is errors.ErrUnsupported
// where the system does not show arguments.
func Find(w workspace.Workspace, programs []string) ([]Running, error) {
	var running []Running
	for _, name := range programs {
		found, err := process.Find(func(commandLine string) bool {
			return strings.HasPrefix(commandLine, w.Program(name)+" ") &&
				strings.Contains(commandLine, w.Cluster()+string(filepath.Separator))
		})
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			running = append(running, Running{Component: Component{Name: name, Path: w.Program(name)}, Process: p})
		}
	}
	return running, nil
}

// Add adds the found components that the state does not have.
func (s *State) Add(found []Running) {
	known := map[process.Process]bool{}
	for _, c := range s.Components {
		known[c.Process] = true
	}
	for _, c := range found {
		if !known[c.Process] {
			s.Components = append(s.Components, c)
		}
	}
}
