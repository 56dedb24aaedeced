// The old leader has created three Pods. The new one has a cache without them.
//
// Question: How many Pods does the server have at the end?
//
// Wrong: remembers-nothing
//
// Story: Here the standby runs its informers before it becomes the leader, so that it can start at once. Its cache is
// as late as any other. Its memory of writes is empty, because another process wrote.
package main

import (
	"context"
	"fmt"
	"io"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	ownwrites "client-go-workshop/labs/solutions/own-writes"
)

func main() {
	s := &server{}
	_ = newController(s).Reconcile(context.Background(), cache.NewObjectName("default", "web"))
	leader := newController(s)
	_ = leader.Remember(context.Background())
	_ = leader.Reconcile(context.Background(), cache.NewObjectName("default", "web"))
	fmt.Println("Pods:", len(s.pods))
}

// A server has the Pods. The cache never receives them: its watch is late.
type server struct {
	pods   []corev1.Pod
	losing bool // the answer to the next create
}

func (s *server) Create(_ context.Context, pod *corev1.Pod, _ metav1.CreateOptions) (*corev1.Pod, error) {
	pod.ResourceVersion = fmt.Sprint(len(s.pods) + 10)
	s.pods = append(s.pods, *pod)
	if s.losing {
		s.losing = false
		return nil, io.ErrUnexpectedEOF
	}
	return pod, nil
}

func (s *server) Delete(context.Context, string, metav1.DeleteOptions) error { return nil }

func (s *server) List(context.Context, metav1.ListOptions) (*corev1.PodList, error) {
	return &corev1.PodList{Items: s.pods}, nil
}

// newController makes a controller of one Deployment, which wants three Pods. Its cache of Pods is empty, at version 1.
func newController(s *server) *ownwrites.Controller {
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid-1"}}
	web.Spec.Replicas = ptr.To[int32](3)
	deployments := cache.NewSharedIndexInformer(nil, web, 0, cache.Indexers{})
	pods := cache.NewSharedIndexInformer(nil, &corev1.Pod{}, 0,
		cache.Indexers{ownwrites.OwnerIndex: ownwrites.IndexByOwner})
	_ = deployments.GetStore().Add(web)
	pods.GetStore().Bookmark("1")
	return ownwrites.New(ownwrites.Config{
		Deployments: deployments, Pods: pods, Patience: time.Minute,
		Client: func(string) ownwrites.PodClient { return s },
		Store: ownwrites.NewConsistencyStore(
			map[schema.GroupResource]ownwrites.LastSyncRVGetter{ownwrites.Pods: pods.GetStore()}),
	})
}
