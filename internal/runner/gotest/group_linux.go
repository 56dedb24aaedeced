package gotest

// This file leaves no process of a run behind, whatever the learner's code has started. The command's parent is a
// supervisor: this program once more, as a child subreaper. A process whose parent has gone becomes the supervisor's
// child, even if it has a session of its own. The supervisor ends when it has no child left.

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// supervisor is the name under which this program runs as one.
const supervisor = "workshop-supervisor"

func init() {
	if os.Args[0] == supervisor {
		os.Exit(superviseCommand(os.Args[1], os.Args[2:]))
	}
}

// startGroup makes the command's supervisor the leader of a session. In it the command leads a process group, so that
// a test which kills its group does not kill the supervisor. If this process ends, even by SIGKILL, so does the run.
func startGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
	if cmd.Err == nil { // otherwise Start returns it
		cmd.Args = append([]string{supervisor, cmd.Path}, cmd.Args...)
		cmd.Path = "/proc/self/exe"
	}
}

// killGroup makes the supervisor kill its descendants. It ends when they have ended.
func killGroup(cmd *exec.Cmd) { cmd.Process.Signal(syscall.SIGTERM) }

// quitGroup asks all processes of the group for a dump of their goroutines, which ends them.
func quitGroup(cmd *exec.Cmd) { cmd.Process.Signal(syscall.SIGQUIT) }

// superviseCommand runs the program at path, whose arguments begin with its name. When the program ends, or when a
// SIGTERM asks for it, superviseCommand kills what is left of it. It returns the program's exit code.
func superviseCommand(path string, args []string) (code int) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGQUIT)
	err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	var program *os.Process
	if err == nil {
		program, err = os.StartProcess(path, args, &os.ProcAttr{
			Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
			Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 127
	}
	go func() {
		for s := range signals {
			if s == syscall.SIGQUIT {
				syscall.Kill(-program.Pid, syscall.SIGQUIT)
			} else {
				killChildren()
			}
		}
	}()
	for ended := false; ; {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.ECHILD:
			return code
		case err == nil && pid == program.Pid:
			ended, code = true, max(status.ExitStatus(), 0)
			if status.Signaled() {
				code = 128 + int(status.Signal())
			}
		}
		if ended {
			killChildren()
		}
	}
}

// killChildren kills the children of this process. Their children become children of this process then.
func killChildren() {
	eachProcess(func(pid int, _ string, fields []string) {
		if fields[1] == strconv.Itoa(os.Getpid()) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
}
