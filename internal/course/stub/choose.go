package stub

// This file chooses what stays in the bare stub, and to which tasks the functions belong that become todos.

// choose gives every part its state.
func (p *bareSolution) choose() {
	for _, part := range p.parts {
		if part.exported && part.task > 0 && part.owner != nil {
			part.owner.contract = true
		}
	}
	for _, part := range p.parts {
		if part.owner == nil && (part.exported || part.contract || part.given || len(part.names) == 0) {
			p.begin(part)
		}
	}
	for p.demote() {
	}
	for _, part := range p.parts {
		if part.state == todo && part.task == 0 {
			part.task = p.firstTask(part)
		}
	}
}

// begin lets a part stay, with the exported members of a type, and of a given type all. What its signature or its type
// needs stays in any case if others see it.
func (p *bareSolution) begin(part *part) {
	if part.state != gone {
		return
	}
	part.state = stays
	if part.task > 0 {
		part.state = todo
	}
	for _, member := range p.parts {
		if member.owner == part && (member.exported || member.given) {
			p.begin(member)
		}
	}
	switch {
	case !part.exported && !part.contract:
	case part.isFunction():
		for _, needed := range part.head {
			p.require(needed)
		}
	default:
		p.require(part)
	}
}

// require keeps a part that is needed in any case, and what it needs itself.
func (p *bareSolution) require(part *part) {
	if part.must {
		return
	}
	part.must = true
	p.begin(part)
	if part.owner != nil {
		p.require(part.owner)
	}
	for _, needed := range part.head {
		p.require(needed)
	}
	if part.state == stays {
		for _, needed := range part.body {
			p.require(needed)
		}
	}
}

// demote takes back what needs something that goes: an exported function becomes a todo, anything else goes too. It
// reports whether there was such a part.
func (p *bareSolution) demote() (changed bool) {
	for _, part := range p.parts {
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

func (part *part) isFunction() bool { return part.symbol != "" }

// needsGone reports whether a part needs something that goes.
func (part *part) needsGone() bool {
	for _, needed := range part.head {
		if needed.state == gone {
			return true
		}
	}
	for _, needed := range part.body {
		if part.state == stays && needed.state == gone {
			return true
		}
	}
	return false
}

// firstTask returns the task of a function that the stub gives: the first one in which the learner writes a method of
// its type, or something that its body uses.
func (p *bareSolution) firstTask(function *part) (first int) {
	seen := map[*part]bool{}
	var visit func(part *part)
	visit = func(part *part) {
		if seen[part] {
			return
		}
		seen[part] = true
		if part.task > 0 && part != function {
			if first == 0 || part.task < first {
				first = part.task
			}
			return
		}
		for _, needed := range part.body {
			visit(needed)
		}
		for _, method := range p.parts {
			if method.owner == part && method.task > 0 {
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
