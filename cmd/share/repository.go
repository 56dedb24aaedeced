package main

// This file packs the repository: the files of the last commit, and a .git folder with that one commit.

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// archiveOf returns the last commit of the repository as a .tar.gz with the one folder client-go-workshop, and the
// commit's short hash. The folder is a shallow clone: it has that commit and no earlier one, so git diff and git stash
// work, and git pull does once a remote is added. It has nothing of the machine's own configuration. changed reports
// whether the working tree has anything that is not in that commit.
func archiveOf(ctx context.Context, root string) (archive []byte, commit string, changed bool, err error) {
	dir, err := os.MkdirTemp("", "share")
	if err != nil {
		return nil, "", false, fmt.Errorf("pack the repository: %w", err)
	}
	defer os.RemoveAll(dir)
	git := func(in string, args ...string) (out string) {
		if err != nil {
			return ""
		}
		var text []byte
		if text, err = output(ctx, in, "git", args...); err != nil {
			err = fmt.Errorf("pack the repository with %w", err)
		}
		return strings.TrimSpace(string(text))
	}
	commit = git(root, "rev-parse", "--short", "HEAD")
	changed = git(root, "status", "--porcelain") != ""
	git(dir, "init", "--quiet", "--template=", "--initial-branch=main")
	// Without the log of the fetch, which would name the path of the instructor's clone.
	git(dir, "-c", "core.logAllRefUpdates=false", "fetch", "--quiet", "--depth=1", "--no-write-fetch-head",
		"--no-auto-maintenance", "--update-head-ok", root, "HEAD:refs/heads/main")
	git(dir, "-c", "core.logAllRefUpdates=false", "reset", "--quiet", "--hard")
	// The executable bits of scripts get lost on Windows, which would be changes.
	git(dir, "config", "core.fileMode", "false")
	if err != nil {
		return nil, "", false, err
	}
	if archive, err = pack(os.DirFS(dir)); err != nil {
		err = fmt.Errorf("pack the repository: %w", err)
	}
	return archive, commit, changed, err
}

// pack packs a clone. The headers do not name the instructor, as those of tar.FileInfoHeader would.
func pack(clone fs.FS) ([]byte, error) {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	out := tar.NewWriter(zipped)
	made := time.Now()
	err := fs.WalkDir(clone, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() { // tar makes the folders of files
			return err
		}
		content, err := fs.ReadFile(clone, name)
		if err != nil {
			return err
		}
		header := tar.Header{Name: path.Join("client-go-workshop", name), Mode: 0o644, ModTime: made,
			Size: int64(len(content))}
		if info, err := d.Info(); err == nil && info.Mode()&0o111 != 0 {
			header.Mode = 0o755
		}
		if err := out.WriteHeader(&header); err != nil {
			return err
		}
		_, err = out.Write(content)
		return err
	})
	err = errors.Join(err, out.Close(), zipped.Close())
	return packed.Bytes(), err
}
