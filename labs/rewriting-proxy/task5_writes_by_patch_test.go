package rewritingproxy_test

// Task 5: paths of JSON patches that an API server reads in another way than the standard.

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask5_Paths_of_JSON_patches(t *testing.T) {
	const slash = "A path that does not begin with a slash is refused with the code 400, and so is such a from. " +
		"API servers ignore the text before the first slash, so x/spec/replicas sets spec.replicas."
	const empty = "An empty path is allowed, and is the whole object. A from that is missing is allowed too."
	guard.Test(t, empty, func(t *guard.T) {
		const whole = `[{"op":"replace","path":"","value":{"spec":{"replicas":%d}}}]`
		t.Did("StoreBody of a JSON patch: "+whole, 6)
		stored, err := view.StoreBody(jsonPatch, fmt.Appendf(nil, whole, 6))
		require.NoError(t, err, "the error of StoreBody")
		requireJSON(t, fmt.Sprintf(whole, 2), string(stored), "the result of StoreBody")
		t.Rule(slash)
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
