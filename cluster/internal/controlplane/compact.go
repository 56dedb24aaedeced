// Forgetting history, as every cluster does all the time: kube-apiserver has
// etcd compacted each five minutes. Who then asks for an older version is told
// 410 Gone. Here it happens at once, for those who want to see it.

package controlplane

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"client-go-workshop/cluster/internal/launcher"
)

// Compact makes etcd forget every version but the newest of each object. The
// API server keeps what its own watch cache holds until it is restarted.
//
// etcd can still be read at the very revision at which it was compacted. A
// client that has seen the newest version would not notice, so there is a newer
// one first, of a key that Kubernetes never looks at.
func Compact(ctx context.Context, etcd *launcher.Running) (revision string, err error) {
	var now struct {
		Header struct {
			Revision string `json:"revision"`
		} `json:"header"`
	}
	put := fmt.Sprintf(`{"key": %q}`, base64.StdEncoding.EncodeToString([]byte("workshop/compacted")))
	if err := ask(ctx, etcd, "/v3/kv/put", put, &now); err != nil {
		return "", fmt.Errorf("asking etcd for a new revision: %w", err)
	}
	revision = now.Header.Revision
	body := fmt.Sprintf(`{"revision": %q, "physical": true}`, revision)
	if err := ask(ctx, etcd, "/v3/kv/compaction", body, nil); err != nil {
		return "", fmt.Errorf("compacting etcd at revision %s: %w", revision, err)
	}
	return revision, nil
}

// ask uses etcd's JSON gateway, which spares the launcher a gRPC client.
func ask(ctx context.Context, etcd *launcher.Running, path, body string, into any) error {
	client, err := etcd.Probe.Client()
	if err != nil {
		return err
	}
	url := strings.TrimSuffix(etcd.Probe.URL, "/readyz") + path
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewBufferString(body))
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("reading etcd's answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return statusError{response.StatusCode, strings.TrimSpace(string(answer))}
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}
