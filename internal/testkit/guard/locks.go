package guard

// This file reports a deadlock on locks of package sync. Those do not know their owners, so the failure shows the calls
// that wait, and the calls that can hold the lock: an outer call of the same goroutine, and others in progress.

import (
	"cmp"
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
	if slices.ContainsFunc(first.frames[:slices.Index(first.frames, first.call)], frame.isOnce) {
		r.neverReturned(dump, "a call of a sync.Once waits until the first one has returned")
		return
	}
	holder, why := r.holder(blocked, others)
	f := failure.Failure{
		Kind:    failure.Hang,
		At:      r.lineOf(first),
		Code:    cmp.Or(r.where.codeLine(first.call), r.asleep(others)),
		Problem: first.call.short(r.where) + " never returned: it waits for a lock that is never released",
		Wanted:  first.call.short(r.where) + " gets the lock and returns",
		Got:     strings.Join([]string{r.list(blocked, r.is), holder}, "\n"),
		Why:     why,
	}
	r.fail(f)
}

// asleep returns the line of a call of the chapter that sleeps, if there is one.
func (r *run) asleep(others []waiter) failure.Position {
	i := slices.IndexFunc(others, func(w waiter) bool { return w.state == "sleep" })
	if i < 0 {
		return failure.Position{}
	}
	return r.where.codeLine(others[i].call)
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
	if again := r.askedAgain(blocked, len(others) > 0); len(again) > 0 {
		if len(others) > 0 {
			again = append(again, "other calls in progress: "+strings.ReplaceAll(r.list(others, r.inside), "\n", "; "))
		}
		return strings.Join(again, "\n"),
			"A lock of package sync is not reentrant: a goroutine that locks it again waits for itself. " +
				"If the outer call does not hold it, a call has returned without unlocking."
	}
	if len(others) > 0 {
		return "one of these may hold the lock, or a call that returned without unlocking:\n" +
				r.list(others, r.inside),
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

// inside says where a goroutine is, and which calls of the chapter led there.
func (r *run) inside(w waiter) string {
	line := r.is(w)
	for _, f := range w.frames[slices.Index(w.frames, w.call)+1:] {
		if r.where.isChapter(f) {
			line += ", called by " + f.at(r.where)
		}
	}
	return line
}

// askedAgain tells, one line each, which of the blocked calls were made by another method of the same type. If the
// chapter has calls in progress, a method of a finished layer is suspected only if it came back by way of the chapter.
func (r *run) askedAgain(blocked []waiter, inChapter bool) (lines []string) {
	for _, w := range blocked {
		calls := slices.DeleteFunc(slices.Clone(w.frames), func(f frame) bool {
			return f.isLock() || !r.where.isForeign(f) && !r.where.isChapter(f)
		})
		for i, outer := range calls {
			ours := !inChapter || slices.ContainsFunc(calls[:i+1], r.where.isChapter)
			if i > 0 && ours && receiver(outer) != "" && receiver(outer) == receiver(calls[0]) {
				lines = append(lines, fmt.Sprintf("%s was called by %s, which may hold the lock already",
					calls[0].short(r.where), outer.at(r.where)))
				break
			}
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// receiver is "example.com/x.(*T)" for a method of *T or for a closure in one, "" for other functions.
func receiver(f frame) string {
	pkg := packageOf(f.function)
	if name, isMethod := strings.CutPrefix(f.function, pkg+".("); isMethod {
		name, _, _ = strings.Cut(name, ")")
		return pkg + ".(" + name + ")"
	}
	return ""
}

// lock is the address of the lock that a goroutine waits for, "" when the dump does not tell.
func (g goroutine) lock() string {
	for _, f := range g.frames {
		switch f.function {
		case "sync.(*RWMutex).Lock", "sync.(*RWMutex).RLock", "internal/sync.(*Mutex).lockSlow":
			address, _, _ := strings.Cut(f.args, ",")
			if !strings.HasPrefix(address, "0x") || strings.HasSuffix(address, "?") {
				return "" // inlined, or in a register that may have been reused since
			}
			return address
		}
	}
	return ""
}
