package pipeline

// This file finds the step that caused a step: the last one before it that hands its object, key or request on. Steps
// do not record it, because that would slow the run down.

import "slices"

const (
	searched = 20 * block // how many steps before a step can be its causes
	answered = block      // how many steps after a handler's call the answer to a write can come
)

// Causes returns the chain of steps that led to step n: the first cause first, and step n last.
func (l *Log) Causes(n int64) (chain []Step) {
	steps := l.since(max(0, n-searched), n+answered)
	at := slices.IndexFunc(steps, func(s Step) bool { return s.N == n })
	for ; at >= 0 && len(chain) < 30; at = cause(steps, at) {
		chain = append(chain, steps[at])
	}
	slices.Reverse(chain)
	return chain
}

// cause returns the index of the step that caused the one at an index, or -1.
func cause(steps []Step, at int) int {
	s, before := steps[at], steps[:at]
	if s.Seam == Queue && (s.Verb == Add || s.Verb == AddAfter) {
		if at := s.running(before); at >= 0 {
			return at
		}
	}
	for at, p := range slices.Backward(before) {
		if ends, caused := s.follows(p); ends {
			if caused {
				return at
			}
			return -1
		}
	}
	if s.Seam == Handler && (s.Verb == OnAdd || s.Verb == OnUpdate) {
		return s.write(steps, at)
	}
	return -1
}

// write returns the index of the write that made the version of a handler's call, or -1 if this program did not make
// it. The Indexer of client-go's own informer cannot be seen, and the event can come before the answer.
func (s Step) write(steps []Step, at int) int {
	written := slices.IndexFunc(steps, func(p Step) bool {
		return p.Seam == Worker && p.Verb == Answered && p.Kind == s.Kind && p.Key == s.Key && p.Version == s.Version
	})
	if written > at {
		for at, p := range slices.Backward(steps[:at]) {
			if p.Seam == Worker && p.Verb == Writes && p.Kind == s.Kind && p.Key == s.Key {
				return at
			}
		}
		return -1
	}
	return written
}

// running returns the handler's call in which s adds its key, or -1: of the calls that have not returned, one for the
// same key, or the last one.
func (s Step) running(before []Step) int {
	found, returned := -1, map[string]bool{}
	for at, p := range slices.Backward(before) {
		name := p.Kind + " " + p.By
		if p.Seam != Handler || returned[name] {
			continue
		}
		if returned[name] = true; p.Verb == Returned {
			continue
		}
		if p.Key == s.Key {
			return at
		}
		found = max(found, at)
	}
	return found
}

// follows reports whether p caused s, and whether the search ends at p.
func (s Step) follows(p Step) (ends, caused bool) {
	object := p.Kind == s.Kind && p.Key == s.Key
	sameVersion := object && (p.Version == s.Version || s.Version == "")
	listed := func() bool { return slices.ContainsFunc(p.List, func(r Ref) bool { return r.Key == s.Key }) }
	is := func(yes bool) (bool, bool) { return yes, yes }
	switch s.Seam {
	case Server: // a worker's write, or a change from outside
		writing := p.Seam == Worker && object && (p.Verb == Writes || p.Verb == Answered)
		return writing, writing && p.Verb == Writes
	case Request:
		if s.Verb == Sent {
			return is(p.Kind == s.Kind && (p.Seam == Worker && p.Verb == Writes ||
				p.Seam == Reflector && (p.Verb == List || p.Verb == Watch)))
		}
		return is(p.Seam == Request && p.Count == s.Count)
	case Stream:
		return is(p.Seam == Request && p.Count == s.Count && p.Verb == Answered)
	case Event:
		return is(p.Seam == Server && sameVersion)
	case Reflector:
		return is(p.Seam == Reflector && p.Kind == s.Kind)
	case Delta:
		switch s.Verb {
		case Pop:
			return is(p.Seam == Delta && p.Kind == s.Kind && p.Verb != Pop && p.Verb != Processed && (object || listed()))
		case Replace:
			return is(p.Seam == Reflector && p.Kind == s.Kind && p.Verb == Listed)
		case Processed:
			return is(p.Seam == Delta && object && p.Verb == Pop)
		}
		return is(p.Seam == Event && sameVersion)
	case Store:
		return is(p.Seam == Delta && object && p.Verb == Pop)
	case Handler:
		if s.Verb == Returned {
			return is(p.Seam == Handler && p.By == s.By && object && p.Verb != Returned)
		}
		return is(p.Seam == Store && sameVersion)
	case Queue:
		if s.Verb == Add || s.Verb == AddAfter {
			return is(p.Seam == Handler && p.Key == s.Key && p.Verb != Returned)
		}
		if s.Verb == Get {
			return is(p.Seam == Queue && p.Key == s.Key && (p.Verb == Add || p.Verb == AddRateLimited || p.Verb == AddAfter))
		}
		return is(p.Seam == Queue && p.Key == s.Key && p.Verb == Get)
	case Worker:
		if s.Verb == Answered {
			return is(p.Seam == Worker && p.Verb == Writes && object)
		}
		return is(s.Key != "" && p.Seam == Queue && p.Key == s.Key && p.Verb == Get)
	}
	return false, false
}
