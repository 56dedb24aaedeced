package pipeline

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file that ReadRecordings accepts can be shown at each of its steps. It cannot write to the terminal.
func FuzzReadRecordings(f *testing.F) {
	var whole bytes.Buffer
	s := newStory().change(1, "2").change(2, "3")
	_ = Recording{Log: s.Log, Title: "Week 1: your code"}.Write(&whole)
	f.Add(whole.Bytes())
	const heading = `{"workshop":"recording","format":1,"title":"\u001b[2J\u202e"`
	for _, first := range []string{
		`}`, `,"first":{}}`, `,"first":{"Informers":{"Pod":null}}}`,
		`,"first":{"Informers":{"Pod":{}},"Workers":{"w":null}}}`,
		`,"first":{"Informers":{"Pod":{"Handlers":{"handler 1":null},"Store":{"Entries":{"a":null}}}}}}`,
		`,"first":{"Queue":{"Queue":["a"]}}}`,
	} {
		for _, step := range []string{
			`{"n":1,"seam":"store","verb":"Add","kind":"Pod","key":"a","count":1,"list":[{"type":"a","key":"a"}]}`,
			`{"n":1,"seam":"handler","verb":"joined","kind":"Pod","by":"handler 1"}`,
			`{"n":1,"seam":"handler","verb":"looked","kind":"Pod","by":"handler 1","count":-1}`,
			`{"n":1,"seam":"queue","verb":"looked","count":-1}`, `{"n":1,"seam":"queue","verb":"Add","key":"a","count":-1}`,
			`{"n":1,"seam":"delta","verb":"Replace","kind":"Pod","list":[{"key":"a"}]}`,
			`{"n":1,"seam":"request","verb":"sent","count":1}`, `{"n":1,"seam":"worker","verb":"writes","by":"w"}`,
		} {
			f.Add([]byte(heading + first + "\n" + step))
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		all, err := ReadRecordings(bytes.NewReader(file))
		if err != nil {
			return
		}
		for _, r := range all {
			require.NotRegexp(t, `[\x00-\x1f\x7f-\x9f\x{202a}-\x{202e}]`, r.Title)
			first, last := r.Log.Range()
			for _, n := range []int64{first, first + 1, last} {
				_, err := json.Marshal(r.Log.At(n).View())
				require.NoError(t, err)
				Lines(r.Log.Causes(n))
				Lines(r.Log.Steps(n, 5))
			}
			Compare(r.Log, all[0].Log, "a")
			r.Log.NoteOverdue()
		}
	})
}
