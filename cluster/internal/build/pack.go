// A pack: all programs in one .tar.gz, and before them a line that says what
// they were made from. share, in the other module, serves it without looking
// inside.

package build

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"client-go-workshop/cluster/internal/workspace"
)

// madeFrom is the pack's first entry: the stamp of the programs in it.
const madeFrom = "made-from"

// Pack makes the pack current, and the programs in it first if need be. It
// returns soon if all is current already.
func Pack(ctx context.Context, w workspace.Workspace, out io.Writer) error {
	if err := Ensure(ctx, w, out); err != nil {
		return err
	}
	unlock, err := workspace.Lock(ctx, w.BuildLock(), "packing the cluster's programs", out)
	if err != nil {
		return err
	}
	defer unlock()
	want, err := stamp(w)
	if err != nil {
		return err
	}
	if !current(w, want) {
		return errors.New("packing the cluster's programs: their sources have changed meanwhile; try again")
	}
	if have, err := packed(w.Pack()); err == nil && have == want {
		return nil
	}
	fmt.Fprintln(out, "Packing the cluster's programs.")
	if err := pack(ctx, w, want); err != nil {
		return fmt.Errorf("packing the cluster's programs: %w", err)
	}
	info, err := os.Stat(w.Pack())
	if err != nil {
		return fmt.Errorf("looking at the packed programs: %w", err)
	}
	fmt.Fprintf(out, "Packed: %s, %d MB.\n", w.Pack(), info.Size()/1e6)
	return nil
}

func pack(ctx context.Context, w workspace.Workspace, stamp string) error {
	folder := filepath.Dir(w.Pack())
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	// With a dot: share leaves such a file alone.
	file, err := os.CreateTemp(folder, ".packing-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	// Programs of Go become 5 % smaller at the usual level, and that takes
	// two and a half times as long.
	zipped, err := gzip.NewWriterLevel(file, gzip.BestSpeed)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(zipped)
	if err := archive.WriteHeader(&tar.Header{Name: madeFrom, Mode: 0o644, Size: int64(len(stamp))}); err != nil {
		return err
	}
	if _, err := io.WriteString(archive, stamp); err != nil {
		return err
	}
	for _, name := range Programs {
		if err := packProgram(ctx, archive, w.Program(name)); err != nil {
			return err
		}
	}
	if err := errors.Join(archive.Close(), zipped.Close(), file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), w.Pack())
}

func packProgram(ctx context.Context, archive *tar.Writer, path string) error {
	program, err := os.Open(path)
	if err != nil {
		return err
	}
	defer program.Close()
	info, err := program.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Name: filepath.Base(path), Mode: 0o755, Size: info.Size()}); err != nil {
		return err
	}
	_, err = io.Copy(archive, patient{ctx, program})
	return err
}

// patient reads until its context ends.
type patient struct {
	ctx  context.Context
	from io.Reader
}

func (p patient) Read(b []byte) (int, error) {
	if p.ctx.Err() != nil {
		return 0, context.Cause(p.ctx)
	}
	return p.from.Read(b)
}

// packed returns what the programs in a pack were made from.
func packed(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	archive, err := openPack(file)
	if err != nil {
		return "", err
	}
	return readMadeFrom(archive)
}

func openPack(file io.Reader) (*tar.Reader, error) {
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	return tar.NewReader(unzipped), nil
}

func readMadeFrom(archive *tar.Reader) (string, error) {
	entry, err := archive.Next()
	if err != nil {
		return "", err
	}
	if entry.Name != madeFrom || entry.Size > 1000 {
		return "", fmt.Errorf("it begins with %q: %w", entry.Name, fs.ErrInvalid)
	}
	content, err := io.ReadAll(archive)
	return string(content), err
}
