package rewritingproxy_test

// Task 5: JSON patches, some of which an API server reads in another way than the standard.

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/guard"
)

func TestTask5_JSON_patches_are_translated(t *testing.T) {
	const (
		values = "In a JSON patch, the value of each operation is translated that sets or tests spec.replicas, spec, " +
			"or the whole object."
		removal = "A removal of spec.replicas stays as it is."
		others  = values + " Other operations stay as they are."
		empty   = "An empty path is allowed, and is the whole object. A from that is missing is allowed too."
		exact   = "The names in an operation are case-sensitive, and the last of two equal ones counts. If the proxy read " +
			"them otherwise than the API server does, a patch could pass without a translation."
	)
	guard.Test(t, values, func(t *guard.T) {
		for _, c := range []struct{ rule, sent, want string }{
			{values, `[{"op":"replace","path":"/spec/replicas","value":6}]`, `[{"op":"replace","path":"/spec/replicas",` +
				`"value":2}]`},
			{values, `[{"op":"add","path":"/spec/replicas","value":9}]`, `[{"op":"add","path":"/spec/replicas","value":3}]`},
			{values, `[{"op":"test","path":"/spec/replicas","value":6},{"op":"replace","path":"/spec/replicas","value":12}]`,
				`[{"op":"test","path":"/spec/replicas","value":2},{"op":"replace","path":"/spec/replicas","value":4}]`},
			{values, `[{"op":"add","path":"/spec/replicas","value":6},{"op":"replace","path":"/spec/replicas","value":12}]`,
				`[{"op":"add","path":"/spec/replicas","value":2},{"op":"replace","path":"/spec/replicas","value":4}]`},
			{values, `[{"op":"test","path":"/spec","value":{"replicas":6}},{"op":"add","path":"/spec/replicas","value":null}]`,
				`[{"op":"test","path":"/spec","value":{"replicas":2}},{"op":"add","path":"/spec/replicas","value":null}]`},
			{values, `[{"value":{"paused":true,"replicas":6},"path":"/spec","op":"replace"}]`,
				`[{"value":{"paused":true,"replicas":2},"path":"/spec","op":"replace"}]`},
			{empty, `[{"op":"replace","path":"","value":{"spec":{"replicas":6}}}]`,
				`[{"op":"replace","path":"","value":{"spec":{"replicas":2}}}]`},
			{values, `[{"op":"test","path":"","value":{"spec":{"replicas":6},"status":{"replicas":6}}}]`,
				`[{"op":"test","path":"","value":{"spec":{"replicas":2},"status":{"replicas":6}}}]`},
			{values, `[{"op":"repl\u0061ce","path":"\u002fspec\/replicas","value":6}]`, `[{"op":"replace",` +
				`"path":"/spec/replicas","value":2}]`},
			{values, `[` + strings.Repeat(`{"op":"add","path":"/spec/paused","value":true},`, 200) +
				`{"op":"add","path":"/spec/replicas","value":6}]`,
				`[` + strings.Repeat(`{"op":"add","path":"/spec/paused","value":true},`, 200) +
					`{"op":"add","path":"/spec/replicas","value":2}]`},
			{exact, `[{"op":"replace","path":"/spec/replicas","Path":"/x","value":6}]`,
				`[{"op":"replace","path":"/spec/replicas","Path":"/x","value":2}]`},
			{exact, `[{"op":"replace","path":"/spec/replicas","value":6,"OP":"remove"}]`,
				`[{"op":"replace","path":"/spec/replicas","value":2,"OP":"remove"}]`},
			{exact, `[{"op":"replace","path":"/x","path":"/spec/replicas","value":6}]`,
				`[{"op":"replace","path":"/spec/replicas","value":2}]`},
			{removal, `[{"op":"remove","path":"/spec/replicas"}]`, `[{"op":"remove","path":"/spec/replicas"}]`},
			{removal, `[{"op":"remove","path":"/spec/replicas","value":7}]`,
				`[{"op":"remove","path":"/spec/replicas","value":7}]`},
			{others, `[]`, `[]`},
			{others, `[{"op":"add","path":"/spec~1replicas","value":7},{"op":"add","path":"/spec/Replicas","value":7}]`,
				`[{"op":"add","path":"/spec~1replicas","value":7},{"op":"add","path":"/spec/Replicas","value":7}]`},
			{others, `[{"op":"replace","path":"/spec/paused","value":true},{"op":"test","path":"/status/replicas","value":6}]`,
				`[{"op":"replace","path":"/spec/paused","value":true},{"op":"test","path":"/status/replicas","value":6}]`},
			{others, `[{"op":"add","path":"/metadata/annotations","value":{"replicas":"6","n":9007199254740993}}]`,
				`[{"op":"add","path":"/metadata/annotations","value":{"replicas":"6","n":9007199254740993}}]`},
			{others, `[{"op":"add","path":"/","value":{"spec":{"replicas":7}}}]`,
				`[{"op":"add","path":"/","value":{"spec":{"replicas":7}}}]`},
			{others, `[{"op":"add","path":"/spec/","value":{"replicas":7}}]`,
				`[{"op":"add","path":"/spec/","value":{"replicas":7}}]`},
			{others, `[{"op":"copy","from":"/metadata/labels/app","path":"/metadata/labels/b"}]`,
				`[{"op":"copy","from":"/metadata/labels/app","path":"/metadata/labels/b"}]`},
		} {
			t.Rule("%s", c.rule)
			t.Did("StoreBody of a JSON patch: %.200s", c.sent)
			stored, err := view.StoreBody(jsonPatch, []byte(c.sent))
			require.NoError(t, err, "the error of StoreBody")
			requireJSON(t, c.want, string(stored), "the result of StoreBody")
		}
	})
}

func TestTask5_JSON_patches_that_are_refused(t *testing.T) {
	const (
		moves = "A move or a copy from or to one of these three is refused with the code 422, because its number is not in " +
			"the patch."
		values = "In a JSON patch, the value of each operation is translated that sets or tests spec.replicas, spec, " +
			"or the whole object. If Factor does not divide it, the patch is refused."
		slash = "A path or a from that does not begin with a slash is refused with the code 400. " +
			"API servers ignore the text before the first slash, so x/spec/replicas sets spec.replicas."
		shape = "JSON that is neither an object nor a JSON patch is refused with the code 400. Null is neither of them."
	)
	guard.Test(t, moves, func(t *guard.T) {
		for _, c := range []struct{ rule, patch string }{
			{moves, `[{"op":"copy","from":"/spec/revisionHistoryLimit","path":"/spec/replicas"}]`},
			{moves, `[{"op":"move","from":"/spec/replicas","path":"/spec/minReadySeconds"}]`},
			{moves, `[{"op":"copy","from":"/spec/replicas","path":"/spec/minReadySeconds"}]`},
			{moves, `[{"op":"copy","from":"/spec","path":"/metadata/novel"}]`},
			{moves, `[{"op":"move","from":"/metadata/novel","path":"/spec"}]`},
			{moves, `[{"op":"copy","from":"/metadata/novel","path":""}]`},
			{moves, `[{"op":"copy","from":"","path":"/metadata/novel"}]`},
			{moves, `[{"op":"co\u0070y","from":"\u002fspec\/replicas","path":"/metadata/novel"}]`},
			{values, `[{"op":"replace","path":"/spec/replicas","value":7}]`},
			{values, `[{"op":"test","path":"/spec/replicas","value":7}]`},
			{values, `[{"op":"replace","path":"/spec/replicas","value":"6"}]`},
			{values, `[{"op":"add","path":"/spec","value":{"replicas":6.0}}]`},
			{values, `[{"op":"add","path":"/spec","value":{"replicas":6,"replicas":7}}]`},
			{values, `[{"op":"add","path":"/spec/paused","value":true},{"op":"replace","path":"",` +
				`"value":{"spec":{"replicas":1}}}]`},
			{values, `[{"op":"replace","path":"/spec/replicas","value":7},{"op":"add","path":"/spec/paused","value":true}]`},
			{values, `[{"op":"test","path":"/spec","value":{"replicas":7}},{"op":"add","path":"/spec/replicas","value":6}]`},
			{moves, `[{"op":"copy","from":"/spec","path":"/a"},{"op":"add","path":"/spec/paused","value":true}]`},
			{slash, `[{"op":"replace","path":"x/spec/replicas","value":6}]`},
			{slash, `[{"op":"test","path":"spec/spec/replicas","value":6}]`},
			{slash, `[{"op":"add","path":"x/spec","value":{"replicas":6}}]`},
			{slash, `[{"op":"copy","from":"/metadata/generation","path":"x/spec/replicas"}]`},
			{slash, `[{"op":"copy","from":"x/spec","path":"/metadata/novel"}]`},
			{slash, `[{"op":"remove","path":"spec/replicas"}]`},
			{slash, `[{"op":"remove","path":"spec/replicas"},{"op":"add","path":"/spec/paused","value":true}]`},
			{shape, `null`},
			{shape, `[{"op":"remove","path":"/spec/paused"},null]`},
			{shape, `[null,{"op":"remove","path":"/spec/paused"}]`},
		} {
			wanted := http.StatusUnprocessableEntity
			if c.rule == slash || c.rule == shape {
				wanted = http.StatusBadRequest
			}
			t.Rule("%s", c.rule)
			t.Did("StoreBody of a JSON patch: %s", c.patch)
			_, err := view.StoreBody(jsonPatch, []byte(c.patch))
			require.Equal(t, wanted, code(err), "the code of the error of StoreBody")
		}
	})
}
