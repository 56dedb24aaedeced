// Package build makes the programs of the control plane from source, once,
// and again whenever what they are made from has changed.
//
//	build.go      when to build, the go command's arguments, swapping in
//	progress.go   what a person sees during the minutes that it takes
//	work.go       how much there is to do
//	stamp.go      how we know that the programs are the right ones
//	pack.go       all programs in one file, for others in the room
//	fetch.go      putting such a file's programs in place
//
// All programs come from one `go build`, because they share most of their
// packages, and the go command compiles each package once per build.
// Left out: cross-compiling (the programs run here), and downloading anything
// except Go modules, unless Fetch is asked to.
package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"client-go-workshop/cluster/internal/process"
	"client-go-workshop/cluster/internal/workspace"
)

// Programs are the folders below cluster/cmd that Ensure builds.
var Programs = []string{
	"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "kubectl",
}

// Components are the Programs of a running cluster; kubectl is for people.
var Components = Programs[:5]

// Ensure makes all Programs current and returns at once if they are. It takes
// minutes the first time and shows its progress on out. When ctx ends, so do
// the go command and its compilers, and the programs are as they were before.
func Ensure(ctx context.Context, w workspace.Workspace, out io.Writer) error {
	want, err := stamp(w)
	if err != nil {
		return err
	}
	if current(w, want) {
		return nil
	}
	unlock, err := workspace.Lock(ctx, w.BuildLock(), "building the cluster's programs", out)
	if err != nil {
		return err
	}
	defer unlock()
	if current(w, want) { // whoever had the lock has built them
		return nil
	}
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("building the cluster's programs needs the go command, and there is none in PATH: " +
			"install Go from https://go.dev/dl and try again")
	}
	if err := build(ctx, w, out); err != nil {
		return err
	}
	return writeStamp(w, want)
}

// builder is one run of build.
type builder struct {
	workspace.Workspace
	fresh    string // folder for all that is to be swapped in, or thrown away
	progress *progress
}

func build(ctx context.Context, w workspace.Workspace, out io.Writer) error {
	if err := os.MkdirAll(w.Bin(), 0o755); err != nil {
		return fmt.Errorf("making the folder for the programs: %w", err)
	}
	// A program that is running must not be written over, and a half-built
	// set must not be run: build next to the place, then rename.
	fresh, err := freshFolder(w)
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)

	b := &builder{w, fresh, startProgress(out)}
	defer b.progress.stop()

	packages := make([]string, len(Programs))
	for i, name := range Programs {
		packages[i] = "./cmd/" + name
	}
	flags, err := b.versionFlags(ctx) // also fetches the modules
	if err != nil {
		return err
	}
	// The programs have no debug information (-s -w), so the compiler need not make it, which is a tenth of its work.
	same := []string{"-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false", "-ldflags", "-s -w " + flags}
	args := slices.Concat([]string{"list", "-deps", "-json=ImportPath,Dir,GoFiles,Stale"}, same, packages)
	list, err := b.goCommand(ctx, args...)
	if err != nil {
		return err
	}
	work, err := readWork(list)
	if err != nil {
		return err
	}
	b.progress.expect(work)
	args = slices.Concat([]string{"build", "-v"}, same, []string{"-o", fresh + string(filepath.Separator)}, packages)
	if _, err := b.goCommand(ctx, args...); err != nil {
		return err
	}
	if err := swapIn(w, fresh); err != nil {
		return err
	}
	b.progress.done()
	return nil
}

// freshFolder makes a folder in Bin for programs that are not whole yet. It is
// for whoever has the build lock, and for them to remove.
func freshFolder(w workspace.Workspace) (string, error) {
	// What a build that was killed has left is in nobody's use: we have the lock.
	left, _ := filepath.Glob(filepath.Join(w.Bin(), "building-*"))
	for _, folder := range left {
		if err := os.RemoveAll(folder); err != nil {
			return "", fmt.Errorf("removing what an earlier build has left: %w", err)
		}
	}
	fresh, err := os.MkdirTemp(w.Bin(), "building-")
	if err != nil {
		return "", fmt.Errorf("making a folder to build in: %w", err)
	}
	return fresh, nil
}

// swapIn moves all programs from the fresh folder to their places.
func swapIn(w workspace.Workspace, fresh string) error {
	for _, name := range Programs {
		program := w.Program(name)
		if err := os.Rename(filepath.Join(fresh, filepath.Base(program)), program); err != nil {
			return fmt.Errorf("putting %s in its place: %w", name, err)
		}
	}
	return nil
}

// versionFlags tells the linker the versions that the programs shall report:
// their own build scripts would; without them kubectl warns that it and the
// API server are of different versions.
func (b *builder) versionFlags(ctx context.Context) (string, error) {
	out, err := b.goCommand(ctx, "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes", "sigs.k8s.io/kwok")
	if err != nil {
		return "", err
	}
	versions := strings.Fields(string(out))
	if len(versions) != 2 {
		return "", fmt.Errorf("reading the versions to build: go list printed %q", out)
	}
	kubernetes, kwok := versions[0], versions[1]
	numbers := strings.SplitN(strings.TrimPrefix(kubernetes, "v"), ".", 3)
	if len(numbers) != 3 {
		return "", fmt.Errorf("reading the versions to build: %q is no version of Kubernetes", kubernetes)
	}
	var flags []string
	for name, value := range map[string]string{
		"k8s.io/component-base/version.gitVersion":   kubernetes,
		"k8s.io/component-base/version.gitMajor":     numbers[0],
		"k8s.io/component-base/version.gitMinor":     numbers[1],
		"k8s.io/component-base/version.gitCommit":    "unknown",
		"k8s.io/component-base/version.gitTreeState": "clean",
		"sigs.k8s.io/kwok/pkg/consts.Version":        kwok,
	} {
		flags = append(flags, "-X="+name+"="+value)
	}
	// In a fixed order: the go command links again when its flags change.
	slices.Sort(flags)
	return strings.Join(flags, " "), nil
}

// goCommand runs the go command in the cluster module and returns its stdout;
// what it says on stderr goes to progress.
func (b *builder) goCommand(ctx context.Context, args ...string) ([]byte, error) {
	var stdout bytes.Buffer
	cmd := exec.Command("go", args...)
	cmd.Dir = b.Module()
	cmd.Env = b.environment()
	cmd.Stdout = &stdout
	stderr := &lineWriter{each: b.progress.line}
	cmd.Stderr = stderr
	started := time.Now()
	err := process.Run(ctx, cmd)
	stderr.flush()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("building the cluster's programs: stopped after %s: %w",
			time.Since(started).Round(time.Second), context.Cause(ctx))
	case err != nil:
		return nil, buildError(args[0], err, b.progress.complaints())
	}
	return stdout.Bytes(), nil
}

// environment is ours, made safe for building programs for this machine: no C
// compiler is needed, no enclosing go.work interferes, nothing is cross-built.
// The go command's temporary files go where we remove them: interrupted at the
// wrong moment, it leaves them behind.
func (b *builder) environment() []string {
	var env []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		switch name {
		case "GOOS", "GOARCH", "GOWORK", "CGO_ENABLED", "GOTMPDIR":
		default:
			env = append(env, variable)
		}
	}
	return append(env, "GOWORK=off", "CGO_ENABLED=0", "GOTMPDIR="+b.fresh)
}

// buildError makes one sentence of a failed go command, and lets it speak.
func buildError(verb string, err error, complaints string) error {
	if strings.Contains(complaints, "no space left on device") ||
		strings.Contains(complaints, "not enough space on the disk") {
		return errors.New("building the cluster's programs: the disk is full; a first build needs about 5 GB " +
			"for the go command's caches (`go env GOCACHE GOMODCACHE` says where they are) and the programs")
	}
	if complaints == "" {
		return fmt.Errorf("building the cluster's programs: go %s: %w", verb, err)
	}
	return fmt.Errorf("building the cluster's programs: go %s: %w; it said:\n%s", verb, err, complaints)
}
