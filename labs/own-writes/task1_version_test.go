package ownwrites_test

// Task 1: which of two versions is newer.

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/guard"
	ownwrites "client-go-workshop/labs/own-writes"
)

// compare calls CompareResourceVersion, which must return no error.
func compare(t *guard.T, a, b string) int {
	t.Helper()
	t.Did("CompareResourceVersion(%q, %q)", a, b)
	order, err := ownwrites.CompareResourceVersion(a, b)
	require.NoError(t, err, "the error of CompareResourceVersion")
	return order
}

func TestTask1_Newer_and_older(t *testing.T) {
	guard.Test(t, "CompareResourceVersion returns -1 if a is older than b, 0 if they are the same, and 1 if a is newer. "+
		"As texts, \"9\" would be newer than \"10\".", func(t *guard.T) {
		require.Equal(t, -1, compare(t, "9", "10"), "the result")
		require.Equal(t, 1, compare(t, "10", "9"), "the result")
		require.Equal(t, 0, compare(t, "10", "10"), "the result")
		require.Equal(t, -1, compare(t, "19", "20"), "the result")
		require.Equal(t, 1, compare(t, "21", "20"), "the result")
	})
}

func TestTask1_Any_number_of_digits(t *testing.T) {
	guard.Test(t, "A version may have more digits than any integer type. A server of another make may count far.",
		func(t *guard.T) {
			const large = "9223372036854775807" // the largest int64
			for _, pair := range [][2]string{
				{large, "9223372036854775808"}, {"18446744073709551615", "18446744073709551616"}, {"7", "18446744073709551616"},
				{"18446744073709551616", "18446744073709551617"}, {large + large, "1" + large + large},
				{strings.Repeat("9", 200), "1" + strings.Repeat("0", 200)},
				{strings.Repeat("9", 1_000) + "8", strings.Repeat("9", 1_000) + "9"},
			} {
				require.Equal(t, -1, compare(t, pair[0], pair[1]), "the result")
				require.Equal(t, 1, compare(t, pair[1], pair[0]), "the result")
				require.Equal(t, 0, compare(t, pair[1], pair[1]), "the result")
			}
		})
}

func TestTask1_What_is_not_a_version(t *testing.T) {
	guard.Test(t, "A version that is not a positive decimal number without leading zeros is an error that names it. "+
		"An aggregated API may have any text as its version.", func(t *guard.T) {
		for _, bad := range []string{"", "0", "07", "-3", "+3", "x7", "7x", "7f", "1.5", "1e5", "1_000", " 7",
			"7\n", "7\n8", "٣"} {
			for _, pair := range [][2]string{{bad, "8"}, {"8", bad}, {bad, bad}} {
				t.Did("CompareResourceVersion(%q, %q)", pair[0], pair[1])
				_, err := ownwrites.CompareResourceVersion(pair[0], pair[1])
				require.Error(t, err, "the error of CompareResourceVersion")
				if !strings.Contains(err.Error(), strconv.Quote(bad)) {
					require.ErrorContains(t, err, bad, "the error of CompareResourceVersion")
				}
			}
		}
	})
}
