package failure

// This file carries a failure out of the test binary, as attributes of its test (testing.T.Attr), and where a test is
// that has not ended yet. go test -json passes them on as events. The command test2json reads a line of at most 4096
// bytes as an attribute and trims its spaces, so the JSON is encoded in base64 and a long one travels in several
// attributes.

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// The keys of the attributes: of the last or only piece of a failure, and of each piece before it.
const (
	lastPiece = "failure"
	onePiece  = "failure.piece"
	placeKey  = "place" // of a Place

	pieceSize = 3000 // bytes
)

// encode returns a value of strings and numbers as the value of an attribute.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil { // strings and numbers can always be marshalled
		panic(fmt.Sprintf("encode an attribute: %v", err))
	}
	return base64.StdEncoding.EncodeToString(text)
}

// decode undoes encode. The error says what was decoded.
func decode[V any](what, value string) (*V, error) {
	text, err := base64.StdEncoding.DecodeString(value)
	v := new(V)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", what, err)
	}
	return v, nil
}

// Emit passes f to attr, which is the method Attr of a testing.T, in one or more pieces.
func (f Failure) Emit(attr func(key, value string)) {
	encoded := encode(f)
	for ; len(encoded) > pieceSize; encoded = encoded[pieceSize:] {
		attr(onePiece, encoded[:pieceSize])
	}
	attr(lastPiece, encoded)
}

// Decoder puts the attributes of one test together again. The zero Decoder is ready to use.
type Decoder struct{ pieces string }

// Add takes the next attribute. It returns a failure when that is complete, and nil otherwise; attributes of other
// programs are ignored.
func (d *Decoder) Add(key, value string) (*Failure, error) {
	switch key {
	case onePiece:
		d.pieces += value
	case lastPiece:
		encoded := d.pieces + value
		d.pieces = ""
		return decode[Failure]("a failure that a test reported", encoded)
	}
	return nil, nil
}

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

// Emit passes p to attr, which is the method Attr of a testing.T.
func (p Place) Emit(attr func(key, value string)) { attr(placeKey, encode(p)) }

// PlaceOf returns the place that an attribute carries, nil if it is another attribute.
func PlaceOf(key, value string) (*Place, error) {
	if key != placeKey {
		return nil, nil
	}
	return decode[Place]("where a test is", value)
}
