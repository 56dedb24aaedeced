package crd_test

// This file makes the fake's custom resources verified ones, as testdata/conformance of package fakeapi does for the
// other resources. Each case of testdata/custom.txtar is a request to a server that serves the definition of the lab
// custom-resource, and the answer of a real kube-apiserver. The fake must give the same answer:
//
//	go test ./internal/testkit/fakeapi/crd -run Conformance                           the fake
//	go test ./internal/testkit/fakeapi/crd -run Conformance -kubeconfig FILE          the real one
//	go test ./internal/testkit/fakeapi/crd -run Conformance -kubeconfig FILE -update  records again
//
// The cases of a file run in order, in one namespace. A request is the method, the path below the collection, headers,
// an empty line and a body. An answer is the status code, the warnings, and the fields that matter.

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/fakeapi/crd"
	"client-go-workshop/internal/testkit/realapi"
	customresource "client-go-workshop/labs/solutions/custom-resource"
)

var update = flag.Bool("update", false, "record the answers of the real API server")

const recorded = "testdata/custom.txtar"

// target is a server that serves the resource.
type target struct {
	t         *testing.T
	host      string
	client    *http.Client
	namespace string
}

func TestConformance(t *testing.T) {
	archive, err := txtar.ParseFile(recorded)
	require.NoError(t, err)
	require.NotEmpty(t, archive.Files)
	to := fake(t)
	if realapi.Given() {
		to = realServer(t)
	} else if *update {
		t.Fatal("what the fake answers is no truth: -update needs a -kubeconfig")
	}
	for i, file := range archive.Files {
		name, part, _ := strings.Cut(file.Name, "/")
		if part != "request" {
			continue
		}
		answer := to.send(string(file.Data))
		require.Equal(t, name+"/answer", archive.Files[i+1].Name, "each request has an answer below it")
		if *update {
			archive.Files[i+1].Data = []byte(answer)
			continue
		}
		require.Equal(t, string(archive.Files[i+1].Data), answer, "the answer to %s:\n%s", name, file.Data)
	}
	if *update {
		require.NoError(t, os.WriteFile(recorded, txtar.Format(archive), 0o644))
	}
}

func fake(t *testing.T) *target {
	custom, err := crd.Parse(customresource.Manifest())
	require.NoError(t, err)
	api := fakeapi.Start(t)
	api.Serve(custom)
	return &target{t, "http://in-memory", api.Client(), "custom"}
}

// realServer creates the definition and a namespace, which are removed when the test is over.
func realServer(t *testing.T) *target {
	config := realapi.Config(t)
	client, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	to := &target{t, config.Host, client, fmt.Sprintf("custom-%d", time.Now().UnixNano()%1e9)}
	definitions := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	to.must("POST", definitions+"?fieldManager=conformance", "application/yaml", customresource.Manifest())
	t.Cleanup(func() {
		to.release()
		to.must("DELETE", definitions+"/bitcoinnetworks.bitcoin.example.com", "application/json", "")
	})
	to.must("POST", "/api/v1/namespaces", "application/json",
		fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, to.namespace))
	t.Cleanup(func() { to.must("DELETE", "/api/v1/namespaces/"+to.namespace, "application/json", "") })
	require.Eventually(t, func() bool {
		response, err := client.Get(to.host + to.collection())
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	}, time.Minute, 100*time.Millisecond, "the resource is served")
	return to
}

// release removes the finalizers of all objects, which would otherwise keep the definition after a failed test.
func (to *target) release() {
	response, err := to.client.Get(to.host + to.collection())
	require.NoError(to.t, err)
	defer response.Body.Close()
	var list metav1.PartialObjectMetadataList
	require.NoError(to.t, json.NewDecoder(response.Body).Decode(&list))
	for _, object := range list.Items {
		to.must("PATCH", to.collection()+"/"+object.Name, "application/merge-patch+json", `{"metadata":{"finalizers":null}}`)
	}
}

func (to *target) must(method, path, contentType, body string) {
	request, err := http.NewRequest(method, to.host+path, strings.NewReader(body))
	require.NoError(to.t, err)
	request.Header.Set("Content-Type", contentType)
	response, err := to.client.Do(request)
	require.NoError(to.t, err)
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	require.Less(to.t, response.StatusCode, 300, "%s %s: %s", method, path, text)
}

func (to *target) collection() string {
	return "/apis/bitcoin.example.com/v1alpha1/namespaces/" + to.namespace + "/bitcoinnetworks"
}

// send sends a request, and describes the answer.
func (to *target) send(text string) string {
	head, body, _ := strings.Cut(strings.TrimSpace(text), "\n\n")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	method, path, _ := strings.Cut(lines[0], " ")
	request, err := http.NewRequest(method, to.host+to.collection()+strings.TrimSpace(path), strings.NewReader(body))
	require.NoError(to.t, err)
	request.Header.Set("Content-Type", "application/json")
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Set(name, value)
	}
	response, err := to.client.Do(request)
	require.NoError(to.t, err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	require.NoError(to.t, err)
	described := fmt.Sprintln(response.StatusCode)
	for _, warning := range response.Header.Values("Warning") {
		described += "Warning: " + warning + "\n"
	}
	answer := map[string]any{}
	require.NoError(to.t, json.Unmarshal(data, &answer), "the answer to %s: %s", text, data)
	out, err := json.MarshalIndent(matters(answer), "", "  ")
	require.NoError(to.t, err)
	described += strings.ReplaceAll(string(out), to.namespace, "{ns}") + "\n"
	return age.ReplaceAllString(described, `"(age)"`)
}

var age = regexp.MustCompile(`"\d+[smhd](\d+[smhd])?"`)

// matters removes the fields that differ from run to run, and those that the fake leaves out.
func matters(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range []string{"managedFields", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"} {
			delete(v, name)
		}
		for name := range v {
			v[name] = matters(v[name])
		}
	case []any:
		for i := range v {
			v[i] = matters(v[i])
		}
	}
	return value
}
