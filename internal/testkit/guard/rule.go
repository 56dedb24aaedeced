package guard

// This file finds the rule for a call that never returned. No assertion has spoken then, so it is read from the test's
// source: the assertion that the call stands in, as in
//
//	require.Equal(t, want, drain(t, q), "the rule")
//
// and, where there is none with a message of its own, what is true of every call that waits for ever.

import (
	"go/ast"
	"go/token"
	"strconv"
)

const waitsForEver = "what a call waits for must come on every path, and its end on every way to stop"

// arguments is how many arguments testify's assertions have before the message, the test among them.
var arguments = map[string]int{
	"Contains": 3, "ElementsMatch": 3, "Empty": 2, "Equal": 3, "EqualError": 3, "EqualValues": 3, "Error": 2, "ErrorAs": 3,
	"ErrorContains": 3, "ErrorIs": 3, "False": 2, "Greater": 3, "GreaterOrEqual": 3, "InDelta": 4, "IsType": 3, "Len": 3, "Less": 3,
	"LessOrEqual": 3, "Nil": 2, "NoError": 2, "NotContains": 3, "NotEmpty": 2, "NotEqual": 3, "NotErrorIs": 3, "NotNil": 2,
	"NotZero": 2, "Panics": 2, "Same": 3, "True": 2, "Zero": 2,
}

// rule is the rule of the test for a goroutine that waits in it, innermost assertion first.
func (r *run) rule(w waiter) string {
	for _, f := range w.frames {
		if !r.where.isTest(f) {
			continue
		}
		if rule := messageAt(f); rule != "" {
			return rule
		}
	}
	return waitsForEver
}

// messageAt is the message of the innermost assertion that a frame is in the middle of, "" if it has none.
func messageAt(f frame) (message string) {
	inFunction(f, func(fset *token.FileSet, body *ast.BlockStmt) {
		ast.Inspect(body, func(n ast.Node) bool {
			if n == nil || fset.Position(n.Pos()).Line > f.line || fset.Position(n.End()).Line < f.line {
				return false
			}
			if call, ok := n.(*ast.CallExpr); ok {
				if own := messageOf(call); own != "" {
					message = own
				}
			}
			return true
		})
	})
	return message
}

// messageOf is the message of an assertion. One with values to put in is none: those are not known yet.
func messageOf(call *ast.CallExpr) string {
	function, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	pkg, ok := function.X.(*ast.Ident)
	n, known := arguments[function.Sel.Name]
	if !ok || pkg.Name != "require" && pkg.Name != "assert" || !known || len(call.Args) != n+1 {
		return ""
	}
	return literal(call.Args[n])
}

// literal is the value of a string literal, or of several with + between them.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return text
		}
	case *ast.BinaryExpr:
		if left, right := literal(e.X), literal(e.Y); left != "" && right != "" {
			return left + right
		}
	}
	return ""
}
