//go:build linux || darwin

package guardpage

import "syscall"

// newPage returns a page, or several, of at least size bytes.
func newPage(size int) (page, error) {
	pages := (size + syscall.Getpagesize() - 1) / syscall.Getpagesize()
	return syscall.Mmap(-1, 0, pages*syscall.Getpagesize(),
		syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
}

// setUnreadable makes the page unreadable, or readable and writable.
func setUnreadable(p page, on bool) error {
	protection := syscall.PROT_READ | syscall.PROT_WRITE
	if on {
		protection = syscall.PROT_NONE
	}
	return syscall.Mprotect(p, protection)
}
