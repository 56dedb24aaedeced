package main

// This file packs the repository, as git has it.

import (
	"context"
	"fmt"
	"strings"
)

// archiveOf returns the last commit of the repository as a .tar.gz with the one folder client-go-workshop, and the
// commit's short hash. changed reports whether the working tree has anything that is not in that commit.
func archiveOf(ctx context.Context, root string) (archive []byte, commit string, changed bool, err error) {
	git := func(args ...string) (out []byte) {
		if err != nil {
			return nil
		}
		if out, err = output(ctx, root, "git", args...); err != nil {
			err = fmt.Errorf("pack the repository with %w", err)
		}
		return out
	}
	commit = strings.TrimSpace(string(git("rev-parse", "--short", "HEAD")))
	changed = len(git("status", "--porcelain")) > 0
	archive = git("archive", "--format=tar.gz", "--prefix=client-go-workshop/", "HEAD")
	return archive, commit, changed, err
}
