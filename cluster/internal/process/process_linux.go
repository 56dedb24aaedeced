// Start times, memory and command lines, from /proc.

package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// startIdentity is the boot's random name and the process's start in clock
// ticks since that boot: exact, and untouched when the wall clock is set.
func startIdentity(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return "", errGone
	}
	if err != nil {
		return "", err
	}
	// The second field is the program's name in parentheses, which may itself
	// hold spaces and parentheses: count fields from the last one.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const state, threads, started = 0, 17, 19 // fields 3, 20 and 22 of proc(5)
	if len(fields) <= started {
		return "", fmt.Errorf("/proc/%d/stat has too few fields: %q", pid, stat)
	}
	// A zombie's first thread has ended. While others have not, they hold the
	// process's files and ports.
	if s := string(fields[state]); s == "X" || s == "Z" &&
		(string(fields[threads]) == "0" || string(fields[threads]) == "1") {
		return "", errGone
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(boot)) + "/" + string(fields[started]), nil
}

func residentSet(pid int) (int64, bool) {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(statm)
	if len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize()), err == nil
}

// commandLines maps each PID to its program and arguments, joined by spaces.
func commandLines() (map[int]string, error) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	lines := map[int]string{}
	for _, file := range files {
		line, err := os.ReadFile(file)
		pid, errPID := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && errPID == nil { // it may have ended since
			lines[pid] = string(bytes.ReplaceAll(bytes.TrimRight(line, "\x00"), []byte{0}, []byte{' '}))
		}
	}
	return lines, nil
}
