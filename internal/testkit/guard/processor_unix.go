//go:build unix

package guard

import (
	"syscall"
	"time"
)

// processorTime returns how long the processors have worked for this process.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0 // then the limits of real time count alone
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
