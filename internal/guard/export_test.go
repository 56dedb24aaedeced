package guard

const RaceDetector = raceDetector
