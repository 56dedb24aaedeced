package guard

// Each form of testify's failures that guard takes apart is made here, so that new words of testify are noticed.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/failure"
)

// recorder is a testify TestingT that keeps the last message.
type recorder struct{ message string }

func (r *recorder) Errorf(format string, args ...any) { r.message = fmt.Sprintf(format, args...) }

// known are the assertions that this package takes apart. Each fails here, about the value "v".
var known = []struct {
	name                 string
	fails                func(t assert.TestingT)
	problem, wanted, got string
}{
	{"Equal", func(t assert.TestingT) { assert.Equal(t, 1, 2, "v") }, "not equal", "1", "2"},
	{"Equal", func(t assert.TestingT) { assert.Equal(t, 1, "a", "v") }, "not equal", "int(1)", `string("a")`},
	{"Equal", func(t assert.TestingT) { assert.Equal(t, nil, 1, "v") }, "not equal", "<nil>(<nil>)", "int(1)"},
	{"EqualValues", func(t assert.TestingT) { assert.EqualValues(t, 1, int64(2), "v") }, "not equal", "int(1)",
		"int64(2)"},
	{"Same", func(t assert.TestingT) { assert.Same(t, one, other, "v") }, "not the same object",
		fmt.Sprintf("&guard.point{X:1, Y:2} (*guard.point)(%p)", one),
		fmt.Sprintf("&guard.point{X:1, Y:2} (*guard.point)(%p)", other)},
	{"NoError", func(t assert.TestingT) { assert.NoError(t, missing, "v") }, "unexpected error", "no error",
		"open /x: file does not exist"},
	{"NoError", func(t assert.TestingT) { assert.NoError(t, errors.New(""), "v") }, "unexpected error", "no error",
		"an empty text"},
	{"Error", func(t assert.TestingT) { assert.Error(t, nil, "v") }, "no error", "an error", "nil"},
	{"EqualError", func(t assert.TestingT) { assert.EqualError(t, missing, "gone", "v") }, "not equal", `"gone"`,
		`"open /x: file does not exist"`},
	{"ErrorContains", func(t assert.TestingT) { assert.ErrorContains(t, missing, "gone", "v") }, "another error",
		`an error that says "gone"`, `"open /x: file does not exist"`},
	{"ErrorIs", func(t assert.TestingT) { assert.ErrorIs(t, missing, fs.ErrExist, "v") }, "another error",
		`"file already exists", or an error that wraps it`, "\"open /x: file does not exist\"\n\t\"file does not exist\""},
	{"ErrorIs", func(t assert.TestingT) { assert.ErrorIs(t, nil, fs.ErrExist, "v") }, "no error",
		`"file already exists", or an error that wraps it`, "nil"},
	{"ErrorAs", func(t assert.TestingT) { assert.ErrorAs(t, os.ErrClosed, &asPath, "v") }, "another error",
		"*fs.PathError, or an error that wraps it", `"file already closed" (*errors.errorString)`},
	{"ErrorAs", func(t assert.TestingT) { assert.ErrorAs(t, nil, &asPath, "v") }, "no error", "an error *fs.PathError",
		"nil"},
	{"Len", func(t assert.TestingT) { assert.Len(t, []string{"a"}, 3, "v") }, "wrong length", "length 3", "length 1: [a]"},
	{"Len", func(t assert.TestingT) { assert.Len(t, make(chan int), 3, "v") }, "wrong length", "length 3", "length 0"},
	{"Nil", func(t assert.TestingT) { assert.Nil(t, 7, "v") }, "not nil", "nil", "7"},
	{"NotNil", func(t assert.TestingT) { assert.NotNil(t, asPath, "v") }, "nil", "not nil", "nil"},
	{"Empty", func(t assert.TestingT) { assert.Empty(t, []int{1}, "v") }, "not empty", "nothing", "[1]"},
	{"NotEmpty", func(t assert.TestingT) { assert.NotEmpty(t, []int{}, "v") }, "empty", "not empty", "[]"},
	{"Zero", func(t assert.TestingT) { assert.Zero(t, 1, "v") }, "not zero", "0", "1"},
	{"NotZero", func(t assert.TestingT) { assert.NotZero(t, 0, "v") }, "must not be so", "not 0", "0"},
	{"NotEqual", func(t assert.TestingT) { assert.NotEqual(t, "a", "a", "v") }, "must not be so", `not "a"`, `"a"`},
	{"NotContains", func(t assert.TestingT) { assert.NotContains(t, []int{1}, 1, "v") }, "contained", "nothing with 1",
		"[]int{1}"},
	{"Contains", func(t assert.TestingT) { assert.Contains(t, []int{1}, 2, "v") }, "not contained", "something with 2",
		"[]int{1}"},
	{"Subset", func(t assert.TestingT) { assert.Subset(t, []int{1}, []int{2}, "v") }, "not contained", "something with 2",
		"[]int{1}"},
	{"ElementsMatch", func(t assert.TestingT) {
		assert.ElementsMatch(t, []string{"a", "b"}, []string{"b", "c", "c"},
			"v")
	},
		"elements differ", `in any order: { "a", "b" }`, `{ "b", "c", "c" }`},
	{"ElementsMatch", func(t assert.TestingT) { assert.ElementsMatch(t, []int{1}, []int(nil), "v") }, "elements differ",
		"in any order: { 1 }", "<nil>"},
	{"True", func(t assert.TestingT) { assert.True(t, false, "v") }, "not so", "v", "it is not so"},
	{"False", func(t assert.TestingT) { assert.False(t, true, "v") }, "must not be so", "not so: v", "it is so"},
	{"Greater", func(t assert.TestingT) { assert.Greater(t, 1, 2, "v") }, "out of range", "greater than 2", "1"},
	{"GreaterOrEqual", func(t assert.TestingT) { assert.GreaterOrEqual(t, 1, 2, "v") }, "out of range",
		"greater than or equal to 2", "1"},
	{"Less", func(t assert.TestingT) { assert.Less(t, 3, 2, "v") }, "out of range", "less than 2", "3"},
	{"LessOrEqual", func(t assert.TestingT) { assert.LessOrEqual(t, 3, 2, "v") }, "out of range",
		"less than or equal to 2", "3"},
}

type point struct{ X, Y int }

var (
	one, other = &point{1, 2}, &point{1, 2}
	missing    = &fs.PathError{Op: "open", Path: "/x", Err: fs.ErrNotExist}
	asPath     *fs.PathError
)

func TestEvery_assertion_says_what_it_wanted_and_got(t *testing.T) {
	for _, c := range known {
		t.Run(c.name, func(t *testing.T) {
			var r recorder
			c.fails(&r)
			f := fromMessage(r.message)
			require.Equal(t, []string{c.problem, c.wanted, c.got}, []string{f.Problem, f.Wanted, f.Got}, r.message)
			require.Equal(t, "v", f.Value)
			require.Equal(t, failure.Assertion, f.Kind)
		})
	}
}

func TestA_text_that_is_not_known_is_passed_on_whole(t *testing.T) {
	f := fromAssertion("some new wording\nof testify", "the keys")
	require.Equal(t, failure.Failure{Kind: failure.Assertion, Value: "the keys", Problem: "an assertion failed",
		Wanted: "the assertion holds", Got: "some new wording\nof testify"}, f)
	for _, message := range []string{"plain", "two\nlines", "\tError:\tnot quite\nthe layout",
		"\tTest:      \tlabels without an error"} {
		f := fromMessage(message)
		require.Equal(t, message, strings.Join(append([]string{f.Problem}, f.Rest...), "\n"))
	}
}

func TestLong_values_are_shown_where_they_differ(t *testing.T) {
	var r recorder
	long := strings.Repeat("abc ", 100)
	assert.Equal(&r, long+"x"+long, long+"y"+long)
	f := fromMessage(r.message)
	require.Less(t, len([]rune(f.Wanted)), lineWidth+40)
	require.Contains(t, f.Wanted, "abc xabc")
	require.Contains(t, f.Got, "abc yabc")
	require.Contains(t, f.Diff, "- wanted, + got\n")

	assert.NoError(&r, errors.New("short"))
	require.Empty(t, fromMessage(r.message).Diff)
}

func TestLong_diffs_are_cut(t *testing.T) {
	var r recorder
	a, b := make([]int, 100), make([]int, 100)
	for i := range b {
		b[i] = 1
	}
	assert.Equal(&r, a, b)
	f := fromMessage(r.message)
	require.Equal(t, 1+diffLines+1, strings.Count(f.Diff, "\n")+1)
	require.Regexp(t, `… \d+ more lines$`, f.Diff)
}
