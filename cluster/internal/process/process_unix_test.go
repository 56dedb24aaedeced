//go:build unix

package process

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A Ctrl-C, or the end of a terminal, reaches the processes of its session.
func TestStartedProcessHasASessionOfItsOwn(t *testing.T) {
	ours, err := unix.Getsid(0)
	require.NoError(t, err)
	child := start(t, "sleeper")
	theirs, err := unix.Getsid(child.PID)
	require.NoError(t, err)
	require.NotEqual(t, ours, theirs)
	require.Equal(t, child.PID, theirs)
}
