// The objects that exist before anybody comes: kwok's rights, and the nodes.

package controlplane

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

//go:embed kwok.yaml
var kwokConfiguration []byte

// kwokUser is the name that kwok's certificate and its role agree on.
const kwokUser = "workshop:kwok"

type object map[string]any

// createObjects runs when the API server is ready and kwok not yet started.
func (p *plan) createObjects(ctx context.Context) error {
	const rbac = "rbac.authorization.k8s.io"
	rule := func(group string, resources, verbs []string) object {
		return object{"apiGroups": []string{group}, "resources": resources, "verbs": verbs}
	}
	err := p.post(ctx, "/apis/"+rbac+"/v1/clusterroles", object{
		"apiVersion": rbac + "/v1", "kind": "ClusterRole", "metadata": object{"name": kwokUser},
		// A kubelet's rights, for all nodes at once.
		"rules": []object{
			rule("", []string{"nodes"}, []string{"get", "list", "watch"}),
			rule("", []string{"pods"}, []string{"get", "list", "watch", "patch", "delete"}),
			rule("", []string{"nodes/status", "pods/status"}, []string{"patch"}),
			rule("", []string{"events"}, []string{"create", "patch", "update"}),
		},
	})
	if err != nil {
		return fmt.Errorf("creating kwok's role: %w", err)
	}
	err = p.post(ctx, "/apis/"+rbac+"/v1/clusterrolebindings", object{
		"apiVersion": rbac + "/v1", "kind": "ClusterRoleBinding", "metadata": object{"name": kwokUser},
		"roleRef":  object{"apiGroup": rbac, "kind": "ClusterRole", "name": kwokUser},
		"subjects": []object{{"apiGroup": rbac, "kind": "User", "name": kwokUser}},
	})
	if err != nil {
		return fmt.Errorf("giving kwok its role: %w", err)
	}
	for i := range p.Nodes {
		name := nodeName(i)
		err := p.post(ctx, "/api/v1/nodes", object{
			"apiVersion": "v1", "kind": "Node",
			"metadata": object{"name": name, "labels": object{"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
		})
		if err != nil {
			return fmt.Errorf("creating %s: %w", name, err)
		}
		// A node of a kept cluster still says that it is Ready. Nobody plays it
		// any more; when it says so again, kwok is at work.
		if p.Resume {
			silent := object{"type": "Ready", "status": "Unknown", "reason": "ClusterStopped"}
			err := p.call(ctx, http.MethodPatch, "/api/v1/nodes/"+name+"/status",
				object{"status": object{"conditions": []object{silent}}}, nil)
			if err != nil {
				return fmt.Errorf("marking %s as not ready: %w", name, err)
			}
		}
	}
	return nil
}

func nodeName(i int) string { return fmt.Sprintf("node-%d", i+1) }

// ready is nil once a Deployment that is created now would become Ready.
func (p *plan) ready(ctx context.Context) error {
	// Without it no pod can be created in the namespace.
	if err := p.get(ctx, "/api/v1/namespaces/default/serviceaccounts/default", nil); err != nil {
		return fmt.Errorf("waiting for the default service account: %w", err)
	}
	type condition struct{ Type, Status string }
	var nodes struct {
		Items []struct {
			Metadata struct{ Name string }
			Status   struct{ Conditions []condition }
		}
	}
	if err := p.get(ctx, "/api/v1/nodes", &nodes); err != nil {
		return fmt.Errorf("waiting for the nodes: %w", err)
	}
	isReady := map[string]bool{}
	for _, node := range nodes.Items {
		isReady[node.Metadata.Name] = slices.Contains(node.Status.Conditions, condition{"Ready", "True"})
	}
	for i := range p.Nodes {
		if !isReady[nodeName(i)] {
			return errors.New("waiting for " + nodeName(i) + " to become Ready")
		}
	}
	return nil
}

// statusError is an answer of the API server that is not a success.
type statusError struct {
	code    int
	message string
}

func (e statusError) Error() string {
	return fmt.Sprintf("the API server answers %d: %s", e.code, e.message)
}

// call makes one request as the admin.
func (p *plan) call(ctx context.Context, method, path string, body, into any) error {
	client, err := p.probe(p.ports.apiServer, "").Client()
	if err != nil {
		return err
	}
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, p.server()+path, &content)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/strategic-merge-patch+json")
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("reading the API server's answer: %w", err)
	}
	if response.StatusCode/100 != 2 {
		return statusError{response.StatusCode, strings.TrimSpace(string(answer))}
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}
