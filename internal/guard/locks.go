package guard

// This file reports a deadlock on locks of package sync. Those do not know their owners, so who holds one is deduced
// from who could: a call that is still under way, or else one that returned without unlocking.

import (
	"slices"
	"strings"
)

// lockNeverFree says which calls wait for a lock, and who may hold it.
func (r *run) lockNeverFree(dump []goroutine) {
	var blocked, others []waiter
	for _, w := range r.waiters(dump) {
		switch _, inChapter := r.where.inChapter(w.frames); {
		case w.waitsForLock():
			blocked = append(blocked, w)
		case inChapter:
			others = append(others, w)
		}
	}
	if len(blocked) == 0 {
		r.neverReturned(dump, "")
		return
	}
	first := blocked[0]
	holder, why := r.holder(blocked, others)
	f := failure{
		at:     r.lineOf(first),
		title:  first.call.short(r.where) + " never returned: it waits for a lock that nobody releases",
		wanted: first.call.short(r.where) + " gets the lock and returns",
		got:    strings.Join([]string{r.list(blocked), holder}, "\n"),
		why:    why,
	}
	r.fail(f)
}

// holder tells who may hold the lock that the blocked wait for, and the rule that breaks.
func (r *run) holder(blocked, others []waiter) (holder, why string) {
	if again := r.askedAgain(blocked); len(again) > 0 {
		return strings.Join(again, "\n"), "a lock of package sync is not reentrant: who holds it and asks for it again waits for itself"
	}
	if len(others) > 0 {
		return "who may hold the lock, if it is not a call that returned without unlocking:\n" + r.list(others),
			"a lock is for a moment: unlock before you wait or sleep, and on every way out of a function"
	}
	locks := map[string]bool{}
	for _, w := range blocked {
		locks[w.lock()] = true
	}
	if len(locks) > 1 && !locks[""] {
		return "each may hold the lock that another one waits for",
			"who needs two locks must take them in the same order as everybody else"
	}
	return "no other call is under way, so one that has returned still holds it",
		"every way out of a function must unlock, early returns and panics included; defer sees to that"
}

// askedAgain tells, one line each, which of the blocked calls were made by another method of the same object. One of
// those may hold the lock; the others only pass a call on.
func (r *run) askedAgain(blocked []waiter) (lines []string) {
	for _, w := range blocked {
		if outer, ok := r.callerWithSameReceiver(w); ok {
			line := w.call.short(r.where) + " was called by " + outer.at(r.where) + ", which may hold the lock already"
			if !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// callerWithSameReceiver finds, among the calls that led to the blocked one, the nearest method of the same object, or
// of the same type if the dump does not tell the objects.
func (r *run) callerWithSameReceiver(w waiter) (frame, bool) {
	blocked := slices.Index(w.frames, w.call)
	for _, f := range w.frames[blocked+1:] {
		if !r.where.isChapter(f) || receiverType(f) == "" || receiverType(f) != receiverType(w.call) {
			continue
		}
		if a, b := pointer(f), pointer(w.call); a == "" || b == "" || a == b {
			return f, true
		}
	}
	return frame{}, false
}

// receiverType is "example.com/x.(*T)" for a method of *T or for a closure in one, "" for other functions.
func receiverType(f frame) string {
	pkg := packageOf(f.function)
	name, isMethod := strings.CutPrefix(f.function, pkg+".(")
	if !isMethod {
		return ""
	}
	name, _, _ = strings.Cut(name, ")")
	return pkg + ".(" + name + ")"
}

// pointer is the first argument of a call, a method's receiver; "" when the dump does not tell.
func pointer(f frame) string {
	first, _, _ := strings.Cut(f.args, ",")
	if !strings.HasPrefix(first, "0x") || strings.HasSuffix(first, "?") {
		return "" // inlined, or in a register that may have been reused since
	}
	return first
}

// lock is the address of the lock that a goroutine waits for, "" when the dump does not tell.
func (g goroutine) lock() string {
	for _, f := range g.frames {
		switch f.function {
		case "sync.(*RWMutex).Lock", "sync.(*RWMutex).RLock", "internal/sync.(*Mutex).lockSlow":
			return pointer(f)
		}
	}
	return ""
}
