// A user writes node instead of nodes.
//
// Question: What does the server store?
//
// Wrong: unknown-fields-are-kept
//
// Story: The mistake is in the object for years. Each reader believes that the network has five nodes. kubectl refuses
// unknown fields, but only if the server does not keep them.
package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/fakeapi/crd"
	customresource "client-go-workshop/labs/solutions/custom-resource"
)

func main() {
	api := fakeapi.New()
	defer api.Close()
	resource, _ := crd.Parse(customresource.Manifest())
	api.Serve(resource)

	const url = "http://in-memory/apis/bitcoin.example.com/v1alpha1/namespaces/default/bitcoinnetworks"
	const body = `{"apiVersion": "bitcoin.example.com/v1alpha1", "kind": "BitcoinNetwork", "metadata": {"name": "demo"},
		"spec": {"version": "29.0", "node": 5}}`
	response, _ := api.Client().Post(url, "application/json", strings.NewReader(body))
	answer, _ := io.ReadAll(response.Body)
	_, spec, _ := strings.Cut(string(answer), `"spec":`)

	fmt.Println(response.StatusCode == http.StatusCreated, strings.TrimSpace(spec))
}
