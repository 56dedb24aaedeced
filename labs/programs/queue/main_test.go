package main

import (
	"strings"
	"testing"
	"testing/synctest"

	"client-go-workshop/labs/programs/internal/shown"
)

// In the bubble, time passes only while all goroutines wait, so the times are exact.
func TestRun_prints_what_the_page_shows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		run(&out)
		shown.Require(t, "A workqueue", out.String())
	})
}
