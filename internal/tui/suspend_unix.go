//go:build unix

package tui

// This file is the key ^Z: it gives the terminal back to the shell.

import (
	"os"
	"os/signal"
	"syscall"
)

// stopGroup stops this process group until SIGCONT. The parent is in it if it is the go command of `go tool workshop`.
// That one passes SIGTSTP on and does not stop, and the shell would wait for it.
func stopGroup() error {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	parent := os.Getppid()
	if group, err := syscall.Getpgid(parent); err == nil && group == syscall.Getpgrp() {
		_ = syscall.Kill(parent, syscall.SIGSTOP) // if it has ended, nobody waits for it
	}
	if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
		return err
	}
	<-continued
	return nil
}
