package scripts

// This test builds the controller's image on the Docker of this machine, and runs it. It is skipped where there is
// none.

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestImage_is_the_binary_alone_runs_as_nobody_and_stops_when_it_is_told(t *testing.T) {
	needDocker(t)
	before := docker(t, "image", "ls", "--quiet", "--filter", "label=client-go-workshop=pdb-controller")
	cmd := exec.CommandContext(t.Context(), filepath.Join("..", "scripts", "image.sh"))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	require.NoError(t, err, "scripts/image.sh: %s", &stderr)
	image := strings.TrimSuffix(string(stdout), "\n")
	require.Regexp(t, `^client-go-workshop/pdb-controller:[0-9a-f]{12}$`, image, "its name and nothing else is printed")
	if !strings.Contains(before, docker(t, "image", "ls", "--quiet", image)) {
		t.Cleanup(func() { _ = exec.Command("docker", "image", "rm", "--force", image).Run() })
	}

	require.Equal(t, "1 layers, user 65532:65532, runs [/pdb-controller]", docker(t, "image", "inspect", "--format",
		"{{len .RootFS.Layers}} layers, user {{.Config.User}}, runs {{.Config.Entrypoint}}", image))

	// Under the restrictions of deployment.yaml. Without a cluster it runs its demonstration.
	container := docker(t, "run", "--detach", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", image)
	t.Cleanup(func() { _ = exec.Command("docker", "rm", "--force", container).Run() })
	awaitLine(t, container, "Created PodDisruptionBudget web")

	docker(t, "stop", "-t", "20", container)
	require.Equal(t, "exited with 0", docker(t, "inspect", "--format", "{{.State.Status}} with {{.State.ExitCode}}",
		container),
		"SIGTERM ends it cleanly; 137 would be Docker's patience at its end")
}

// needDocker skips a test where no Docker engine with Linux containers answers.
func needDocker(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the scripts are for bash on Linux and macOS")
	}
	if _, err := exec.LookPath("docker"); err != nil {
		t.Skip("there is no Docker here")
	}
	said, err := exec.CommandContext(t.Context(), "docker", "version", "--format", "{{.Server.Os}}").CombinedOutput()
	if err != nil {
		t.Skipf("Docker's engine does not answer: %s", said)
	}
	if system := strings.TrimSpace(string(said)); system != "linux" {
		t.Skipf("Docker runs containers of %s here, the image is for Linux", system)
	}
}

func docker(t *testing.T, args ...string) string {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), "docker", args...).CombinedOutput()
	require.NoError(t, err, "docker %s:\n%s", strings.Join(args, " "), said)
	return strings.TrimSpace(string(said))
}

// awaitLine reads what a container says until there is a line with these words.
func awaitLine(t *testing.T, container, words string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "docker", "logs", "--follow", container)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = cmd.Stdout
	require.NoError(t, cmd.Start())
	// A container that says nothing, or ends, must not keep the test waiting.
	tooLong := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer func() {
		tooLong.Stop()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), words) {
			return
		}
		said.WriteString(lines.Text() + "\n")
	}
	t.Fatalf("within a minute nothing was said of %q, only:\n%s", words, &said)
}
