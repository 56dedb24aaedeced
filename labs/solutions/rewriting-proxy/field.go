package rewritingproxy

// This file is given. It finds and replaces fields in JSON without decoding it, so every other byte stays as it is. It
// does not check the JSON that it passes over.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// replaceField replaces the value of a field, such as "spec", "replicas", by the result of edit. If a key appears more
// than once in an object, it replaces each value, because decoders do not agree on which one counts. If edit returns
// its argument, or if there is no such field, replaceField returns object itself. It does not change object.
func replaceField(object []byte, edit func(value []byte) ([]byte, error), path ...string) ([]byte, error) {
	var out []byte
	copied := 0
	_, err := walk(object, 0, path, func(start, end int) error {
		value, err := edit(object[start:end])
		if err != nil || bytes.Equal(value, object[start:end]) {
			return err
		}
		if out == nil {
			out = make([]byte, 0, len(object)+len(value)-(end-start))
		}
		out = append(append(out, object[copied:start]...), value...)
		copied = end
		return nil
	})
	if err != nil || copied == 0 {
		return object, err
	}
	return append(out, object[copied:]...), nil
}

// field returns the value of the first field at a path. It is a part of object, not a copy. It returns nil if there is
// no such field.
func field(object []byte, path ...string) (value []byte, err error) {
	start, end, err := find(object, path...)
	if err != nil || end == 0 {
		return nil, err
	}
	return object[start:end], nil
}

// find returns where the value of the first field at a path begins and ends. If there is no such field, both are 0. It
// does not read on behind the value.
func find(object []byte, path ...string) (start, end int, err error) {
	_, err = walk(object, 0, path, func(from, to int) error {
		start, end = from, to
		return errFound
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return start, end, err
}

var errFound = errors.New("found")

// elements returns the elements of an array. They are parts of it, not copies. It returns none for null.
func elements(array []byte) (all [][]byte, err error) {
	at := space(array, 0)
	if at == len(array) || array[at] != '[' {
		return nil, nil
	}
	for at = space(array, at+1); at < len(array) && array[at] != ']'; {
		start := at
		if at, err = skip(array, at); err != nil {
			return nil, err
		}
		all = append(all, array[start:at])
		if at = space(array, at); at < len(array) && array[at] == ',' {
			at = space(array, at+1)
		}
	}
	return all, nil
}

// eachElement replaces each element of an array by the result of edit.
func eachElement(array []byte, edit func(element []byte) ([]byte, error)) ([]byte, error) {
	all, err := elements(array)
	if err != nil || len(all) == 0 {
		return array, err
	}
	out := append(make([]byte, 0, len(array)+len(array)/64), '[')
	for i, element := range all {
		if i > 0 {
			out = append(out, ',')
		}
		if element, err = edit(element); err != nil {
			return nil, err
		}
		out = append(out, element...)
	}
	return append(out, ']'), nil
}

// walk passes over the value at an offset, and returns the offset behind it. It calls found for each value at path
// below it.
func walk(in []byte, at int, path []string, found func(start, end int) error) (end int, err error) {
	at = space(in, at)
	if len(path) == 0 {
		if end, err = skip(in, at); err != nil {
			return 0, err
		}
		return end, found(at, end)
	}
	if at == len(in) || in[at] != '{' {
		return skip(in, at)
	}
	for at = space(in, at+1); at < len(in); at = space(in, at) {
		switch in[at] {
		case '}':
			return at + 1, nil
		case ',':
			at++
			continue
		}
		start := at
		if at, err = skip(in, at); err != nil {
			return 0, err
		}
		key := in[start:at]
		if at = space(in, at); at == len(in) || in[at] != ':' {
			return 0, fmt.Errorf("parse JSON at byte %d: no colon after a key", at)
		}
		if at++; isKey(key, path[0]) {
			at, err = walk(in, at, path[1:], found)
		} else {
			at, err = skip(in, space(in, at))
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, errTruncated
}

// isKey reports whether a key in JSON is a name. A key may be written with escapes.
func isKey(key []byte, name string) bool {
	if bytes.IndexByte(key, '\\') < 0 {
		return len(key) == len(name)+2 && string(key[1:len(key)-1]) == name
	}
	var text string // on the heap, because Unmarshal sets it, so it is only for a key with escapes
	return json.Unmarshal(key, &text) == nil && text == name
}

var errTruncated = errors.New("parse JSON: it ends in the middle of a value")

// skip passes over the value at an offset, and returns the offset behind it. It is most of the work of a proxy, so its
// loops have few cases.
func skip(in []byte, at int) (end int, err error) {
	if at == len(in) || in[at] != '{' && in[at] != '[' && in[at] != '"' {
		return number(in, at)
	}
	depth := 0
	for ; at < len(in); at++ {
		switch in[at] {
		case '"':
			if at = closingQuote(in, at+1); at == len(in) {
				return 0, errTruncated
			}
			if depth == 0 {
				return at + 1, nil
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1, nil
			}
		}
	}
	return 0, errTruncated
}

// number returns the offset behind a number, true, false or null, which must not be empty.
func number(in []byte, at int) (end int, err error) {
	for end = at; end < len(in) && bytes.IndexByte([]byte(",:]} \n\t\r"), in[end]) < 0; {
		end++
	}
	if end == at {
		return 0, fmt.Errorf("parse JSON at byte %d: no value", at)
	}
	return end, nil
}

// closingQuote returns the offset of the quote that ends a string whose text begins at an offset, or len(in).
func closingQuote(in []byte, at int) int {
	for at < len(in) && in[at] != '"' {
		if in[at] == '\\' {
			at++ // the next byte is a part of the text
		}
		at++
	}
	return min(at, len(in))
}

// space returns the first offset that is not white space.
func space(in []byte, at int) int {
	for at < len(in) && (in[at] == ' ' || in[at] == '\n' || in[at] == '\t' || in[at] == '\r') {
		at++
	}
	return at
}
