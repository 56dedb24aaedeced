package customresource

// This file is given. It has a registry for the program: a folder with a file for each entry. It is outside of the
// cluster, and it outlives the process.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"
)

// FileRegistry is a Registry in a folder, which must exist. An entry is the file UID.json.
type FileRegistry struct{ Dir string }

// Register writes the file of an entry. A reader sees the old file or the new one, even after a crash.
func (r FileRegistry) Register(ctx context.Context, entry Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	data, err := json.Marshal(entry)
	if err != nil {
		return fmt.Errorf("encoding the entry of %s: %w", entry.ID, err)
	}
	file := r.file(entry.ID)
	if err := os.WriteFile(file+".new", data, 0o644); err != nil {
		return fmt.Errorf("writing an entry: %w", err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		return fmt.Errorf("replacing an entry: %w", err)
	}
	return nil
}

// Remove removes the file of an entry.
func (r FileRegistry) Remove(ctx context.Context, id types.UID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.Remove(r.file(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing an entry: %w", err)
	}
	return nil
}

func (r FileRegistry) file(id types.UID) string {
	return filepath.Join(r.Dir, filepath.Base(string(id))+".json")
}
