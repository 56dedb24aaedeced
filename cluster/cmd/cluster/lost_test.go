// What is left when state.json, the reboot of the machine or a kill has taken
// a part of a cluster: its programs are found, and its objects stay.

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/cluster/internal/process"
)

// lostStates are state files that no command writes.
var lostStates = map[string]string{
	"empty":           "",
	"half":            "{",
	"null":            "null",
	"null components": `{"version": 1, "phase": "ready", "keep": false, "nodes": 0, "server": "", "components": null}`,
	"no process": `{"version": 1, "phase": "ready", "server": "https://127.0.0.1:1", "started": "2026-11-20T19:04:05Z",
		"components": [{"name": "etcd", "path": "/bin/etcd"}]}`,
	"no phase": `{"version": 1, "components": null}`,
}

func TestDamagedState(t *testing.T) {
	for name, content := range lostStates {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t)
			r.must(0, "up")
			pids := r.pids()
			stored := filepath.Join(r.Etcd(), "object")
			require.NoError(t, os.WriteFile(stored, nil, 0o600))
			require.NoError(t, os.WriteFile(r.State(), []byte(content), 0o600))
			for _, command := range []string{"up", "status"} {
				stderr := r.must(1, command).stderr
				require.Contains(t, stderr, "state.json is damaged")
				require.Contains(t, stderr, "`go tool workshop cluster down` ends the programs that still run")
			}

			if runtime.GOOS == "windows" {
				require.Contains(t, r.must(1, "down").stderr, "end the processes of")
				for _, p := range pids {
					require.NoError(t, process.Stop(0, p))
				}
				return
			}
			stderr := r.must(0, "down").stderr
			require.Contains(t, stderr, "5 of the cluster's programs still run")
			require.Contains(t, stderr, "finds its objects again", "it may have been started with --keep")
			for name, p := range pids {
				require.False(t, p.Alive(), "%s must not outlive `down`", name)
			}
			require.Contains(t, r.must(0, "down").stderr, "No cluster is up")
			r.must(0, "up")
			require.FileExists(t, stored)
			r.must(0, "down", "--discard")
			require.NoDirExists(t, r.Cluster())
		})
	}
}

func TestStateIsGone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("this system does not show which programs run")
	}
	r := newRepository(t)
	r.must(0, "up")
	require.NoError(t, os.Remove(r.State()))
	for _, command := range []string{"up", "status"} {
		require.Contains(t, r.must(1, command).stderr, "state.json is gone, and 5 of the cluster's programs still run")
	}
	r.must(0, "down", "--discard")
	r.requireNothingRuns()
	require.NoDirExists(t, r.Cluster())
	require.Contains(t, r.must(1, "status").stderr, "no cluster is up")
}

// A launcher that is killed between the start of a program and the note of it
// leaves a program that the state does not list.
func TestDownEndsWhatTheStateDoesNotList(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("this system does not show which programs run")
	}
	r := newRepository(t)
	r.must(0, "up")
	state := r.state()
	state.Components = state.Components[:4]
	content, err := json.Marshal(state)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(r.State(), content, 0o600))
	r.must(0, "down")
	r.requireNothingRuns()
}

func TestUpAfterALossKeepsWhatWasToBeKept(t *testing.T) {
	r := newRepository(t)
	r.must(0, "up", "--keep")
	stored := filepath.Join(r.Etcd(), "object")
	require.NoError(t, os.WriteFile(stored, nil, 0o600))
	for range 2 { // the second loss shows that --keep has survived the first
		for _, p := range r.pids() {
			require.NoError(t, process.Stop(0, p))
		}
		stderr := r.must(0, "up").stderr
		require.Contains(t, stderr, "ended without `cluster down`; removing what it left, except for its objects")
		require.Contains(t, stderr, "The objects of the last cluster are kept, until `cluster down --discard`")
		require.FileExists(t, stored)
		require.Contains(t, r.must(0, "status").stdout, "`cluster down` keeps its objects")
	}
	r.must(0, "down")
	require.FileExists(t, stored)
}
