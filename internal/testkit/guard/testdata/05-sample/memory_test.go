package sample_test

// These tests take more memory than they may. They run only where little is allowed.

import (
	"os"
	"testing"

	"client-go-workshop/internal/testkit/guard"
	sample "client-go-workshop/internal/testkit/guard/testdata/05-sample"
)

func TestMemory_one_loop(t *testing.T) { growing(t, (*sample.Store).Hoard) }

func TestMemory_too_many_goroutines(t *testing.T) { growing(t, (*sample.Store).Multiply) }

func TestMemory_then_another(t *testing.T) { growing(t, func(*sample.Store) {}) }

func growing(t *testing.T, call func(*sample.Store)) {
	if os.Getenv("WORKSHOP_MEMORY_LIMIT") == "" {
		t.Skip("needs a limit")
	}
	guard.Test(t, "The rule of this test.", func(t *guard.T) {
		t.Did("the call that grows")
		call(sample.New())
	})
}
