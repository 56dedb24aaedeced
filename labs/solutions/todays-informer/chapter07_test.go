package todaysinformer_test

// This file runs the tests of chapter 07 over its solution, on this lab's queue and consumer. They include the
// simulated week. The RealFIFO and the other layers are the solutions' and client-go's.

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/overlay"
)

func TestChapter_07_passes_on_this_queue(t *testing.T) {
	root, err := course.Root(".")
	require.NoError(t, err)
	layer, err := overlay.ReadDir("07-controller", "solution", filepath.Join(root, "solutions", "07-controller"))
	require.NoError(t, err)
	o, err := overlay.Write(root, layer)
	require.NoError(t, err)
	for _, dir := range []string{"07-controller", "internal/testkit", "solutions"} {
		touch(t, filepath.Join(root, dir))
	}
	for _, below := range []string{"solutions", "client-go"} {
		t.Run(below, func(t *testing.T) {
			cmd, err := o.Go(context.Background(), "test", "./07-controller", "-args", "-on", below+",deltafifo=real")
			require.NoError(t, err)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}

// touch reads the Go files below a folder, which another process compiles. go test notes the files that a test opens,
// and knows by them whether it may show an old result.
func touch(t *testing.T, dir string) {
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		_, err = os.ReadFile(path)
		return err
	})
	require.NoError(t, err)
}
