package failure

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var moved = Failure{
	Kind: Assertion, At: Position{"task2_index_test.go", 36}, Value: "keys under image=nginx", Problem: "not equal",
	Did: []string{"Add default/web running nginx",
		"Update default/web running caddy"}, Wanted: "[]string{}", Got: `[]string{"default/web"}`,
	Why: "An object is not found under a value that it used to have: Update asks the index function about the old " +
		"object, too.",
	Task: 2, Read: "05-indexer/README.md, task 2",
}

func TestString_is_what_a_person_reads(t *testing.T) {
	require.Equal(t, `task2_index_test.go:36: keys under image=nginx: not equal
    did     Add default/web running nginx
            Update default/web running caddy
    wanted  []string{}
    got     []string{"default/web"}
    why     An object is not found under a value that it used to have: Update asks the index function about the
            old object, too.
    read    05-indexer/README.md, task 2
`, moved.String())
}

func TestString_of_what_is_not_written_is_one_line(t *testing.T) {
	f := Failure{Kind: NotWritten, At: Position{"a_test.go", 1}, Read: "05-indexer/README.md, task 1",
		Todo: &Todo{Symbol: "Store.Add", At: Position{"store.go", 23}, Task: 1, ComesFirst: true}}
	require.Equal(t, "a_test.go:1: called Store.Add: not written yet (store.go:23, task 1 comes first): "+
		"its comment says what to write; read 05-indexer/README.md, task 1\n", f.String())
}

func TestString_shows_earlier_steps_and_later_failures(t *testing.T) {
	f := Failure{At: Position{"a_test.go", 1}, Problem: "not so", Rest: []string{"", "a line"}, Did: []string{"Pop"},
		EarlierSteps: 1, More: 2}
	require.Equal(t, "a_test.go:1: not so\n\n    a line\n    did     … 1 earlier step\n            Pop\n    … 2 more "+
		"failures\n", f.String())
}

func TestSameAs_ignores_the_steps(t *testing.T) {
	again := moved
	again.Did, again.Read = nil, ""
	require.True(t, moved.SameAs(again))
	again.Got = "[]string{}"
	require.False(t, moved.SameAs(again))
}

// roundTrip sends f through attributes, as test2json passes them on, and returns how many there were.
func roundTrip(t *testing.T, f Failure) (back Failure, attributes int) {
	t.Helper()
	var d Decoder
	var last *Failure
	f.Emit(func(key, value string) {
		require.Nil(t, last, "a failure is complete with its last attribute")
		require.Less(t, len("=== ATTR  TestTask2_With_a_long_name ")+len(key)+len(value), 4096,
			"the longest line that test2json reads")
		require.NotContains(t, value, " ")
		attributes++
		var err error
		last, err = d.Add(key, value)
		require.NoError(t, err)
		ignored, err := d.Add("something", "else")
		require.NoError(t, err)
		require.Nil(t, ignored)
	})
	require.NotNil(t, last)
	return *last, attributes
}

func TestEmit_and_Decoder_lose_nothing(t *testing.T) {
	back, attributes := roundTrip(t, moved)
	require.Equal(t, moved, back)
	require.Equal(t, 1, attributes)
	long := Failure{Kind: Hang, Problem: "日本 \n\r\t", Diff: strings.Repeat("- a\n+ ü\n", 5000), Todo: &Todo{Symbol: "X"},
		More: 3}
	back, attributes = roundTrip(t, long)
	require.Equal(t, long, back)
	require.Greater(t, attributes, 10)
}

func TestDecoder_refuses_what_is_no_failure(t *testing.T) {
	for _, value := range []string{"not base64!", "bm90IEpTT04="} {
		f, err := new(Decoder).Add(lastPiece, value)
		require.Nil(t, f)
		require.ErrorContains(t, err, "decode a failure that a test reported")
	}
}
