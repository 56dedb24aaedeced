package stub

// This file chooses what stays in the bare stub, and to which tasks the functions belong that become todos.

import "slices"

// choose gives every part its state.
func (s *design) choose() {
	for _, part := range s.parts {
		part.state = gone
		if part.exported && part.todo.Task > 0 && part.owner != nil {
			part.owner.contract = true
		}
	}
	for _, part := range s.parts {
		if part.owner == nil && (part.exported || part.contract || part.given || !part.named) {
			s.begin(part)
		}
	}
	for s.demote() {
	}
	for _, part := range s.parts {
		if part.state == todo && part.todo.Task == 0 {
			part.todo.Task = s.firstTask(part)
		}
	}
}

// begin lets a part stay, with the exported members of a type, and of a given type all. What its signature or its type
// needs stays in any case if others see it.
func (s *design) begin(part *part) {
	if part.state != gone {
		return
	}
	part.state = stays
	if part.todo.Task > 0 {
		part.state = todo
	}
	for _, member := range s.parts {
		if member.owner == part && (member.exported || member.given) {
			s.begin(member)
		}
	}
	switch {
	case !part.exported && !part.contract:
	case part.isFunction():
		s.requireAll(part.head)
	default:
		s.require(part)
	}
}

// require keeps a part that is needed in any case, and what it needs itself.
func (s *design) require(part *part) {
	if part.must {
		return
	}
	part.must = true
	s.begin(part)
	if part.owner != nil {
		s.require(part.owner)
	}
	s.requireAll(part.head)
	if part.state == stays {
		s.requireAll(part.body)
	}
}

func (s *design) requireAll(names []meanings) {
	for _, part := range slices.Concat(names...) {
		s.require(part)
	}
}

// demote takes back what needs something that goes: an exported function becomes a todo, anything else goes too. It
// reports whether there was such a part.
func (s *design) demote() (changed bool) {
	for _, part := range s.parts {
		switch {
		case part.state == gone:
		case part.owner != nil && part.owner.state == gone:
			part.state, changed = gone, true
		case part.must || !part.needsGone():
		case part.exported && part.isFunction():
			part.state, changed = todo, true
		default:
			part.state, changed = gone, true
		}
	}
	return changed
}

func (part *part) isFunction() bool { return part.todo.Symbol != "" }

// needsGone reports whether a part needs something that goes.
func (part *part) needsGone() bool {
	return slices.ContainsFunc(part.head, meanings.gone) ||
		part.state == stays && slices.ContainsFunc(part.body, meanings.gone)
}

// firstTask returns the task of a function that the stub gives: the first one in which the learner writes a method of
// its type, or something that its body uses.
func (s *design) firstTask(function *part) (first int) {
	seen := map[*part]bool{}
	var visit func(part *part)
	visit = func(part *part) {
		if seen[part] {
			return
		}
		seen[part] = true
		if part.todo.Task > 0 && part != function {
			if first == 0 || part.todo.Task < first {
				first = part.todo.Task
			}
			return
		}
		for _, needed := range part.body { // of an exported method of an unexported type, the callers see an interface
			if p := needed[0]; len(needed) == 1 && (p.owner == nil || p.owner.exported || !p.exported) {
				visit(p)
			}
		}
		for _, method := range s.parts {
			if method.owner == part && method.todo.Task > 0 {
				visit(method)
			}
		}
	}
	visit(function)
	if function.owner != nil {
		visit(function.owner)
	}
	return max(first, 1)
}
