package scripts

// These tests build the controllers' images on a Docker that is played, and, with -real, chapter 07's on the Docker of
// this machine.

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReal_image_is_the_binary_alone_runs_as_nobody_and_stops_when_it_is_told(t *testing.T) {
	needReal(t)
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

func TestImage_is_of_the_controller_that_is_named(t *testing.T) {
	for _, c := range []struct {
		args                     []string
		name, program, container string
	}{
		{nil, "pdb-controller", "./solutions/07-controller/cmd/pdb-controller", "solutions/07-controller"},
		{[]string{"yours"}, "pdb-controller", "./07-controller/cmd/pdb-controller", "solutions/07-controller"},
		{[]string{"finished", "bitcoin-controller"}, "bitcoin-controller",
			"./labs/solutions/custom-resource/cmd/bitcoin-controller", "labs/solutions/custom-resource"},
		{[]string{"yours", "bitcoin-controller"}, "bitcoin-controller",
			"./labs/custom-resource/cmd/bitcoin-controller", "labs/solutions/custom-resource"},
	} {
		w := newWorld(t)
		image := strings.TrimSuffix(w.runs("image.sh", c.args...), "\n")
		require.Regexp(t, "^client-go-workshop/"+c.name+":[0-9a-f]{12}$", image)
		requireInOrder(t, w.told("calls"), " "+c.program+"\n",
			"docker build --quiet --file "+c.container+"/deploy/Dockerfile --tag "+image)
		require.Equal(t, c.name+"\n", w.told("context"), "Docker is given the binary and nothing else")
		dockerfile, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(c.container), "deploy", "Dockerfile"))
		require.NoError(t, err)
		require.Contains(t, string(dockerfile), "\nCOPY "+c.name+" /"+c.name+"\n")
	}
	for _, wrong := range [][]string{{"theirs"}, {"finished", "kubelet"}} {
		_, stderr, code := newWorld(t).run("image.sh", wrong...)
		require.Equal(t, 2, code)
		require.Contains(t, stderr, "there is no controller called "+wrong[len(wrong)-1])
	}
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
	ctx := context.WithoutCancel(t.Context()) // also in Cleanup
	said, err := exec.CommandContext(ctx, "docker", args...).CombinedOutput()
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
