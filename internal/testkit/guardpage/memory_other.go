//go:build !linux && !darwin

package guardpage

import "errors"

func newPage(int) (page, error) {
	return nil, errors.New("package syscall has no Mprotect for this system")
}

func setUnreadable(page, bool) error { return errors.ErrUnsupported }
