package guard

// This file reports a deadlock on locks of package sync. Those do not know their owners, so who holds one is read from
// the source of the calls that are under way (holding.go), or else deduced from who could: one of those, or a call that
// returned without unlocking.

import (
	"fmt"
	"slices"
	"strings"

	"client-go-workshop/internal/testkit/failure"
)

// lockNeverFree says which calls wait for a lock, and who may hold it.
func (r *run) lockNeverFree(dump []goroutine) {
	blocked, others := r.blocked(dump)
	if len(blocked) == 0 {
		r.neverReturned(dump, "")
		return
	}
	first := blocked[0]
	holder, why := r.holder(blocked, others)
	f := failure.Failure{
		Kind:    failure.Hang,
		At:      r.lineOf(first),
		Code:    r.where.codeLine(first.call),
		Problem: first.call.short(r.where) + " never returned: it waits for a lock that is never released",
		Wanted:  first.call.short(r.where) + " gets the lock and returns",
		Got:     strings.Join([]string{r.list(blocked), holder}, "\n"),
		Why:     why,
	}
	r.fail(f)
}

// blocked are the goroutines that wait for a lock, and the others that are in a call of the chapter.
func (r *run) blocked(dump []goroutine) (blocked, others []waiter) {
	for _, w := range r.waiters(dump) {
		switch _, inChapter := r.where.inChapter(w.frames); {
		case w.waitsForLock():
			blocked = append(blocked, w)
		case inChapter:
			others = append(others, w)
		}
	}
	return blocked, others
}

// holder tells who holds the lock that the blocked wait for, or may hold it, and the rule that breaks.
func (r *run) holder(blocked, others []waiter) (holder, why string) {
	const again = "A lock of package sync is not reentrant: a goroutine that holds it and locks it again waits for itself."
	const long = "Hold a lock for a moment only: unlock before you wait or sleep, and on every way out of a function."
	if certain, _ := r.askedAgain(blocked); len(certain) > 0 {
		return strings.Join(certain, "\n"), again
	}
	if holding := r.holding(blocked, others); len(holding) > 0 {
		return capLines(strings.Join(holding, "\n"), waitersShown), long
	}
	if _, perhaps := r.askedAgain(blocked); len(perhaps) > 0 {
		if len(others) > 0 {
			perhaps = append(perhaps, "other calls in progress: "+strings.ReplaceAll(r.list(others), "\n", "; "))
		}
		return strings.Join(perhaps, "\n"), again
	}
	if len(others) > 0 {
		return "one of these may hold the lock, or a call that returned without unlocking:\n" + r.list(others), long
	}
	locks := map[string]bool{}
	for _, w := range blocked {
		locks[w.lock()] = true
	}
	if len(locks) > 1 && !locks[""] {
		return "each may hold the lock that another one waits for",
			"Calls that need two locks all take them in the same order."
	}
	return "no other call is in progress, so one that has returned still holds it",
		"Every way out of a function unlocks, early returns and panics included: use defer."
}

// holding tells, one line each, which of the others have locked what the blocked wait for.
func (r *run) holding(blocked, others []waiter) (lines []string) {
	for _, w := range others {
		for _, h := range r.heldBy(w) {
			waitsForIt := func(b waiter) bool {
				wants := wanted(r.asker(b))
				if !r.where.isChapter(h.call) { // there are many locks: it must be one of the same package, by that name
					return packageOf(h.call.function) == packageOf(r.asker(b).function) && isField(wants, h.lock)
				}
				return wants == "" || isField(wants, h.lock)
			}
			if !slices.ContainsFunc(blocked, waitsForIt) {
				continue
			}
			line := r.is(w) + ", " + h.String()
			if h.call != w.call {
				line = r.is(w) + "; it was called by " + h.call.short(r.where) + ", which " + h.String()
			}
			if !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// askedAgain tells, one line each, which of the blocked calls have locked what they wait for, or were made by another
// method of the same object that has. It is only perhaps so where the source of that method cannot be read, and where
// it is the same method, which may unlock before the inner call in some cases only.
func (r *run) askedAgain(blocked []waiter) (certain, perhaps []string) {
	for _, w := range blocked {
		asker := r.asker(w)
		wants := wanted(asker)
		own, _ := locksOf(asker)
		for _, h := range own {
			if isField(wants, h.lock) {
				certain = append(certain, asker.short(r.where)+" "+h.String()+", and asks for it again")
			}
		}
		outer, known := callersWithSameReceiver(w, asker), true
		for _, f := range outer {
			locks, read := locksOf(f)
			known = known && read && f.function != asker.function
			for _, h := range locks {
				if wants == "" || isField(wants, h.lock) {
					certain = append(certain, asker.short(r.where)+" was called by "+f.at(r.where)+", which "+h.String())
				}
			}
		}
		if !known {
			perhaps = append(perhaps, fmt.Sprintf("%s was called by %s, which may hold the lock already",
				asker.short(r.where), outer[0].at(r.where)))
		}
	}
	slices.Sort(certain)
	slices.Sort(perhaps)
	return slices.Compact(certain), slices.Compact(perhaps)
}

// asker is the call that asks for the lock that a goroutine waits for: the innermost of the chapter, or one of a
// library that the chapter calls, such as client-go.
func (r *run) asker(w waiter) frame {
	for _, f := range w.frames {
		if r.where.isForeign(f) && !f.isLock() {
			return f
		}
	}
	return w.call
}

// callersWithSameReceiver finds, among the calls that led to asker, the methods of the same object, or of the same type
// if the dump does not tell the objects, nearest first.
func callersWithSameReceiver(w waiter, asker frame) (all []frame) {
	blocked := slices.Index(w.frames, asker)
	for _, f := range w.frames[blocked+1:] {
		if receiverType(f) == "" || receiverType(f) != receiverType(asker) {
			continue
		}
		if a, b := pointer(f), pointer(asker); a == "" || b == "" || a == b {
			all = append(all, f)
		}
	}
	return all
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
