// The resource has moved to the version v1. A Deployment from before still names v1alpha1, and a new one names v1.
//
// Question: Which networks do the events of the two Deployments concern?
//
// Wrong: owner-of-one-version
//
// Story: An owner reference keeps the version that it was written with. A controller that compares the whole apiVersion
// stops receiving the events of half of its Deployments on the day of the upgrade.
package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	customresource "client-go-workshop/labs/solutions/custom-resource"
)

func main() {
	for _, version := range []string{"v1alpha1", "v1"} {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-" + version}}
		d.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "bitcoin.example.com/" + version, Kind: "BitcoinNetwork", Name: "coins", Controller: ptr.To(true),
		}}
		fmt.Println(customresource.Concerned(d))
	}
}
