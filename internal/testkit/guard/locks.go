package guard

// This file reports a deadlock on locks of package sync. Those do not know their owners, so the failure shows the calls
// that wait, and the calls that can hold the lock: an outer call of the same goroutine, and others in progress.

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

// blocked are the goroutines that wait for a lock, and the others that are in a call of the chapter. A goroutine that
// waits in a sync.Cond has released its lock.
func (r *run) blocked(dump []goroutine) (blocked, others []waiter) {
	for _, w := range r.waiters(dump) {
		switch _, inChapter := r.where.inChapter(w.frames); {
		case w.waitsForLock():
			blocked = append(blocked, w)
		case inChapter && w.state != "sync.Cond.Wait":
			others = append(others, w)
		}
	}
	return blocked, others
}

// holder tells which calls can hold the lock that the blocked wait for, and the rule that breaks.
func (r *run) holder(blocked, others []waiter) (holder, why string) {
	if again := r.askedAgain(blocked); len(again) > 0 {
		if len(others) > 0 {
			again = append(again, "other calls in progress: "+strings.ReplaceAll(r.inside(others), "\n", "; "))
		}
		return strings.Join(again, "\n"),
			"A lock of package sync is not reentrant: a goroutine that locks it again waits for itself. " +
				"If the outer call does not hold it, a call has returned without unlocking."
	}
	if len(others) > 0 {
		return "one of these may hold the lock, or a call that returned without unlocking:\n" + r.inside(others),
			"Hold a lock for a moment only: unlock before you wait or sleep, and on every way out of a function."
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

// inside lists goroutines with the calls of the chapter that led to where they are, a line each.
func (r *run) inside(all []waiter) string {
	var lines []string
	for _, w := range all {
		line := r.is(w)
		for _, f := range w.frames[slices.Index(w.frames, w.call)+1:] {
			if r.where.isChapter(f) {
				line += ", called by " + f.at(r.where)
			}
		}
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return capLines(strings.Join(lines, "\n"), waitersShown)
}

// askedAgain tells, one line each, which of the blocked calls were made by another method of the same object.
func (r *run) askedAgain(blocked []waiter) (lines []string) {
	for _, w := range blocked {
		asker := r.asker(w)
		if outer := callersWithSameReceiver(w, asker); len(outer) > 0 {
			lines = append(lines, fmt.Sprintf("%s was called by %s, which may hold the lock already",
				asker.short(r.where), outer[0].at(r.where)))
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
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
