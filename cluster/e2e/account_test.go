//go:build e2e

// A controller with a service account: the token that a Pod would have, a kubeconfig with it, and the image of the
// controller, where there is a Docker. The controller's name is also that of its service account, namespace and
// program.

package e2e

import (
	"bytes"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
)

// token returns what the kubelet would put into the controller's Pods.
func (c *cluster) token(t *testing.T, name string) string {
	t.Helper()
	request, err := c.client.CoreV1().ServiceAccounts(name).CreateToken(t.Context(), name, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)},
	}, metav1.CreateOptions{})
	require.NoError(t, err, "asking for a token of service account %s", name)
	return request.Status.Token
}

// writeKubeconfig writes the cluster's kubeconfig with the service account in the admin's place.
func (c *cluster) writeKubeconfig(t *testing.T, path, name string) {
	t.Helper()
	config, err := clientcmd.LoadFromFile(c.workspace.Kubeconfig())
	require.NoError(t, err)
	config.AuthInfos = map[string]*clientcmdapi.AuthInfo{name: {Token: c.token(t, name)}}
	config.Contexts[config.CurrentContext].AuthInfo = name
	require.NoError(t, clientcmd.WriteToFile(*config, path))
}

// runImage builds the controller's image, and starts it where it finds what a Pod finds: the token and the certificate
// that the kubelet mounts, and the API server's address in two variables. Without a fitting Docker the test is skipped.
func (c *cluster) runImage(t *testing.T, name string, args ...string) (container string) {
	t.Helper()
	image := c.buildImage(t, name)
	config, err := clientcmd.BuildConfigFromFlags("", c.workspace.Kubeconfig())
	require.NoError(t, err)
	server, err := url.Parse(config.Host)
	require.NoError(t, err)
	secrets := t.TempDir()
	require.NoError(t, os.Chmod(secrets, 0o755)) // its user is nobody here
	files := map[string]string{"token": c.token(t, name), "namespace": name, "ca.crt": string(config.CAData)}
	for file, content := range files {
		path := filepath.Join(secrets, file)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
		require.NoError(t, os.Chmod(path, 0o644))
	}
	container = docker(t, append([]string{"run", "--detach", "--network=host", "--read-only", "--cap-drop=ALL",
		"--security-opt=no-new-privileges",
		"--tmpfs=/registry:uid=65532", // for a controller that keeps files
		"--volume=" + secrets + ":/var/run/secrets/kubernetes.io/serviceaccount:ro",
		"--env=KUBERNETES_SERVICE_HOST=" + server.Hostname(), "--env=KUBERNETES_SERVICE_PORT=" + server.Port(),
		image}, args...)...)
	t.Cleanup(func() {
		if t.Failed() {
			said, _ := exec.Command("docker", "logs", container).CombinedOutput()
			t.Logf("the container's log:\n%s", said)
		}
		_ = exec.Command("docker", "rm", "--force", container).Run()
	})
	return container
}

// buildImage returns the name of a controller's image. It is removed after the test if it was not there before.
func (c *cluster) buildImage(t *testing.T, name string) (image string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("a container shares the network of this machine only on Linux")
	}
	version := exec.CommandContext(t.Context(), "docker", "version", "--format={{.Server.Os}}")
	if said, err := version.CombinedOutput(); err != nil {
		t.Skipf("there is no Docker that answers: %v %s", err, bytes.TrimSpace(said))
	}
	before := docker(t, "image", "ls", "--quiet")
	build := exec.CommandContext(t.Context(), filepath.Join(c.repository.Root(), "scripts", "image.sh"), "finished", name)
	// What the test itself was started with is not how the script builds.
	build.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GOFLAGS=") })
	said, err := build.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("scripts/image.sh: %v\n%s", err, exit.Stderr)
	}
	require.NoError(t, err)
	image = strings.TrimSpace(string(said))
	if !strings.Contains(before, docker(t, "image", "ls", "--quiet", image)) {
		t.Cleanup(func() { _ = exec.Command("docker", "image", "rm", "--force", image).Run() })
	}
	return image
}

func docker(t *testing.T, args ...string) string {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), "docker", args...).CombinedOutput()
	require.NoError(t, err, "docker %s:\n%s", strings.Join(args, " "), said)
	return strings.TrimSpace(string(said))
}
