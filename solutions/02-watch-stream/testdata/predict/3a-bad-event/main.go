// A decoder returns a, then an error, and then b.
//
// Question: What does the consumer receive?
//
// Wrong: goes-on-after-an-error
//
// Story: The event that could not be decoded may be a deletion. If the watch continues, the consumer has missed a
// change, and the deleted object stays in its cache. The end of the channel forces the consumer to watch again from the
// version before the error, or to list.
package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	watchstream "client-go-workshop/solutions/02-watch-stream"
)

func main() {
	decoder := &decoder{results: []any{deployment("a"), errors.New("no kind is set"), deployment("b"), io.EOF}}
	w := watchstream.NewStreamWatcher(decoder, apierrors.NewClientErrorReporter(http.StatusInternalServerError, "", ""))
	for e := range w.ResultChan() {
		if d, ok := e.Object.(*appsv1.Deployment); ok {
			fmt.Println(e.Type, d.Name)
		} else {
			fmt.Println(e.Type)
		}
	}
	fmt.Println("the end")
}

func deployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// decoder returns one result after another.
type decoder struct{ results []any }

func (d *decoder) Decode() (watch.EventType, runtime.Object, error) {
	next := d.results[0]
	d.results = d.results[1:]
	if err, ok := next.(error); ok {
		return "", nil, err
	}
	return watch.Added, next.(runtime.Object), nil
}

func (d *decoder) Close() {}
