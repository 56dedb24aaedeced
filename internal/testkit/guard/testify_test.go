package guard

// Each assertion of testify that this package knows is made to fail here, so that a new version of testify with other
// words is noticed.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recorder is a testify TestingT that keeps what it is told.
type recorder struct{ message string }

func (r *recorder) Errorf(format string, args ...any) { r.message = fmt.Sprintf(format, args...) }

func TestEvery_assertion_says_what_it_wanted_and_got(t *testing.T) {
	type point struct{ X, Y int }
	one, other := &point{1, 2}, &point{1, 2}
	missing := &fs.PathError{Op: "open", Path: "/x", Err: fs.ErrNotExist}
	var asPath *fs.PathError
	for _, c := range []struct {
		name               string
		fails              func(t assert.TestingT)
		title, wanted, got string
	}{
		{"Equal", func(t assert.TestingT) { assert.Equal(t, 1, 2) }, "not equal", "1", "2"},
		{"Equal, other types", func(t assert.TestingT) { assert.Equal(t, 1, "a") }, "not equal", "int(1)", `string("a")`},
		{"Equal, nil", func(t assert.TestingT) { assert.Equal(t, nil, 1) }, "not equal", "<nil>(<nil>)", "int(1)"},
		{"EqualValues", func(t assert.TestingT) { assert.EqualValues(t, 1, int64(2)) }, "not equal", "int(1)", "int64(2)"},
		{"EqualExportedValues", func(t assert.TestingT) { assert.EqualExportedValues(t, point{1, 2}, point{1, 3}) }, "not equal", "guard.point{X:1, Y:2}", "guard.point{X:1, Y:3}"},
		{"NotEqual", func(t assert.TestingT) { assert.NotEqual(t, 1, 1) }, "equal", "anything but 1", "1"},
		{"Same", func(t assert.TestingT) { assert.Same(t, one, other) }, "not the same object", fmt.Sprintf("(*guard.point)(%p)\n&guard.point{X:1, Y:2}", one), fmt.Sprintf("(*guard.point)(%p)\n&guard.point{X:1, Y:2}", other)},
		{"NotSame", func(t assert.TestingT) { assert.NotSame(t, one, one) }, "the same object", "another object", fmt.Sprintf("%p &guard.point{X:1, Y:2}", one)},
		{"JSONEq", func(t assert.TestingT) { assert.JSONEq(t, `{"a":1}`, `{"a":2}`) }, "not equal", `map[string]interface {}{"a":1}`, `map[string]interface {}{"a":2}`},

		{"NoError", func(t assert.TestingT) { assert.NoError(t, missing) }, "unexpected error", "no error", "open /x: file does not exist"},
		{"Error", func(t assert.TestingT) { assert.Error(t, nil) }, "no error", "an error", "nil"},
		{"EqualError", func(t assert.TestingT) { assert.EqualError(t, missing, "gone") }, "another error", `"gone"`, `"open /x: file does not exist"`},
		{"ErrorContains", func(t assert.TestingT) { assert.ErrorContains(t, missing, "gone") }, "another error", `an error that says "gone"`, `"open /x: file does not exist"`},
		{"ErrorIs", func(t assert.TestingT) { assert.ErrorIs(t, missing, fs.ErrExist) }, "another error", `the error "file already exists", or one that wraps it`, "\"open /x: file does not exist\"\n\t\"file does not exist\""},
		{"ErrorIs, nil", func(t assert.TestingT) { assert.ErrorIs(t, nil, fs.ErrExist) }, "no error", `the error "file already exists", or one that wraps it`, "nil"},
		{"NotErrorIs", func(t assert.TestingT) { assert.NotErrorIs(t, missing, fs.ErrNotExist) }, "an error that must not be", `no error that is or wraps "file does not exist"`, "\"open /x: file does not exist\"\n\t\"file does not exist\""},
		{"ErrorAs", func(t assert.TestingT) { assert.ErrorAs(t, os.ErrClosed, &asPath) }, "another error", "an error of type *fs.PathError, or one that wraps it", `"file already closed" (*errors.errorString)`},
		{"ErrorAs, nil", func(t assert.TestingT) { assert.ErrorAs(t, nil, &asPath) }, "no error", "an error of type *fs.PathError", "nil"},

		{"Len", func(t assert.TestingT) { assert.Len(t, []string{"a"}, 3) }, "wrong number of elements", "3 elements", "1: [a]"},
		{"Empty", func(t assert.TestingT) { assert.Empty(t, []int{1}) }, "not empty", "nothing", "[1]"},
		{"NotEmpty", func(t assert.TestingT) { assert.NotEmpty(t, []int{}) }, "empty", "at least one element", "[]"},
		{"Contains", func(t assert.TestingT) { assert.Contains(t, []int{1}, 2) }, "not contained", "one with 2", "[]int{1}"},
		{"NotContains", func(t assert.TestingT) { assert.NotContains(t, "abc", "b") }, "contained", `one without "b"`, `"abc"`},
		{"Subset", func(t assert.TestingT) { assert.Subset(t, []int{1}, []int{2}) }, "not contained", "one with 2", "[]int{1}"},
		{"NotSubset", func(t assert.TestingT) { assert.NotSubset(t, []int{1, 2}, []int{2}) }, "a subset", "something without []int{2}", "[]int{1, 2}"},
		{"ElementsMatch", func(t assert.TestingT) { assert.ElementsMatch(t, []string{"a", "b"}, []string{"b", "c", "c"}) }, "elements differ", `"a", "b", in any order`, "\"b\", \"c\", \"c\"\nmissing: \"a\"\ntoo many: \"c\", \"c\""},
		{"ElementsMatch, none", func(t assert.TestingT) { assert.ElementsMatch(t, []int{1}, []int(nil)) }, "elements differ", "1, in any order", "nothing\nmissing: 1"},

		{"Nil", func(t assert.TestingT) { assert.Nil(t, one) }, "not nil", "nil", "&guard.point{X:1, Y:2}"},
		{"NotNil", func(t assert.TestingT) { assert.NotNil(t, nil) }, "nil", "a value, not nil", "nil"},
		{"True", func(t assert.TestingT) { assert.True(t, false) }, "not true", "true", "false"},
		{"False", func(t assert.TestingT) { assert.False(t, true) }, "not false", "false", "true"},
		{"Zero", func(t assert.TestingT) { assert.Zero(t, 7) }, "not zero", "the zero value", "7"},
		{"NotZero", func(t assert.TestingT) { assert.NotZero(t, 0) }, "zero", "anything but the zero value", "0"},
		{"Greater", func(t assert.TestingT) { assert.Greater(t, 1, 2) }, "out of range", `greater than "2"`, "1"},
		{"LessOrEqual", func(t assert.TestingT) { assert.LessOrEqual(t, 3, 2) }, "out of range", `less than or equal to "2"`, "3"},
		{"Positive", func(t assert.TestingT) { assert.Positive(t, -1) }, "out of range", "positive", "-1"},
		{"InDelta", func(t assert.TestingT) { assert.InDelta(t, 1.0, 2.0, 0.5) }, "too far off", "1, give or take 0.5", "2, which is -1 off"},
		{"WithinDuration", func(t assert.TestingT) {
			assert.WithinDuration(t, time.Unix(0, 0).UTC(), time.Unix(9, 0).UTC(), time.Second)
		}, "too far off", "1970-01-01 00:00:00 +0000 UTC, give or take 1s", "1970-01-01 00:00:09 +0000 UTC, which is -9s off"},
		{"IsType", func(t assert.TestingT) { assert.IsType(t, 1, "a") }, "another type", "int", "string"},
		{"Implements", func(t assert.TestingT) { assert.Implements(t, (*error)(nil), 1) }, "not implemented", "error", "int"},
		{"Regexp", func(t assert.TestingT) { assert.Regexp(t, "^a", "b") }, "no match", "a match of ^a", "b"},
		{"NotRegexp", func(t assert.TestingT) { assert.NotRegexp(t, "^a", "ab") }, "a match", "no match of ^a", "ab"},

		{"Panics", func(t assert.TestingT) { assert.Panics(t, func() {}) }, "no panic", "a panic", "the function returned"},
		{"PanicsWithValue", func(t assert.TestingT) { assert.PanicsWithValue(t, "a", func() { panic("b") }) }, "another panic", `"a"`, `"b"`},
		{"NotPanics", func(t assert.TestingT) { assert.NotPanics(t, func() { panic("b") }) }, "panic: b", "no panic", "panic: b"},
		{"Eventually", func(t assert.TestingT) {
			assert.Eventually(t, func() bool { return false }, time.Millisecond, time.Millisecond)
		}, "never so", "the condition becomes true in time", "it never did"},
		{"Never", func(t assert.TestingT) {
			assert.Never(t, func() bool { return true }, time.Second, time.Millisecond)
		}, "it happened", "the condition never becomes true", "it did"},
		{"Condition", func(t assert.TestingT) { assert.Condition(t, func() bool { return false }) }, "not so", "the condition holds", "it does not"},
		{"one that is not known", func(t assert.TestingT) { assert.IsIncreasing(t, []int{2, 1}) }, "not so", "what the assertion on this line says", `"2" is not less than "1"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r recorder
			c.fails(&r)
			f := fromMessage(r.message)
			if strings.HasPrefix(c.name, "one that") {
				f = fromAssertion("some new wording")
				c.got = "some new wording"
			}
			require.Equal(t, []string{c.title, c.wanted, c.got}, []string{f.title, f.wanted, f.got}, r.message)
			require.Empty(t, f.rest)
		})
	}
}

func TestMessages_become_the_reason(t *testing.T) {
	var r recorder
	assert.Equal(&r, 1, 2, "the rule, and\nits second line (#%d)", 7)
	require.Equal(t, "the rule, and\nits second line (#7)", fromMessage(r.message).why)
}

func TestWhat_is_not_testifys_is_passed_on_whole(t *testing.T) {
	for _, message := range []string{"plain", "two\nlines", "\tError:\tnot quite\nthe layout", "\tTest:      \tlabels without an error"} {
		f := fromMessage(message)
		require.Equal(t, message, strings.TrimSuffix(f.title+"\n"+f.rest, "\n"))
	}
}

func TestLong_values_are_shown_where_they_differ(t *testing.T) {
	var r recorder
	long := strings.Repeat("abc ", 100)
	assert.Equal(&r, long+"x"+long, long+"y"+long)
	f := fromMessage(r.message)
	require.Less(t, len([]rune(f.wanted)), textWide+40)
	require.Contains(t, f.wanted, "abc xabc")
	require.Contains(t, f.got, "abc yabc")
	require.Contains(t, f.diff, "- wanted, + got\n")

	assert.NoError(&r, errors.New("short"))
	require.Empty(t, fromMessage(r.message).diff)
}

func TestLong_diffs_are_cut(t *testing.T) {
	var r recorder
	a, b := make([]int, 100), make([]int, 100)
	for i := range b {
		b[i] = 1
	}
	assert.Equal(&r, a, b)
	f := fromMessage(r.message)
	require.Equal(t, 1+diffLines+1, strings.Count(f.diff, "\n")+1)
	require.Regexp(t, `… \d+ more lines$`, f.diff)
}
