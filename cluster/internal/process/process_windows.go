// The nearest that Windows has: a new process group without a console for
// sessions, TerminateProcess for signals, the creation time for identity.

package process

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"

	"golang.org/x/sys/windows"
)

func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS}
}

// terminate kills: a process without a console cannot be asked.
func terminate(p *os.Process) error { return p.Kill() }

func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// interruptGroup kills, for the same reason.
func interruptGroup(leader int) { killGroup(leader) }

func killGroup(leader int) {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(leader)).Run()
}

// Become runs another program in our place and exits as it did; it returns
// only if that program could not be run.
func Become(path string, args, env []string) error {
	signal.Ignore(os.Interrupt) // the program decides what Ctrl-C means
	cmd := exec.Command(path, args...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err == nil || errors.As(err, &exit) {
		os.Exit(cmd.ProcessState.ExitCode())
	}
	return err
}

func startIdentity(pid int) (string, error) {
	handle, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		return "", errGone
	}
	if err != nil {
		return "", err
	}
	defer windows.CloseHandle(handle)
	var code uint32
	const stillActive = 259
	if err := windows.GetExitCodeProcess(handle, &code); err != nil {
		return "", err
	}
	if code != stillActive {
		return "", errGone
	}
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(handle, &created, &exited, &kernel, &user); err != nil {
		return "", err
	}
	return strconv.FormatInt(created.Nanoseconds(), 10), nil
}

func residentSet(int) (int64, bool) { return 0, false }

// commandLines fails: Windows shows the arguments of a process only to a debugger.
func commandLines() (map[int]string, error) { return nil, errors.ErrUnsupported }
