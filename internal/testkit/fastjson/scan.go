package fastjson

// This file finds parts of JSON without decoding it. Each function that returns ok is certain of its other results; if
// ok is false, the JSON is invalid or written in an unusual way, and only a real decoder can tell.

import "bytes"

// head is the part of a body that the Decoder needs before it decodes.
type head struct {
	kind, version string
	// items are the elements of the array "items", with before and after it what surrounds the array. All are parts of
	// the body, not copies. Without such an array, or if it is empty, they are nil.
	items         [][]byte
	before, after []byte
}

// headOf finds the head of a JSON object. It returns ok only if kind and version are there, once, and without escapes,
// and if there are not two members "items".
func headOf(body []byte) (h head, ok bool) {
	s := scanner{rest: body}
	hasItems := false
	ok = s.members(func(key []byte) (ok bool) {
		switch {
		case string(key) == "kind" && h.kind == "":
			h.kind, ok = s.text()
		case string(key) == "apiVersion" && h.version == "":
			h.version, ok = s.text()
		case string(key) == "items":
			if ok = !hasItems; ok {
				hasItems = true
				ok = s.items(body, &h)
			}
		case bytes.EqualFold(key, []byte("kind")), bytes.EqualFold(key, []byte("apiVersion")):
			return false // a second time, or in other letters, which some parsers accept
		default:
			ok = s.skip()
		}
		return ok
	})
	return h, ok && h.kind != "" && h.version != ""
}

// Event finds the type and the object of a watch event. The object is a part of frame, not a copy. If ok is false, read
// the frame with a real decoder.
func Event(frame []byte) (kind string, object []byte, ok bool) {
	s := scanner{rest: frame}
	ok = s.members(func(key []byte) (ok bool) {
		switch {
		case string(key) == "type" && kind == "":
			kind, ok = s.text()
		case string(key) == "object" && object == nil:
			s.space()
			before := s.rest
			ok = s.skip()
			object = bytes.TrimRight(before[:len(before)-len(s.rest)], " \n\t\r")
		}
		return ok // an event has no other members
	})
	s.space()
	return kind, object, ok && len(s.rest) == 0 && kind != "" && len(object) > 0 && object[0] == '{'
}

// scanner walks over JSON without decoding it.
type scanner struct{ rest []byte }

func (s *scanner) space() {
	for len(s.rest) > 0 && (s.rest[0] == ' ' || s.rest[0] == '\n' || s.rest[0] == '\t' || s.rest[0] == '\r') {
		s.rest = s.rest[1:]
	}
}

func (s *scanner) take(c byte) bool {
	s.space()
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// members takes an object. It calls each for every member, when the member's value is next, and stops when that returns
// false. It returns true if each always did and the object is complete.
func (s *scanner) members(each func(key []byte) bool) bool {
	if !s.take('{') {
		return false
	}
	for {
		key, ok := s.token()
		if !ok || !s.take(':') || !each(key) {
			return false
		}
		if !s.take(',') {
			return s.take('}')
		}
	}
}

// token takes a string without escapes. The result is a part of the JSON, not a copy.
func (s *scanner) token() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	end := bytes.IndexByte(s.rest, '"')
	if end < 0 || bytes.IndexByte(s.rest[:end], '\\') >= 0 {
		return nil, false
	}
	token := s.rest[:end]
	s.rest = s.rest[end+1:]
	return token, true
}

// text takes a string without escapes.
func (s *scanner) text() (string, bool) {
	token, ok := s.token()
	return string(token), ok
}

// items takes the value of the member "items" of body. If it is an array, h gets its elements and what surrounds it.
func (s *scanner) items(body []byte, h *head) bool {
	s.space()
	if len(s.rest) == 0 || s.rest[0] != '[' {
		return s.skip()
	}
	h.before = body[:len(body)-len(s.rest)]
	s.rest = s.rest[1:]
	if s.take(']') {
		return true
	}
	for {
		s.space()
		start := s.rest
		if !s.skip() {
			return false
		}
		h.items = append(h.items, start[:len(start)-len(s.rest)])
		if s.take(',') {
			continue
		}
		if !s.take(']') {
			return false
		}
		h.after = s.rest
		return true
	}
}

// skip takes a value of any kind.
func (s *scanner) skip() bool {
	s.space()
	data, depth := s.rest, 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			if i = closing(data, i+1); i < 0 {
				return false
			}
		case '{', '[':
			depth++
			continue
		case '}', ']', ',':
			if depth == 0 { // the value was a number, true, false or null
				s.rest = data[i:]
				return i > 0
			}
			if data[i] == ',' {
				continue
			}
			depth--
		default:
			continue
		}
		if depth == 0 {
			s.rest = data[i+1:]
			return true
		}
	}
	return false
}

// closing returns the index of the quote that ends a string whose text begins at i, or -1.
func closing(data []byte, i int) int {
	for ; i < len(data); i++ {
		switch data[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
	return -1
}
