// state.json: all that one command knows of what an earlier one did.

package launcher

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"client-go-workshop/cluster/internal/process"
	"client-go-workshop/cluster/internal/workspace"
)

// stateVersion changes when an older launcher's file can no longer be read.
const stateVersion = 1

// Phase is how far a cluster's life has come.
type Phase string

const (
	// Starting means that processes may run. If a command that holds the lock
	// finds it, the command that started them was killed.
	Starting Phase = "starting"
	// Ready means that the cluster was up when this was written.
	Ready Phase = "ready"
	// Stopped means that nothing runs, and that the stored objects were kept.
	Stopped Phase = "stopped"
)

// State is what state.json holds. No file means no cluster.
type State struct {
	Version    int       `json:"version"`
	Phase      Phase     `json:"phase"`
	Keep       bool      `json:"keep"`
	Nodes      int       `json:"nodes"`
	Server     string    `json:"server"`
	Started    time.Time `json:"started"`
	Components []Running `json:"components"`
}

// Running is a component that has been started.
type Running struct {
	Component
	Process process.Process `json:"process"`
}

// Component returns the running component of that name.
func (s *State) Component(name string) (*Running, error) {
	var names []string
	for i := range s.Components {
		if s.Components[i].Name == name {
			return &s.Components[i], nil
		}
		names = append(names, s.Components[i].Name)
	}
	return nil, fmt.Errorf("there is no component %q; there are %q", name, names)
}

// Dead lists the components whose process is gone, in start order.
func (s *State) Dead() []*Running {
	var dead []*Running
	for i := range s.Components {
		if !s.Components[i].Process.Alive() {
			dead = append(dead, &s.Components[i])
		}
	}
	return dead
}

// Load reads the state; nil without an error means that there is no cluster.
func Load(w workspace.Workspace) (*State, error) {
	content, err := os.ReadFile(w.State())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading what is running: %w", err)
	}
	var state State
	err = json.Unmarshal(content, &state)
	if err == nil && state.Version > 0 && state.Version != stateVersion {
		return nil, fmt.Errorf("%s was written by another version of this program (format %d, this one reads %d): "+
			"stop the cluster with that one", w.State(), state.Version, stateVersion)
	}
	if err == nil {
		err = state.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s %w: %w; `go tool workshop cluster down` ends the programs that still run, and keeps "+
			"the objects", w.State(), ErrDamaged, err)
	}
	return &state, nil
}

// ErrDamaged is in the error of a Load that found a file that no command writes.
var ErrDamaged = errors.New("is damaged")

// check returns an error if the state is one that no command writes. Without
// the check, `down` on a file without components would stop nothing and report
// success.
func (s *State) check() error {
	switch s.Phase {
	case Stopped:
		return nil
	case Starting, Ready:
	default:
		return fmt.Errorf("its phase is %q", s.Phase)
	}
	if len(s.Components) == 0 {
		return errors.New("it lists no components")
	}
	if s.Started.IsZero() || s.Server == "" {
		return errors.New("it has no time of the start, or no address")
	}
	for _, c := range s.Components {
		if c.Name == "" || c.Path == "" || c.Process.PID <= 0 {
			return fmt.Errorf("the component %q has no name, no program or no process", c.Name)
		}
	}
	return nil
}

// save writes the state so that a reader sees the old one or the new one, and
// a crash leaves one of them.
func (s *State) save(w workspace.Workspace) error {
	s.Version = stateVersion
	content, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = WriteFile(w.State(), append(content, '\n'))
	}
	if err != nil {
		return fmt.Errorf("noting what is running: %w", err)
	}
	return nil
}

// WriteFile writes a file that only its owner may read, all or nothing, and
// makes the folders on the way to it.
func WriteFile(path string, content []byte) error {
	directory := filepath.Dir(path)
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return err
	}
	// CreateTemp makes files with mode 0600.
	file, err := os.CreateTemp(directory, filepath.Base(path)+".new-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // fails, as it should, after the rename
	if _, err := file.Write(content); err != nil {
		file.Close()
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
