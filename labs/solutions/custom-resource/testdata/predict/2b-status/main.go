// A controller reads a network, a user changes it to 5 nodes, and the controller patches the status.
//
// Question: Which generation has the network, and how many ready nodes?
//
// Wrong: no-status-subresource
//
// Story: Without the subresource, the request for the status is a 404. Controllers then write the whole object, and
// undo the change that a user has just made.
package main

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/fakeapi/crd"
	customresource "client-go-workshop/labs/solutions/custom-resource"
)

const url = "http://in-memory/apis/bitcoin.example.com/v1alpha1/namespaces/default/bitcoinnetworks"

func main() {
	api := fakeapi.New()
	defer api.Close()
	resource, _ := crd.Parse(customresource.Manifest())
	api.Serve(resource)

	send(api, "POST", "", `{"apiVersion": "bitcoin.example.com/v1alpha1", "kind": "BitcoinNetwork",
		"metadata": {"name": "demo"}, "spec": {"version": "29.0"}}`)
	send(api, "PATCH", "/demo", `{"spec": {"nodes": 5}}`)
	send(api, "PATCH", "/demo/status", `{"spec": {"nodes": 3}, "status": {"readyNodes": 3}}`)
}

func send(api *fakeapi.Server, method, path, body string) {
	request, _ := http.NewRequest(method, url+path, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/merge-patch+json")
	if method == "POST" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, _ := api.Client().Do(request)
	answer, _ := io.ReadAll(response.Body)
	fmt.Println(response.StatusCode, regexp.MustCompile(`"(generation|nodes|readyNodes)":\d+`).FindAllString(string(answer), -1))
}
