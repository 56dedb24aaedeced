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
	processes, _ := os.ReadDir("/proc") // every Linux has it
	for _, process := range processes {
		text, err := os.ReadFile("/proc/" + process.Name() + "/stat")
		if err != nil {
			continue // it has ended, or is none
		}
		// "123 (name of the program) S ppid pgrp session …"; the 22nd field after the name counts pages.
		before, after, _ := strings.Cut(string(text), ") ")
		_, name, _ := strings.Cut(before, "(")
		fields := strings.Fields(after)
		if len(fields) < 22 || fields[3] != strconv.Itoa(session) || slices.Contains(tools, name) {
			continue
		}
		pages, _ := strconv.ParseInt(fields[21], 10, 64) // the kernel writes digits
		bytes = max(bytes, pages*int64(os.Getpagesize()))
	}
	return bytes
}
