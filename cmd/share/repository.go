package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// archiveOf returns the last commit of the repository as a .tar.gz with the one folder client-go-workshop, and the
// commit's short hash. changed reports whether the working tree has anything that is not in that commit.
func archiveOf(ctx context.Context, root string) (archive []byte, commit string, changed bool, err error) {
	git := func(args ...string) []byte {
		if err != nil {
			return nil
		}
		out, failed := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...).Output()
		if failed != nil {
			err = fmt.Errorf("pack the repository with git %s: %w", args[0], failed)
		}
		if exit := (*exec.ExitError)(nil); errors.As(failed, &exit) {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return out
	}
	commit = strings.TrimSpace(string(git("rev-parse", "--short", "HEAD")))
	changed = len(git("status", "--porcelain")) > 0
	archive = git("archive", "--format=tar.gz", "--prefix=client-go-workshop/", "HEAD")
	return archive, commit, changed, err
}
