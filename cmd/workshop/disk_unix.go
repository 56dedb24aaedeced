//go:build unix

package main

import "golang.org/x/sys/unix"

// freeDisk returns how many bytes may be written below dir.
func freeDisk(dir string) (uint64, error) {
	var s unix.Statfs_t
	err := unix.Statfs(dir, &s)
	return uint64(s.Bavail) * uint64(s.Bsize), err
}
