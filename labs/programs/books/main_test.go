package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/labs/programs/internal/shown"
)

func TestRun_prints_what_the_page_shows(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(&out))
	shown.Require(t, "A store of books", out.String())
}
