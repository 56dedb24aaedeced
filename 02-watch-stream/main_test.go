package watchstream_test

import (
	"os"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// TestMain removes apimachinery's handlers of errors. Client-go's Reflector calls them, and one of them sleeps so that
// logs do not fill. It measures that sleep from a moment outside the bubble.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}
