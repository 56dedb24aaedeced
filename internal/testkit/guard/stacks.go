package guard

// This file reads goroutine dumps: the runtime offers no other way to learn what other goroutines are doing. It knows
// the format of Go 1.26, "goroutine 7 [sync.Cond.Wait (durable), synctest bubble 3]:" and then two lines for each call.
// What it does not understand it skips, so a change of format costs details of a failure, not the failure.

import (
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// goroutine is one entry of a dump.
type goroutine struct {
	id      int
	state   string // "sync.Cond.Wait", "running", …
	durable bool   // it waits for something that only its own bubble can bring about
	bubble  int    // 0 outside any bubble
	frames  []frame
	created frame // where the go statement is; empty for the first goroutine of a program
}

// frame is one call in a stack.
type frame struct {
	function string // with its import path: "example.com/x.(*T).Add"
	args     string // as the dump has them: "0xc000012, {0x1, 0x2}", or "..." if the call was inlined
	file     string
	line     int
}

// short is the function as the learner wrote it: with its package, unless that is the chapter's or the test's.
func (f frame) short(p place) string {
	if p.isOwn(f) {
		return "the test"
	}
	pkg := packageOf(f.function)
	name := strings.TrimPrefix(f.function, pkg+".")
	if pkg == p.chapter || pkg == p.test {
		return name
	}
	return pkg[strings.LastIndexByte(pkg, '/')+1:] + "." + name
}

// at names the function and its line: "(*DeltaFIFO).Pop at delta_fifo.go:120".
func (f frame) at(p place) string {
	if !f.hasLine() {
		return f.short(p) + " in " + at(f.file, 0).File
	}
	return f.short(p) + " at " + at(f.file, f.line).String()
}

// hasLine reports whether the line is known. An empty loop may have been compiled to an instruction of line 1.
func (f frame) hasLine() bool { return f.line > 1 }

// isLock says whether the call is a method that locks.
func (f frame) isLock() bool {
	return strings.HasSuffix(f.function, ").Lock") || strings.HasSuffix(f.function, ").RLock")
}

// isOnce reports whether a frame is in a call of a sync.Once.
func (f frame) isOnce() bool { return f.function == "sync.(*Once).doSlow" }

// self is the number of the calling goroutine, and of its bubble.
func self() (id, bubble int) {
	var buf [128]byte
	line, _, _ := strings.Cut(string(buf[:runtime.Stack(buf[:], false)]), "\n")
	g := parseHeader(line)
	return g.id, g.bubble
}

// allGoroutines stops the world for a moment to dump it. Of very many goroutines it returns the first ones.
func allGoroutines() []goroutine {
	most := 64 << 20 // bytes
	if runtime.NumGoroutine() > manyGoroutines {
		most = shortDump
	}
	for size := 256 << 10; ; size *= 4 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size || size >= most {
			return parseDump(string(buf[:n]))
		}
	}
}

var (
	header  = regexp.MustCompile(`^goroutine (\d+)(?: [^\[]*)? \[([^\],]*)(.*)\]:$`)
	bubble  = regexp.MustCompile(`, synctest bubble (\d+)`)
	source  = regexp.MustCompile(`^\s+(.*):(\d+)(?: \+0x[0-9a-f]+)?( fp=.*)?$`)
	creator = regexp.MustCompile(`^created by (.*?)(?: in goroutine \d+)?$`)
)

func parseHeader(line string) (g goroutine) {
	m := header.FindStringSubmatch(line)
	if m == nil {
		return g
	}
	g.id, _ = strconv.Atoi(m[1]) // digits, says the pattern
	g.state, g.durable = strings.CutSuffix(m[2], " (durable)")
	g.state = strings.TrimSuffix(g.state, " (scan)") // the garbage collector is looking at it
	if b := bubble.FindStringSubmatch(m[3]); b != nil {
		g.bubble, _ = strconv.Atoi(b[1])
	}
	return g
}

// parseDump reads what runtime.Stack or a crash wrote.
func parseDump(dump string) []goroutine {
	var all []goroutine
	for block := range strings.SplitSeq(strings.ReplaceAll(dump, "\r\n", "\n"), "\n\n") {
		lines := strings.Split(strings.Trim(block, "\n"), "\n")
		for len(lines) > 0 && !strings.HasPrefix(lines[0], "goroutine ") {
			lines = lines[1:] // a crash has its message on top
		}
		if len(lines) == 0 {
			continue
		}
		if g := parseHeader(lines[0]); g.id != 0 {
			g.readFrames(lines[1:])
			all = append(all, g)
		}
	}
	return all
}

func (g *goroutine) readFrames(lines []string) {
	for i := 0; i+1 < len(lines); i++ {
		f, ok := parseFrame(lines[i], lines[i+1])
		if !ok {
			continue
		}
		if c := creator.FindStringSubmatch(f.function); c != nil {
			g.created = f
			g.created.function = c[1]
		} else {
			g.frames = append(g.frames, f)
		}
		i++
	}
}

// parseFrame reads the two lines of a call. The race detector indents both, the runtime only the second.
func parseFrame(call, where string) (f frame, ok bool) {
	m := source.FindStringSubmatch(where)
	if m == nil {
		return f, false
	}
	f = frame{function: strings.TrimSpace(call), file: m[1]}
	f.line, _ = strconv.Atoi(m[2])
	if open := strings.LastIndexByte(f.function, '('); open > 0 && strings.HasSuffix(f.function, ")") {
		f.function, f.args = f.function[:open], strings.TrimSuffix(f.function[open+1:], ")")
	}
	return f, true
}

// Goroutines returns the number of goroutines. runtime.NumGoroutine counts 32 too many while the runtime moves
// goroutines that have ended from one list to another; Goroutines stops the world first.
func Goroutines() int {
	n, _ := runtime.GoroutineProfile(make([]runtime.StackRecord, 1))
	return n
}
