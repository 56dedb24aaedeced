//go:build unix && !linux

package gotest

import "os/exec"

// dieWithParent does nothing: only Linux can kill children when their parent ends.
func dieWithParent(*exec.Cmd) {}
