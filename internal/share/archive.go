package share

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// Archive is the repository as it was committed last, as a .tar.gz with the one folder client-go-workshop, and the
// commit it is of. What lies around in the instructor's folder besides is not in it, and with changed it says whether
// there is such a thing.
func Archive(ctx context.Context, root string) (archive []byte, commit string, changed bool, err error) {
	id, err := git(ctx, root, "rev-parse", "--short", "HEAD")
	if err != nil {
		return nil, "", false, err
	}
	status, err := git(ctx, root, "status", "--porcelain")
	if err != nil {
		return nil, "", false, err
	}
	archive, err = git(ctx, root, "archive", "--format=tar.gz", "--prefix=client-go-workshop/", "HEAD")
	return archive, strings.TrimSpace(string(id)), len(status) > 0, err
}

func git(ctx context.Context, root string, args ...string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...).Output()
	if err == nil {
		return out, nil
	}
	said := ""
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		said = ": " + string(bytes.TrimSpace(exit.Stderr))
	}
	return nil, fmt.Errorf("pack the repository with git %s: %w%s", args[0], err, said)
}
