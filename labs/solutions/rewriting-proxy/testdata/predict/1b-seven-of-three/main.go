// A client sends four numbers of replicas to a proxy with Factor 3.
//
// Question: What does each line print?
//
// Wrong: quotient-is-cut-off
//
// Story: The client sends 7, the proxy stores 2, and the client reads 6. An autoscaler or a GitOps tool compares this
// with what it wants, and sends 7 again. Each round trip is a write without an effect, and no log says why.
package main

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	rewritingproxy "client-go-workshop/labs/solutions/rewriting-proxy"
)

func main() {
	view := rewritingproxy.View{Factor: 3}
	for _, replicas := range []string{"6", "7", "2.0", "null"} {
		stored, err := view.Store([]byte(`{"spec":{"replicas":` + replicas + `}}`))
		if err != nil {
			fmt.Println(replicas, "is refused, invalid:", apierrors.IsInvalid(err))
			continue
		}
		fmt.Println(replicas, "is stored as", string(stored))
	}
}
