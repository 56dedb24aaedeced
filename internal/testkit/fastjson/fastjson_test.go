package fastjson

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEvent_finds_what_is_written_as_usual(t *testing.T) {
	for frame, want := range map[string][2]string{
		`{"type":"ADDED","object":{"a":"}"}}`:                 {"ADDED", `{"a":"}"}`},
		` { "object" : {"a":[1,{}]} , "type" : "X" } ` + "\n": {"X", `{"a":[1,{}]}`},
	} {
		kind, object, ok := Event([]byte(frame))
		require.True(t, ok, frame)
		require.Equal(t, want, [2]string{kind, string(object)}, frame)
	}
	for _, frame := range []string{
		``, `{}`, `[]`, `{"type":"A"}`, `{"object":{}}`, `{"type":"A","object":1}`, `{"type":"A","object":null}`, `{"type":"A","object":{}`,
		`{"type":"A","object":{}}}`, `{"type":"A","type":"B","object":{}}`, `{"type":"A","object":{},"object":{}}`, `{"type":"A","object":{},"kind":"B"}`,
		`{"ty\u0070e":"A","object":{}}`, `{"type":"\u0041","object":{}}`, `{"Type":"A","object":{}}`, `{"type":1,"object":{}}`,
	} {
		_, _, ok := Event([]byte(frame))
		require.False(t, ok, frame)
	}
}

func TestHeadOf_finds_items(t *testing.T) {
	for body, want := range map[string][]string{
		`{"kind":"L","apiVersion":"v1","items":[{"a":[1,2]}, {} ,{"b":"],[\"\\"}]}`: {`{"a":[1,2]}`, `{}`, `{"b":"],[\"\\"}`},
		`{"items" : [ null,1 ,"]" ] ,"kind":"L","apiVersion":"v1"}`:                 {`null`, `1 `, `"]"`},
		`{"kind":"L","apiVersion":"v1","items":[]}`:                                 nil,
		`{"kind":"L","apiVersion":"v1","items":null}`:                               nil,
		`{"kind":"L","apiVersion":"v1"}`:                                            nil,
	} {
		h, ok := headOf([]byte(body))
		require.True(t, ok, body)
		require.Equal(t, [2]string{"L", "v1"}, [2]string{h.kind, h.version}, body)
		var got []string
		for _, item := range h.items {
			got = append(got, string(item))
		}
		require.Equal(t, want, got, body)
		if want != nil {
			begin, _, _ := strings.Cut(body, "[")
			require.Equal(t, begin, string(h.before), body)
			require.Equal(t, body[strings.LastIndex(body, "]")+1:], string(h.after), body)
		}
	}
	for _, body := range []string{
		`{"kind":"L","apiVersion":"v1","items":[{}],"items":[]}`, `{"kind":"L","apiVersion":"v1","items":[{}`,
		`{"kind":"L","apiVersion":"v1","items":[{},]}`, `{"kind":"L","apiVersion":"v1","items":[,{}]}`,
	} {
		_, ok := headOf([]byte(body))
		require.False(t, ok, body)
	}
}
