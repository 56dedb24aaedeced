package watchstream_test

import (
	"os"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// TestMain removes apimachinery's error handlers. client-go's Reflector calls them, and one of them sleeps to limit the
// log. It measures that sleep from a moment outside the bubble.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}
