package main

import (
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestMost_Pods(t *testing.T) {
	quiet()
	synctest.Test(t, func(t *testing.T) {
		most, err := run(t.Context(), io.Discard, false)
		require.NoError(t, err)
		require.GreaterOrEqual(t, most, 7, "the most Pods without the store")
		most, err = run(t.Context(), io.Discard, true)
		require.NoError(t, err)
		require.Equal(t, wanted, most, "the most Pods with the store")
	})
}
