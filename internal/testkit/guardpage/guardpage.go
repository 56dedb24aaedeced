// Package guardpage counts the calls that compare a key with other keys. A test needs it where a promise says that the
// work of a call does not grow with the number of keys, and the call runs no function of the test that could be
// counted. It measures no time.
//
// A guard page is a page of memory that no program may read. The bytes of some keys lie in such a page. It is readable
// while a store is filled with them, and unreadable during one call. A loop over the keys of a store
// (for k := range items { if k == key …) reads one of them. That is a fault, which debug.SetPanicOnFault turns into a
// panic, and Reads recovers it. The key of the call has bytes of its own, in ordinary memory.
//
// A map compares two keys only if part of their hashes is equal, and all keys when it grows. A tree compares a few. So
// one call proves nothing: Reads makes each call on a store of its own, of another size and with other unreadable
// keys. A loop reads one in nearly every store, a map or a tree in a few of them.
//
// What it leaves out:
//   - It sees comparisons, not steps. A call that moves all keys in a slice, or counts them, reads none of their bytes.
//   - A store that copies the bytes of its keys when it is filled has readable keys. Keys of different lengths are not
//     compared at all.
//   - The call must compare on its own goroutine, because a fault on another goroutine ends the process. So Reads
//     first makes the call on a readable twin of the store. If that starts a goroutine, the call counts as one that
//     reads no other key.
//   - A store whose call faulted is broken: it may be locked. It is never used again.
//
// Each call of Reads has a page of its own, which stays mapped until the process ends. It is readable except during a
// call, so a failure may print any key.
package guardpage

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"unsafe"
)

const (
	// Stores is how many stores Reads makes, with one call on each.
	Stores = 20
	// Most is how many of these calls may read another key.
	Most = Stores / 2

	largest    = 400 // keys of the first store
	fewer      = 10  // keys by which each store is smaller than the one before
	unreadable = 10  // keys of a store that have their bytes in the page
	length     = len("default/web-000")
)

// page is the memory for the bytes of the unreadable keys of all stores.
type page []byte

// Reads returns how many of as many calls as Stores read a key other than their own. For each call fill makes a
// store of the keys, among which own stands in the middle, and returns the call, which is about own. All keys have the
// same length. Reads blocks until all calls have returned. It skips the test on a system without guard pages.
func Reads(t testing.TB, fill func(keys []string, own string) (call func())) int {
	t.Helper()
	p, err := newPage(Stores * unreadable * length)
	if err != nil {
		t.Skipf("no memory can be made unreadable here: %v", err)
	}
	runtime.GC() // the collector's first run starts goroutines
	reads := 0
	for n := range Stores {
		store := func() (call func()) {
			keys := p.keys(n)
			return fill(keys, strings.Clone(keys[len(keys)/2]))
		}
		if !startsGoroutines(func() { store()() }) && p.read(store()) {
			reads++
		}
	}
	return reads
}

// startsGoroutines calls f, and reports whether a goroutine was started meanwhile. It may be one of another test.
func startsGoroutines(f func()) bool {
	started := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(started)
	before := started[0].Value.Uint64()
	f()
	metrics.Read(started)
	return started[0].Value.Uint64() > before
}

// keys returns the keys of the store no. n. Those with bytes in the page are spread evenly, at other places in each
// store, and not in the middle.
func (p page) keys(n int) []string {
	keys := make([]string, largest-n*fewer)
	for i := range keys {
		keys[i] = fmt.Sprintf("default/web-%03d", i)
	}
	every := len(keys) / unreadable // without a rest, so the middle is a multiple of it
	for i := range unreadable {
		place := i*every + 1 + n
		bytes := p[(n*unreadable+i)*length:][:length]
		copy(bytes, keys[place])
		keys[place] = unsafe.String(&bytes[0], length)
	}
	return keys
}

// read makes the call while the page is unreadable, and reports whether it read the page. Any other panic goes on.
func (p page) read(call func()) (read bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		p.protect(false)
		v := recover()
		if read = p.isFault(v); !read && v != nil {
			panic(v)
		}
	}()
	p.protect(true)
	call()
	return false
}

// isFault reports whether v is the panic of a fault in the page.
func (p page) isFault(v any) bool {
	fault, ok := v.(interface {
		runtime.Error
		Addr() uintptr
	})
	if !ok {
		return false
	}
	start := uintptr(unsafe.Pointer(unsafe.SliceData(p)))
	return fault.Addr() >= start && fault.Addr() < start+uintptr(len(p))
}

// protect makes the page unreadable, or readable again.
func (p page) protect(on bool) {
	if err := setUnreadable(p, on); err != nil {
		panic(fmt.Errorf("change the protection of the guard page: %w", err))
	}
}
