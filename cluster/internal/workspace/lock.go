// Locks between launcher processes: two terminals may type `cluster up` at
// the same moment. The operating system holds the lock, so it ends with its
// holder, however that ends; a file that is left behind means nothing.

package workspace

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// Lock takes the lock that path names and returns the function that gives it
// back. While another process has it, Lock says so once on notice, and waits
// until it is free or ctx ends.
func Lock(ctx context.Context, path, what string, notice io.Writer) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("making the folder for a lock: %w", err)
	}
	lock := flock.New(path)
	taken, err := lock.TryLock()
	if err == nil && !taken {
		fmt.Fprintf(notice, "Another command is %s in this repository; waiting for it (Ctrl-C gives up).\n", what)
		_, err = lock.TryLockContext(ctx, 50*time.Millisecond)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("waiting for the lock %s: %w", path, err)
	}
	return func() { _ = lock.Unlock() }, nil
}
