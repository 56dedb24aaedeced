package main

// This file packs the repository: the files of the last commit, and a .git folder with that one commit.

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// folderName is the folder in the archive.
const folderName = "client-go-workshop/"

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
	git := func(in string, args ...string) (out []byte) {
		if err != nil {
			return nil
		}
		if out, err = output(ctx, in, "git", args...); err != nil {
			err = fmt.Errorf("pack the repository with %w", err)
		}
		return out
	}
	commit = strings.TrimSpace(string(git(root, "rev-parse", "--short", "HEAD")))
	changed = len(git(root, "status", "--porcelain")) > 0
	files := git(root, "archive", "--format=tar", "--prefix="+folderName, "HEAD")
	git(dir, "init", "--quiet", "--template=", "--initial-branch=main")
	git(dir, "fetch", "--quiet", "--depth=1", "--no-write-fetch-head", "--no-auto-maintenance",
		"--update-head-ok", root, "HEAD:refs/heads/main")
	git(dir, "read-tree", "HEAD") // the index; git status finds the files' times by itself
	// The executable bits of scripts get lost on Windows, which would be changes.
	git(dir, "config", "core.fileMode", "false")
	if err != nil {
		return nil, "", false, err
	}
	if archive, err = pack(files, dir); err != nil {
		err = fmt.Errorf("pack the repository: %w", err)
	}
	return archive, commit, changed, err
}

// pack adds the folder .git in dir to a tar file, and compresses both.
func pack(files []byte, dir string) ([]byte, error) {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	out := tar.NewWriter(zipped)
	var made time.Time
	for in := tar.NewReader(bytes.NewReader(files)); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		made = header.ModTime
		if err := errors.Join(out.WriteHeader(header), copyTo(out, in)); err != nil {
			return nil, err
		}
	}
	err := fs.WalkDir(os.DirFS(dir), ".git", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == ".git/logs" { // of the fetch, with the path of the instructor's clone
			return fs.SkipDir
		}
		header := tar.Header{Name: folderName + path, Mode: 0o644, ModTime: made, Typeflag: tar.TypeReg}
		if d.IsDir() {
			header.Name, header.Mode, header.Typeflag = header.Name+"/", 0o755, tar.TypeDir
			return out.WriteHeader(&header)
		}
		content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
		if err != nil {
			return err
		}
		header.Size = int64(len(content))
		return errors.Join(out.WriteHeader(&header), copyTo(out, bytes.NewReader(content)))
	})
	err = errors.Join(err, out.Close(), zipped.Close())
	return packed.Bytes(), err
}

func copyTo(w io.Writer, r io.Reader) error {
	_, err := io.Copy(w, r)
	return err
}
