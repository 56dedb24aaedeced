// Package solutions makes `go test ./solutions/...` mean what one expects: every chapter's tests, over its solution.
package solutions

import (
	"testing"

	"client-go-workshop/internal/runner/finished"
)

func TestSolutions(t *testing.T) { finished.Test(t, false) }
