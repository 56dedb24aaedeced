package scripts

// These tests run the beginning of node-image.sh on programs that are played, and the scripts of .ci/kind.
// kind_real_test.go builds the image.

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// newBuilder returns a world with the tools that node-image.sh needs besides those of the other scripts.
func newBuilder(t *testing.T) *world {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("node-image.sh is for Linux")
	}
	w := newWorld(t)
	for _, tool := range []string{"cut", "gzip", "mv", "uname"} {
		path, err := exec.LookPath(tool)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(w.bin, tool)))
	}
	played, err := filepath.Abs(filepath.Join("testdata", "bin", "mmdebstrap"))
	require.NoError(t, err)
	require.NoError(t, os.Symlink(played, filepath.Join(w.bin, "mmdebstrap")))
	require.NoError(t, os.Symlink(played, filepath.Join(w.bin, "cc"))) // it is only looked for
	return w
}

// mmdebstrap makes a folder where the name does not end in .tar. Docker cannot add a folder as the root of an image.
func TestNode_image_downloads_Debian_once_and_keeps_an_archive(t *testing.T) {
	w := newBuilder(t)
	_, stderr, code := w.run("node-image.sh", "--parts")
	require.Equal(t, 1, code, "the go that is played builds no Kubernetes")
	require.Contains(t, stderr, "building the programs of the control plane")

	archives, err := filepath.Glob(filepath.Join(w.root, ".workshop", "node-image", "debian-*"))
	require.NoError(t, err)
	require.Len(t, archives, 1, "nothing else is left of the download")
	require.Regexp(t, `debian-[0-9a-f]{12}\.tar$`, archives[0])
	info, err := os.Stat(archives[0])
	require.NoError(t, err)
	require.True(t, info.Mode().IsRegular(), "%s is not a file but %s", archives[0], info.Mode())

	w.run("node-image.sh", "--parts")
	require.Equal(t, 1, strings.Count(w.told("calls"), "mmdebstrap "), "the second time it is there")
}

func TestNode_image_says_in_one_sentence_what_is_missing(t *testing.T) {
	for _, program := range []string{"mmdebstrap", "cc", "docker"} {
		w := newBuilder(t)
		require.NoError(t, os.Remove(filepath.Join(w.bin, program)))
		_, stderr, code := w.run("node-image.sh", "--again")
		require.Equal(t, 1, code)
		require.Equal(t, 1, strings.Count(stderr, "\n"), "one line, not:\n%s", stderr)
		require.Contains(t, stderr, "there is no program "+program+" in your PATH")
	}
}

func TestNode_image_saves_the_image_for_a_room(t *testing.T) {
	w := newBuilder(t)
	w.is("source-image", "")
	share := filepath.Join(w.root, ".workshop", "share")
	w.runs("node-image.sh")
	require.NoDirExists(t, share)

	w.is("disk-full", "")
	_, stderr, code := w.run("node-image.sh", "--save")
	require.Equal(t, 1, code)
	requireInOrder(t, stderr, "no space left on device", "saving the image client-go-workshop/node:v")
	require.NoFileExists(t, filepath.Join(share, "node-linux-arm64.tar.gz"))

	w.forget("disk-full")
	require.Contains(t, w.runs("node-image.sh", "--save"), "saving it as .workshop/share/node-linux-arm64.tar.gz")
	require.FileExists(t, filepath.Join(share, "node-linux-arm64.tar.gz"))
	left, err := os.ReadDir(share)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

// The second engine leaves mounts below its folder. They ended the test of kind with an error after it had passed.
func TestEngine_ends_as_its_command_and_leaves_nothing(t *testing.T) {
	needDocker(t)
	for _, program := range []string{"dockerd", "unshare"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s here", program)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("the second engine needs root")
	}
	// The path of a socket may have 104 bytes, and t.TempDir is longer.
	temp, err := os.MkdirTemp("", "engine")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(temp)) })
	data := t.TempDir()
	for command, want := range map[string]int{
		`docker version >/dev/null`: 0,
		// Without a second engine, the variable is not set here.
		`case $DOCKER_HOST in *engine*) mount -t tmpfs none "$(mktemp -d "${DOCKER_HOST#unix:/}.XXXX")" ;; esac; exit 7`: 7,
	} {
		cmd := exec.CommandContext(t.Context(), "../.ci/kind/engine.sh", "sh", "-c", command)
		cmd.Env = append(os.Environ(), "TMPDIR="+temp, "KIND_ENGINE="+data)
		said, _ := cmd.CombinedOutput()
		require.Equal(t, want, cmd.ProcessState.ExitCode(), "%s:\n%s", command, said)
		left, err := os.ReadDir(temp)
		require.NoError(t, err)
		require.Empty(t, left, "%s:\n%s", command, said)
	}
}

func TestRuntime_is_runc_without_the_capability_that_the_engine_lacks(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the second engine is for Linux")
	}
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o755))
		return path
	}
	write("runc", "#!/bin/sh\necho \"$@\"\n")
	container := write("config.json",
		`{"bounding":["CAP_SYS_RESOURCE","CAP_KILL"],"permitted":["CAP_KILL","CAP_SYS_RESOURCE"]}`)
	process := write("process.json", `{"bounding":["CAP_KILL","CAP_SYS_RESOURCE","CAP_CHOWN"]}`)
	run := func(args ...string) {
		cmd := exec.CommandContext(t.Context(), "../.ci/kind/runtime.sh", args...)
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		said, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", said)
		require.Equal(t, strings.Join(args, " ")+"\n", string(said), "runc gets the same arguments")
	}
	run("--root", "r", "create", "--bundle", dir, "id")
	run("exec", "--process", process, "id")
	run("state", "id")
	for path, want := range map[string]string{
		container: `{"bounding":["CAP_KILL"],"permitted":["CAP_KILL"]}`,
		process:   `{"bounding":["CAP_KILL","CAP_CHOWN"]}`,
	} {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, want, string(content))
	}
}
