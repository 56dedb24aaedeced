package guard

// This file tells who has a lock, which no dump does: it reads the source of the calls that a dump names. A call has a
// lock if it has called Lock or RLock above the line that it is at, and has not given it back in between. That leaves
// out locks that a helper takes; then the failure says who may have it, and no more.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"client-go-workshop/internal/testkit/env"
)

// held is a lock that a call has taken.
type held struct {
	call frame
	lock string // as the source has it: "q.lock"
	at   string // where it was taken: "queue.go:47"
}

func (h held) String() string { return fmt.Sprintf("has locked %s at %s", h.lock, h.at) }

// isField says whether two locks have the same name, whatever the variable before it is called.
func isField(a, b string) bool {
	return a[strings.LastIndexByte(a, '.')+1:] == b[strings.LastIndexByte(b, '.')+1:]
}

// heldBy is what a goroutine has locked in the chapter and in the libraries that it uses, innermost call first. A
// goroutine that waits in a sync.Cond has released its lock.
func (r *run) heldBy(w waiter) (all []held) {
	if w.state == "sync.Cond.Wait" {
		return nil
	}
	for _, f := range w.frames {
		if r.where.isForeign(f) && !f.isLock() {
			locks, _ := locksOf(f)
			all = append(all, locks...)
		}
	}
	return all
}

// wanted is the lock that a call waits for, "" if its source does not tell.
func wanted(call frame) string {
	lock := ""
	inFunction(call, func(src parsed, body *ast.BlockStmt) {
		ast.Inspect(body, func(n ast.Node) bool {
			if name, on := src.lockCall(n); strings.HasSuffix(name, "Lock") && src.line(n.Pos()) == call.line {
				lock = on
			}
			return true
		})
	})
	return lock
}

// locksOf reads what a call has locked when it is at its line. It is not known if the source cannot be read, or is not
// of the code that runs, or stands on one line.
func locksOf(call frame) (all []held, known bool) {
	known = inFunction(call, func(src parsed, body *ast.BlockStmt) {
		var path []ast.Node
		ast.Inspect(body, func(n ast.Node) bool {
			if n == nil {
				path = path[:len(path)-1]
				return true
			}
			switch n.(type) {
			case *ast.FuncLit, *ast.DeferStmt, *ast.GoStmt: // runs at another time
				return false
			}
			path = append(path, n)
			name, on := src.lockCall(n)
			if name == "" || src.line(n.Pos()) >= call.line || leftBefore(path, call.line, src.line) {
				return true
			}
			if strings.HasSuffix(name, "Unlock") {
				for i := len(all) - 1; i >= 0; i-- {
					if all[i].lock == on {
						all = append(all[:i], all[i+1:]...)
						break
					}
				}
				return true
			}
			all = append(all, held{call, on, at(call.file, src.line(n.Pos())).String()})
			return true
		})
	})
	return all, known
}

// leftBefore says whether the innermost nodes of path are in a branch that ends the function, or the turn of a loop,
// before it gets to line.
func leftBefore(path []ast.Node, at int, line func(token.Pos) int) bool {
	for _, n := range path {
		var list []ast.Stmt
		switch n := n.(type) {
		case *ast.BlockStmt:
			list = n.List
		case *ast.CaseClause:
			list = n.Body
		case *ast.CommClause:
			list = n.Body
		}
		if len(list) == 0 || line(n.Pos()) <= at && at <= line(n.End()) {
			continue
		}
		switch list[len(list)-1].(type) {
		case *ast.ReturnStmt, *ast.BranchStmt:
			return true
		}
	}
	return false
}

// parsed is a file with its text. go/types would print expressions too, but takes seconds to compile, which every
// learner would wait for before the first verdict.
type parsed struct {
	fset *token.FileSet
	text []byte
}

func (p parsed) line(pos token.Pos) int { return p.fset.Position(pos).Line }

// expression is the text of e on one line.
func (p parsed) expression(e ast.Expr) string {
	from, to := p.fset.PositionFor(e.Pos(), false), p.fset.PositionFor(e.End(), false)
	return string(bytes.Join(bytes.Fields(p.text[from.Offset:to.Offset]), nil))
}

// lockCall takes x.Lock() apart, and RLock, Unlock and RUnlock.
func (p parsed) lockCall(n ast.Node) (name, on string) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) > 0 {
		return "", ""
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	switch method.Sel.Name {
	case "Lock", "RLock", "Unlock", "RUnlock":
		return method.Sel.Name, p.expression(method.X)
	}
	return "", ""
}

var closure = regexp.MustCompile(`\.func\d+[.\d]*$`)

// inFunction calls f with the body of the function that a call is in. It returns false if there is none: then the
// source is another one's, or the function stands on one line, on which nothing comes before anything.
func inFunction(call frame, f func(src parsed, body *ast.BlockStmt)) bool {
	name := sourceOf(call.file)
	text, err := os.ReadFile(name)
	if err != nil {
		return false
	}
	src := parsed{token.NewFileSet(), text}
	file, err := parser.ParseFile(src.fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	isClosure := closure.MatchString(call.function)
	function := call.function[strings.LastIndexByte(call.function, '.')+1:]
	var body *ast.BlockStmt
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil || src.line(n.Pos()) > call.line || src.line(n.End()) < call.line {
			return false
		}
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Name.Name == function && !isClosure {
				body = n.Body
			}
		case *ast.FuncLit:
			if isClosure {
				body = n.Body
			}
		}
		return true
	})
	if body == nil || src.line(body.Pos()) == src.line(body.End()) {
		return false
	}
	f(src, body)
	return true
}

// sourceOf is where the source of a file is that was compiled. Package overlay may have put a copy in its place, whose
// first line names the file.
func sourceOf(file string) string {
	var overlay struct{ Replace map[string]string }
	data, err := os.ReadFile(os.Getenv(env.Overlay))
	if err != nil || json.Unmarshal(data, &overlay) != nil {
		return file
	}
	for _, replacement := range overlay.Replace {
		if filepath.Base(replacement) != filepath.Base(file) {
			continue
		}
		if text, err := os.ReadFile(replacement); err == nil && bytes.HasPrefix(text, []byte("//line "+file+":")) {
			return replacement
		}
	}
	return file
}
