// The plan, without starting it. That the real programs accept it is for
// cluster/e2e to show.

package controlplane

import (
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/cluster/internal/launcher"
	"client-go-workshop/cluster/internal/workspace"
)

func newPlan(t *testing.T, options Options) (workspace.Workspace, launcher.Plan) {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "cluster"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "cluster", "go.mod"),
		[]byte("module client-go-workshop/cluster\n"), 0o644))
	w, err := workspace.At(root)
	require.NoError(t, err)
	plan, err := New(w, options)
	require.NoError(t, err)
	return w, plan
}

func TestEverythingListensOnLoopbackOnly(t *testing.T) {
	_, plan := newPlan(t, Options{Nodes: 1})
	bound := map[string]bool{"etcd": true, "kwok": true} // no such flag: etcd takes URLs, kwok listens nowhere
	ports := map[string]string{}
	for _, c := range plan.Components {
		for _, arg := range c.Args {
			if address, found := strings.CutPrefix(arg, "--bind-address="); found {
				require.Equal(t, "127.0.0.1", address, c.Name)
				bound[c.Name] = true
			}
			for _, url := range regexp.MustCompile(`https?://[^,]+`).FindAllString(arg, -1) {
				if !strings.HasPrefix(arg, "--service-account-issuer=") { // a name, not an address
					require.True(t, strings.HasPrefix(url, "https://127.0.0.1:"), "%s of %s", arg, c.Name)
				}
			}
			if port, found := strings.CutPrefix(arg, "--secure-port="); found {
				require.Empty(t, ports[port], "%s has the port of %s", c.Name, ports[port])
				ports[port] = c.Name
			}
			require.NotContains(t, arg, "0.0.0.0")
			require.NotContains(t, arg, "insecure")
		}
		require.True(t, bound[c.Name], "%s listens on all addresses unless it is told not to", c.Name)
	}
}

func TestPortAsked(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	port := listener.Addr().(*net.TCPAddr).Port
	taken := plan{Options: Options{Port: port}}
	require.ErrorContains(t, taken.choosePorts(), fmt.Sprintf("port %d cannot be used", port))
	require.NoError(t, listener.Close())

	p := plan{Options: Options{Port: port}}
	require.NoError(t, p.choosePorts())
	require.Equal(t, port, p.ports.apiServer)
	require.NotContains(t, []int{p.ports.etcd, p.ports.etcdPeer, p.ports.controllerManager, p.ports.scheduler}, port)
}

func TestPortsAreFreeAndDifferent(t *testing.T) {
	var p plan
	require.NoError(t, p.choosePorts())
	seen := map[int]bool{}
	for _, port := range []int{p.ports.apiServer, p.ports.etcd, p.ports.etcdPeer, p.ports.controllerManager,
		p.ports.scheduler} {
		require.False(t, seen[port], "port %d is given out twice", port)
		seen[port] = true
		listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		require.NoError(t, err, "choosing a port must not keep it")
		listener.Close()
	}
}

func TestKubeconfig(t *testing.T) {
	w, plan := newPlan(t, Options{Nodes: 1})
	content, err := os.ReadFile(w.Kubeconfig())
	require.NoError(t, err)
	text := string(content)
	require.NotContains(t, text, "insecure", "the server's certificate must be checked")
	require.Contains(t, text, "server: "+plan.Server+"\n")
	field := func(name string) []byte {
		match := regexp.MustCompile(name + `: (\S+)\n`).FindStringSubmatch(text)
		require.NotNil(t, match, name)
		decoded, err := base64.StdEncoding.DecodeString(match[1])
		require.NoError(t, err)
		return decoded
	}
	_, err = tls.X509KeyPair(field("client-certificate-data"), field("client-key-data"))
	require.NoError(t, err)
	authority, err := os.ReadFile(w.PKI("ca.crt"))
	require.NoError(t, err)
	require.Equal(t, authority, field("certificate-authority-data"))
}

func TestEverySecretIsItsOwnersOnly(t *testing.T) {
	w, _ := newPlan(t, Options{Nodes: 1})
	files := 0
	require.NoError(t, filepath.WalkDir(w.Cluster(), func(path string, entry os.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := entry.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "%s can be read by others", path)
		files++
		return nil
	}))
	require.Greater(t, files, 20)
}

// Whoever may talk to the API must not thereby be able to talk to etcd.
func TestEtcdHasAnAuthorityOfItsOwn(t *testing.T) {
	w, plan := newPlan(t, Options{Nodes: 1})
	cluster, err := os.ReadFile(w.PKI("ca.crt"))
	require.NoError(t, err)
	etcd, err := os.ReadFile(w.PKI("etcd-ca.crt"))
	require.NoError(t, err)
	require.NotEqual(t, cluster, etcd)
	require.Contains(t, plan.Components[0].Args, "--trusted-ca-file="+w.PKI("etcd-ca.crt"))
	require.Contains(t, plan.Components[0].Args, "--client-cert-auth")
}

func TestEnvironmentIsNotInherited(t *testing.T) {
	t.Setenv("ETCD_NAME", "somebody's own etcd")
	t.Setenv("KWOK_WORKDIR", "/home/somebody/.kwok")
	_, plan := newPlan(t, Options{Nodes: 1})
	for _, c := range plan.Components {
		for _, variable := range c.Env {
			require.NotContains(t, variable, "somebody", "a variable of ours changes how %s runs", c.Name)
		}
	}
}

func TestResumeKeepsAuthoritiesAndSigningKey(t *testing.T) {
	w, _ := newPlan(t, Options{Nodes: 1, Keep: true})
	files := []string{"ca.crt", "ca.key", "etcd-ca.crt", "service-account.key", "service-account.pub"}
	before := map[string]string{}
	for _, name := range append(files, "admin.crt") {
		content, err := os.ReadFile(w.PKI(name))
		require.NoError(t, err)
		before[name] = string(content)
	}
	_, err := New(w, Options{Nodes: 1, Resume: true})
	require.NoError(t, err)
	for _, name := range files {
		content, err := os.ReadFile(w.PKI(name))
		require.NoError(t, err)
		require.Equal(t, before[name], string(content), "tokens and certificates that %s has signed must stay valid", name)
	}
	content, err := os.ReadFile(w.PKI("admin.crt"))
	require.NoError(t, err)
	require.NotEqual(t, before["admin.crt"], string(content),
		"a certificate lasts a year from the start, not from the first start")
}
