// Who everybody is: authorities, certificates, and the kubeconfigs that wrap
// them. All keys are random and stay on this machine, readable by their owner.

package controlplane

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"text/template"

	"client-go-workshop/cluster/internal/launcher"
	"client-go-workshop/cluster/internal/pki"
)

func (p *plan) writeCredentials() error {
	cluster, err := p.loadOrMake("ca", "client-go-workshop cluster")
	if err != nil {
		return err
	}
	etcd, err := p.loadOrMake("etcd-ca", "client-go-workshop etcd")
	if err != nil {
		return err
	}
	// Whoever has a certificate of this authority may speak in another user's
	// name. Nobody has: it would be for extension API servers. The components
	// log errors for ever if there is no such authority at all.
	if _, err := p.loadOrMake("front-proxy-ca", "client-go-workshop front proxy"); err != nil {
		return err
	}
	if err := p.signingKey(); err != nil {
		return err
	}
	// The names under which a pod would reach the API server belong in its
	// certificate, even if no pod here ever does.
	apiServer, err1 := cluster.Server("kube-apiserver", "kubernetes", "kubernetes.default",
		"kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
	controllerManager, err2 := cluster.Server("kube-controller-manager")
	scheduler, err3 := cluster.Server("kube-scheduler")
	member, err4 := etcd.Peer("etcd")
	etcdClient, err5 := etcd.Client("kube-apiserver")
	admin, err6 := cluster.Client("admin", "system:masters") // the group that RBAC lets do everything
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		return err
	}
	for name, pair := range map[string]pki.Pair{
		"kube-apiserver": apiServer, "kube-controller-manager": controllerManager, "kube-scheduler": scheduler,
		"etcd": member, "etcd-client": etcdClient, "admin": admin,
	} {
		if err := p.writePair(name, pair); err != nil {
			return err
		}
	}
	if err := p.writeKubeconfig(p.Kubeconfig(), "admin", cluster, admin); err != nil {
		return err
	}
	// The components are ordinary users with only the rights they need: the
	// first two names have roles in every cluster, kwok's is in objects.go.
	for component, user := range map[string]string{
		"kube-controller-manager": "system:kube-controller-manager",
		"kube-scheduler":          "system:kube-scheduler",
		"kwok":                    kwokUser,
	} {
		client, err := cluster.Client(user)
		if err != nil {
			return err
		}
		if err := p.writeKubeconfig(p.Credentials(component), user, cluster, client); err != nil {
			return err
		}
	}
	return nil
}

// signingKey keeps the key of service account tokens, or makes it: tokens
// that a kept cluster has given out must stay valid.
func (p *plan) signingKey() error {
	_, err := os.Stat(p.PKI("service-account.key"))
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	private, public, err := pki.SigningKey()
	if err != nil {
		return err
	}
	if err := launcher.WriteFile(p.PKI("service-account.pub"), public); err != nil {
		return err
	}
	return launcher.WriteFile(p.PKI("service-account.key"), private)
}

func (p *plan) writePair(name string, pair pki.Pair) error {
	if err := launcher.WriteFile(p.PKI(name+".crt"), pair.Certificate); err != nil {
		return err
	}
	return launcher.WriteFile(p.PKI(name+".key"), pair.Key)
}

// kubeconfig holds its certificates itself, so that it can be copied.
var kubeconfig = template.Must(template.New("kubeconfig").Parse(`apiVersion: v1
kind: Config
current-context: workshop
contexts:
- name: workshop
  context:
    cluster: workshop
    user: {{.User}}
clusters:
- name: workshop
  cluster:
    server: {{.Server}}
    certificate-authority-data: {{.Authority}}
users:
- name: {{.User}}
  user:
    client-certificate-data: {{.Certificate}}
    client-key-data: {{.Key}}
`))

func (p *plan) writeKubeconfig(path, user string, authority *pki.Authority, client pki.Pair) error {
	encode := base64.StdEncoding.EncodeToString
	var text bytes.Buffer
	err := kubeconfig.Execute(&text, map[string]string{
		"Server":      p.server(),
		"User":        user,
		"Authority":   encode(authority.Certificate),
		"Certificate": encode(client.Certificate),
		"Key":         encode(client.Key),
	})
	if err != nil {
		return err
	}
	return launcher.WriteFile(path, text.Bytes())
}
