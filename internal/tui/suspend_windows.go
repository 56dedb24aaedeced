package tui

// stopGroup does nothing: Windows has no job control.
func stopGroup() error { return nil }
