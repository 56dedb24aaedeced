//go:build unix

package main

import (
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// canSeeProcesses: repository.processes reads /proc.
const canSeeProcesses = runtime.GOOS == "linux"

// signalStop makes a process stand still, signalContinue go on.
func signalStop(t *testing.T, pid int)     { require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP)) }
func signalContinue(t *testing.T, pid int) { require.NoError(t, syscall.Kill(pid, syscall.SIGCONT)) }
