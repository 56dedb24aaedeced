package failure

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A command that is copied from the screen has to be one: its options stay whole.
func TestWrap_does_not_break_at_a_hyphen(t *testing.T) {
	require.Equal(t, []string{"  go tool workshop reset", "  --tests 05-indexer"}, Wrap("  go tool workshop reset --tests 05-indexer", 26))
}
