// While the watch is down, the Service "old" is deleted and the Service "new" is created, with the same address.
//
// Question: Who owns the address in the end?
//
// Wrong: deletions-come-last
//
// Story: Handlers that keep records of their own, such as addresses or ports, depend on the order. If the addition comes
// first, the deletion of the old owner frees an address that is in use.
package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	todaysinformer "client-go-workshop/labs/solutions/todays-informer"
)

func main() {
	owners := map[string]string{"10.0.0.7": "old"}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { owners[obj.(*corev1.Service).Spec.ClusterIP] = obj.(*corev1.Service).Name },
		DeleteFunc: func(obj any) {
			last := obj.(cache.DeletedFinalStateUnknown).Obj.(*corev1.Service)
			delete(owners, last.Spec.ClusterIP)
		},
	}
	store := cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc)
	_ = store.Add(service("old", "10.0.0.7"))

	list := cache.ReplacedAllInfo{Objects: []any{service("new", "10.0.0.7")}, ResourceVersion: "9"}
	_ = todaysinformer.ReplaceAll(handler, store, list, false)
	fmt.Printf("owner of 10.0.0.7: %q\n", owners["10.0.0.7"])
}

func service(name, address string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       corev1.ServiceSpec{ClusterIP: address},
	}
}
