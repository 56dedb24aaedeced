package failure

// This file carries out of the test binary where a test is that has not ended yet, as an attribute of the test.

// Place is where a test is that takes long: the call of the chapter in which it runs or waits.
type Place struct {
	Call  string   `json:"call"` // "(*Queue).Get"
	At    Position `json:"at"`
	State string   `json:"state,omitempty"` // of the goroutine, such as "sync.Mutex.Lock"; empty if it runs
}

// String returns the place in a few words: "(*Queue).Get at queue.go:41".
func (p Place) String() string {
	text := p.Call + " at " + p.At.String()
	if p.State != "" {
		text += ", waiting in " + p.State
	}
	return text
}

const placeKey = "place" // of the attribute

// Emit passes p to attr, which is the method Attr of a testing.T.
func (p Place) Emit(attr func(key, value string)) { attr(placeKey, encode(p)) }

// PlaceOf returns the place that an attribute carries, nil if it is another attribute.
func PlaceOf(key, value string) (*Place, error) {
	if key != placeKey {
		return nil, nil
	}
	return decode[Place]("where a test is", value)
}
