package pipeline

// This file finds the step that caused a step: the last one before it that hands its object, key or request on. Steps
// do not record it, because that would slow the run down.

import "slices"

// searched is how many steps before a step can be its causes.
const searched = 20 * chunk

// Causes returns the chain of steps that led to step n: the first cause first, and step n last.
func (l *Log) Causes(n int64) (chain []Step) {
	steps := l.since(max(0, n-searched), n)
	if len(steps) == 0 {
		return nil
	}
	chain = []Step{steps[len(steps)-1]}
	step, at := chain[0], len(steps)-1
	for len(chain) < 30 {
		at = step.cause(steps[:at])
		if at < 0 {
			break
		}
		step = steps[at]
		chain = append(chain, step)
	}
	slices.Reverse(chain)
	return chain
}

// cause returns the index of the step that caused s, or -1.
func (s Step) cause(before []Step) int {
	for at, p := range slices.Backward(before) {
		if ends, caused := s.follows(p); ends {
			if caused {
				return at
			}
			return -1
		}
	}
	return -1
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
		return is(s.Verb == Writes && p.Seam == Queue && p.Key == s.Key && p.Verb == Get)
	}
	return false, false
}
