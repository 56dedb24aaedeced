// A client sends four operations of JSON patches to a proxy with Factor 3.
//
// Question: What is stored of each?
//
// Wrong: only-the-exact-path
//
// Story: A JSON patch can set the number without naming it: in a new spec, or in a whole new object. A proxy that looks
// for the path of the number passes these, and the client's numbers are stored.
package main

import (
	"fmt"

	rewritingproxy "client-go-workshop/labs/solutions/rewriting-proxy"
)

func main() {
	view := rewritingproxy.View{Factor: 3}
	for _, patch := range []string{
		`[{"op":"replace","path":"/spec/replicas","value":6}]`,
		`[{"op":"replace","path":"/spec","value":{"replicas":6}}]`,
		`[{"op":"test","path":"","value":{"spec":{"replicas":6}}}]`,
		`[{"op":"copy","from":"/spec/minReadySeconds","path":"/spec/replicas"}]`,
	} {
		stored, err := view.StoreBody("application/json-patch+json", []byte(patch))
		if err != nil {
			fmt.Println("an error")
			continue
		}
		fmt.Println(string(stored))
	}
}
