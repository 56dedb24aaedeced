// A Deployment has a generation that needs 54 bits.
//
// Question: Which object does the client see?
//
// Wrong: objects-are-trees
//
// Story: A float64 has 53 bits for the digits, and json.Unmarshal makes a float64 of each number in a map. Numbers of
// this size are rare in Kubernetes' own objects, and common in custom resources: identifiers, bytes, nanoseconds. A
// client reads a number that was never stored, and writes it back.
package main

import (
	"fmt"

	rewritingproxy "client-go-workshop/labs/solutions/rewriting-proxy"
)

func main() {
	view := rewritingproxy.View{Factor: 3}
	object := `{"metadata":{"generation":9007199254740993},"spec":{"replicas":2}}`
	shown, err := view.Show([]byte(object))
	if err != nil {
		panic(err)
	}
	fmt.Println(string(shown))
}
