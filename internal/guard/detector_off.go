//go:build !race

package guard

// raceDetector says whether this test binary was built with -race. Its code is slower then.
const raceDetector = false
