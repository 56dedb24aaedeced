//go:build !linux

package gotest

// largest returns 0, because it does not know the memory of other processes here. Package guard limits its own.
func largest(int) int64 { return 0 }
