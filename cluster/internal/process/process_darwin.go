// Start times, from the kernel; memory and command lines, from ps, which knows
// what the kernel does not tell without C.

package process

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// zombie is SZOMB of sys/proc.h.
const zombie = 5

func startIdentity(pid int) (string, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	// The kernel answers with an empty record for a PID that nobody has,
	// which the call reports as EIO.
	if errors.Is(err, unix.EIO) || errors.Is(err, unix.ESRCH) {
		return "", errGone
	}
	if err != nil {
		return "", err
	}
	if info.Proc.P_stat == zombie {
		return "", errGone
	}
	return fmt.Sprintf("%d.%06d", info.Proc.P_starttime.Sec, info.Proc.P_starttime.Usec), nil
}

func residentSet(pid int) (int64, bool) {
	out, err := exec.Command("/bin/ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0, false
	}
	kilobytes, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	return kilobytes * 1024, err == nil
}

// commandLines maps each PID to its program and arguments, joined by spaces.
func commandLines() (map[int]string, error) {
	out, err := exec.Command("/bin/ps", "-axww", "-o", "pid=,args=").Output()
	return parsePS(string(out)), err
}
