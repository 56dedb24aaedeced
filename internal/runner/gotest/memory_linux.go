package gotest

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// tools are the programs of the go command, which may take what they need.
var tools = []string{"go", "compile", "link", "asm", "cgo", "vet", "buildid", "cc1", "as", "ld", "collect2", "gcc"}

// largest returns the memory, in bytes, of the largest test process in a session.
func largest(session int) (bytes int64) {
	eachProcess(func(_ int, name string, fields []string) {
		if fields[3] == strconv.Itoa(session) && !slices.Contains(tools, name) {
			pages, _ := strconv.ParseInt(fields[21], 10, 64) // the kernel writes digits
			bytes = max(bytes, pages*int64(os.Getpagesize()))
		}
	})
	return bytes
}

// eachProcess passes all processes to a function, with the fields of /proc/PID/stat that follow the name:
// "123 (name of the program) S ppid pgrp session …". The 22nd of them counts pages of memory.
func eachProcess(do func(pid int, name string, fields []string)) {
	folders, _ := os.ReadDir("/proc") // every Linux has it
	for _, folder := range folders {
		pid, err := strconv.Atoi(folder.Name())
		if err != nil {
			continue // it is no process
		}
		text, _ := os.ReadFile("/proc/" + folder.Name() + "/stat") // empty if the process has ended
		before, after, _ := strings.Cut(string(text), ") ")
		_, name, _ := strings.Cut(before, "(")
		if fields := strings.Fields(after); len(fields) >= 22 {
			do(pid, name, fields)
		}
	}
}
