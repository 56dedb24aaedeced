package tui

// This file is the key ^Z on Windows.

// stopGroup does nothing: Windows has no job control.
func stopGroup() error { return nil }
