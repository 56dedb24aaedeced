// A proxy answers 401, with a body that is JSON but not a Status.
//
// Question: Does IsUnauthorized recognize the error?
//
// Wrong: body-must-be-a-status
//
// Story: A Status in the body may say more than the code. If the body is not a Status, the code still says what
// happened. Old versions of kubectl printed "couldn't get version/kind; json parse error" to users who only lacked
// credentials ([#29527](https://github.com/kubernetes/kubernetes/issues/29527)).
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"client-go-workshop/internal/testkit/fakeapi"
	restclient "client-go-workshop/solutions/01-restclient"
)

func main() {
	api := fakeapi.New()
	defer api.Close()
	client := must(restclient.AppsV1For(api.Config()))
	ctx := context.Background()
	api.Script("get", func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"error": "please sign in"}`)
	})
	err := client.Get().Namespace("default").Resource("deployments").Name("web").Do(ctx).Error()
	fmt.Println("unauthorized:", apierrors.IsUnauthorized(err))
	fmt.Println(err)
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
