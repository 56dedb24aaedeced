// A cache receives version 9 of an object, and then version 7.
//
// Question: Which image and which version does the last line print?
//
// Wrong: older-version-is-skipped
//
// Story: After etcd is restored from a backup, the server starts at a lower version again. A cache that skips lower
// versions then ignores every update, until the versions have caught up. Its controller works with objects from before
// the restore, and no log shows an error.
package main

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	indexer "client-go-workshop/solutions/05-indexer"
)

func main() {
	store := indexer.NewStore(indexer.MetaNamespaceKeyFunc)
	write := func(image, version string) {
		annotations := map[string]string{"image": image}
		_ = store.Update(&metav1.ObjectMeta{Name: "web", ResourceVersion: version, Annotations: annotations})
		obj, _, _ := store.GetByKey("web")
		fmt.Println(obj.(*metav1.ObjectMeta).Annotations["image"], store.LastStoreSyncResourceVersion())
	}
	write("caddy", "9")
	write("nginx", "7")
}
