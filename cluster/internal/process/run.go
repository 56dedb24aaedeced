// Running a program to its end, and ending it together with everything that
// it has started: `go build` runs compilers of its own.

package process

import (
	"context"
	"os/exec"
	"time"
)

// Run runs cmd until it ends and returns how. When ctx ends first, cmd and all
// its descendants are ended too, before Run returns the reason in ctx: they
// are asked with an interrupt, so that the go command removes its temporary
// folder, and killed if they have not ended after five seconds.
//
// cmd must not have been made with a context of its own.
func Run(ctx context.Context, cmd *exec.Cmd) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	cmd.SysProcAttr = ownGroup()
	cmd.WaitDelay = time.Second // for a descendant that keeps a pipe open
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	interruptGroup(cmd.Process.Pid)
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		killGroup(cmd.Process.Pid)
		<-ended
	}
	return context.Cause(ctx)
}
