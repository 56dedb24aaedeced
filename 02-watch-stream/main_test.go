package watchstream_test

import (
	"os"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// TestMain drops the handlers of errors that nobody else handles: client-go's Reflector calls them, one of them sleeps so
// that logs do not fill, and it measures that sleep from a moment outside the bubble.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}
