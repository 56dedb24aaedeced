package fakeapi

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestCustom_resources_come_in_pages(t *testing.T) {
	s := New()
	defer s.Close()
	kind := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Box"}
	s.Serve(Custom{
		Kind: kind, Plural: "boxes", Singular: "box",
		Prune:    func(map[string]any) []string { return nil },
		Default:  func(map[string]any) {},
		Validate: func(map[string]any) field.ErrorList { return nil },
		Cells:    func(map[string]any) []any { return nil },
	})
	for i := range 3 {
		box := &unstructured.Unstructured{}
		box.SetGroupVersionKind(kind)
		box.SetNamespace("default")
		box.SetName(fmt.Sprint("box-", i))
		s.Create(box)
	}
	page := func(query string) (names []string, next string) {
		const boxes = "http://in-memory/apis/example.org/v1/namespaces/default/boxes"
		code, text := send(t, s, http.MethodGet, boxes+"?limit=2"+query, "", nil)
		require.Equal(t, http.StatusOK, code, text)
		list := &unstructured.UnstructuredList{}
		require.NoError(t, list.UnmarshalJSON([]byte(text)))
		for _, box := range list.Items {
			names = append(names, box.GetName())
		}
		return names, list.GetContinue()
	}
	names, next := page("")
	require.Equal(t, []string{"box-0", "box-1"}, names)
	require.NotEmpty(t, next)
	names, next = page("&continue=" + url.QueryEscape(next))
	require.Equal(t, []string{"box-2"}, names)
	require.Empty(t, next)
}
