// Three streams begin with an event. The first then ends, the second breaks in the middle of an event, and the third
// continues with the error page of a proxy.
//
// Question: Which of the three watches send an ERROR event?
//
// Wrong: break-is-an-error
//
// Story: A restart of an API server, or a load balancer that closes old connections, can break a watch in the
// middle of an event. If each break is an ERROR, a Reflector counts its watch as failed and lists everything again.
// After one restart every client of the cluster does so at the same time.
package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	watchstream "client-go-workshop/solutions/02-watch-stream"
)

func main() {
	const event = `{"type":"ADDED","object":{"kind":"Deployment","apiVersion":"apps/v1"}}`
	reporter := apierrors.NewClientErrorReporter(http.StatusInternalServerError, "", "")
	for _, rest := range []string{"", "{", "<html>"} {
		frames := watchstream.NewFrameReader(io.NopCloser(strings.NewReader(event + rest)))
		decoder := watchstream.NewDecoder(frames, watchstream.Objects())
		fmt.Printf("an event, then %q:", rest)
		for e := range watchstream.NewStreamWatcher(decoder, reporter).ResultChan() {
			fmt.Print(" ", e.Type)
		}
		fmt.Println(" end")
	}
}
