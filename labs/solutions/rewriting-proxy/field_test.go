package rewritingproxy

// This file compares the functions for fields in bytes with encoding/json. They must never fail on valid JSON, and
// never panic on any bytes.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// tree returns a random JSON value, in which the keys "a" and "b" are frequent.
func tree(r *rand.Rand, depth int) any {
	kinds := 4
	if depth == 0 {
		kinds = 2
	}
	switch r.IntN(kinds) {
	case 0:
		return []any{nil, true, `\"}`, `\\`, "{[,:]}", "é\x00\n", ""}[r.IntN(7)]
	case 1:
		return r.Int64() >> r.IntN(64)
	case 2:
		list := []any{}
		for range r.IntN(4) {
			list = append(list, tree(r, depth-1))
		}
		return list
	}
	object := map[string]any{}
	for range r.IntN(4) {
		object[[]string{"a", "b", "", `"`, "c\\"}[r.IntN(5)]] = tree(r, depth-1)
	}
	return object
}

// each calls a test with random JSON, always the same: some of it is indented.
func each(t *testing.T, root func(r *rand.Rand) any, check func(text []byte)) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 5000 {
		text, err := json.Marshal(root(r))
		require.NoError(t, err)
		if i%2 == 0 {
			var out bytes.Buffer
			require.NoError(t, json.Indent(&out, text, " ", "\t"))
			text = out.Bytes()
		}
		check(text)
	}
}

func TestField_is_what_a_decoder_finds(t *testing.T) {
	found := 0
	each(t, func(r *rand.Rand) any {
		return map[string]any{"a": map[string]any{"b": tree(r, 2), "c": tree(r, 2)}, "b": tree(r, 3)}
	}, func(text []byte) {
		value, err := field(text, "a", "b")
		require.NoError(t, err)
		var decoded any
		require.NoError(t, json.Unmarshal(text, &decoded))
		inner := decoded.(map[string]any)["a"].(map[string]any)
		var got any
		require.NoError(t, json.Unmarshal(value, &got))
		require.Equal(t, inner["b"], got, "%s", text)
		inner["b"] = "new"
		replaced, err := replaceField(text, func([]byte) ([]byte, error) { return []byte(`"new"`), nil }, "a", "b")
		require.NoError(t, err)
		var after any
		require.NoError(t, json.Unmarshal(replaced, &after), "%s", replaced)
		require.Equal(t, decoded, after)
		value, err = field(text, "b", "a", "b")
		require.NoError(t, err)
		middle, _ := decoded.(map[string]any)["b"].(map[string]any)
		outer, _ := middle["a"].(map[string]any)
		_, has := outer["b"]
		require.Equal(t, has, value != nil, "%s", text)
		if has {
			found++
		}
	})
	require.Greater(t, found, 10, "random trees that have the field")
}

func TestElements_are_what_a_decoder_finds(t *testing.T) {
	each(t, func(r *rand.Rand) any {
		return []any{tree(r, 2), tree(r, 3), tree(r, 1)}[:r.IntN(4)]
	}, func(text []byte) {
		var list []any
		require.NoError(t, json.Unmarshal(text, &list))
		got, err := elements(text)
		require.NoError(t, err)
		require.Len(t, got, len(list))
		again, err := eachElement(text, func(element []byte) ([]byte, error) { return element, nil })
		require.NoError(t, err)
		require.JSONEq(t, string(text), string(again))
	})
}

func FuzzField(f *testing.F) {
	for _, text := range []string{`{"a":{"b":1}}`, `{"a":`, `{"a"`, `{`, `[1,`, `"\`, `{"a":{"b":}}`,
		`{"\u0061":{"b":[]}}`, ``, `}`, `{,}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		value, err := field(text, "a", "b")
		if json.Valid(text) {
			require.NoError(t, err)
			require.True(t, value == nil || json.Valid(value), fmt.Sprintf("%s in %s", value, text))
		}
		elements(text)
		replaceField(text, func(value []byte) ([]byte, error) { return append(value[:0:0], '1'), nil }, "a", "b")
	})
}
