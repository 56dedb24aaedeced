package fastjson

// This file finds what has to be known of JSON before it is read, by walking over it. It never says something wrong: what
// it does not know for sure, it says no to.

import "bytes"

// head is what has to be known of a body before it is read.
type head struct {
	kind, version string
	items         int // how many there are in the list "items"
}

// headOf finds it in a JSON object. It says no to whatever is not written as usual: then it may be there, and may be
// something else.
func headOf(body []byte) (h head, ok bool) {
	s := scanner{rest: body}
	if !s.take('{') {
		return h, false
	}
	for {
		key, good := s.text()
		if !good || !s.take(':') {
			return h, false
		}
		var value []byte
		switch {
		case string(key) == "kind" && h.kind == "":
			value, good = s.text()
			h.kind = string(value)
		case string(key) == "apiVersion" && h.version == "":
			value, good = s.text()
			h.version = string(value)
		case string(key) == "items":
			h.items, good = s.skip()
		case bytes.EqualFold(key, []byte("kind")), bytes.EqualFold(key, []byte("apiVersion")):
			return h, false // twice, or in other letters, which some parsers take for the same
		default:
			_, good = s.skip()
		}
		if !good {
			return h, false
		}
		if s.take(',') {
			continue
		}
		return h, s.take('}') && h.kind != "" && h.version != ""
	}
}

// scanner walks over JSON without reading it.
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

// text takes a string, and says no to one with escapes in it.
func (s *scanner) text() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	end := bytes.IndexByte(s.rest, '"')
	if end < 0 || bytes.IndexByte(s.rest[:end], '\\') >= 0 {
		return nil, false
	}
	text := s.rest[:end]
	s.rest = s.rest[end+1:]
	return text, true
}

// skip takes a value of any kind, and says how many elements there are in it, if it is an array or an object.
func (s *scanner) skip() (elements int, ok bool) {
	s.space()
	depth := 0
	for i := 0; i < len(s.rest); i++ {
		switch s.rest[i] {
		case '"':
			if i = closing(s.rest, i+1); i < 0 {
				return 0, false
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth == 0 { // the end of the object in which a number, say, was the last value
				s.rest = s.rest[i:]
				return 0, i > 0
			}
			depth--
		case ',':
			if depth == 0 {
				s.rest = s.rest[i:]
				return 0, i > 0
			}
			if depth == 1 {
				elements++
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			s.rest = s.rest[i+1:]
			return elements + 1, true
		}
	}
	return 0, false
}

// closing returns where a string ends that began before i.
func closing(data []byte, i int) int {
	for {
		end := bytes.IndexByte(data[i:], '"')
		if end < 0 {
			return -1
		}
		end += i
		slashes := 0
		for data[end-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return end
		}
		i = end + 1
	}
}

// Event finds the type and the object of an event of a watch. The object is a part of frame, not a copy. If it is not ok
// the frame is not written as usual, and may be a good event or none: read it in the general way.
func Event(frame []byte) (kind string, object []byte, ok bool) {
	s := scanner{rest: frame}
	if !s.take('{') {
		return "", nil, false
	}
	for {
		key, good := s.text()
		if !good || !s.take(':') {
			return "", nil, false
		}
		switch {
		case string(key) == "type" && kind == "":
			var value []byte
			value, good = s.text()
			kind = string(value)
		case string(key) == "object" && object == nil:
			s.space()
			before := s.rest
			_, good = s.skip()
			object = bytes.TrimRight(before[:len(before)-len(s.rest)], " \n\t\r")
		default:
			return "", nil, false // an event has nothing else
		}
		if !good {
			return "", nil, false
		}
		if s.take(',') {
			continue
		}
		if !s.take('}') {
			return "", nil, false
		}
		s.space()
		return kind, object, len(s.rest) == 0 && kind != "" && len(object) > 0 && object[0] == '{'
	}
}
