//go:build !race

package guard

// RaceDetector says whether this test binary was built with -race. Its code is about ten times slower then.
const RaceDetector = false
