package rewritingproxy_test

// Task 5: paths of JSON patches that an API server reads in another way than the standard.

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask5_Paths_of_JSON_patches(t *testing.T) {
	const slash = "A path that does not begin with a slash is refused with the code 400, and so is such a from. " +
		"API servers ignore the text before the first slash, so x/spec/replicas sets spec.replicas."
	guard.Test(t, slash, func(t *guard.T) {
		for _, patch := range []string{
			`[{"op":"replace","path":"x/spec/replicas","value":6}]`,
			`[{"op":"test","path":"spec/spec/replicas","value":6}]`,
			`[{"op":"add","path":"x/spec","value":{"replicas":6}}]`,
			`[{"op":"copy","from":"/metadata/generation","path":"x/spec/replicas"}]`,
			`[{"op":"copy","from":"x/spec","path":"/metadata/novel"}]`,
		} {
			t.Did("StoreBody of a JSON patch: %s", patch)
			stored, err := view.StoreBody(jsonPatch, []byte(patch))
			require.True(t, err != nil, "StoreBody returns an error, and not %s", stored)
			require.Equal(t, http.StatusBadRequest, code(err), "the code of the error of StoreBody")
		}
	})
}
