package stub

// This file carries out the directives of functions, and the one in a file's head that is for all of them.

import (
	"fmt"
	"go/ast"
	"strconv"
	"strings"
)

// head reads the directive in the file's head.
func (f *file) head(tree *ast.File, src []byte, used map[*ast.Comment]bool) error {
	for _, group := range tree.Comments {
		if len(tree.Decls) > 0 && (group.Pos() > tree.Decls[0].Pos() || group == declDoc(tree.Decls[0])) {
			return nil
		}
		for _, c := range group.List {
			arguments, ok := strings.CutPrefix(c.Text, "//workshop:file ")
			if !ok {
				continue
			}
			words := strings.Fields(arguments)
			switch {
			case f.forAll != nil:
				return fmt.Errorf("%s: a second directive for one file", f.set.Position(c.Pos()))
			case word(words, 0) == "omit" && len(words) <= 2:
				f.forAll, f.receiver = words[:1], word(words, 1)
			case word(words, 0) == "task" && isTask(words) && len(words) <= 3:
				f.forAll, f.receiver = words[:2], word(words, 2)
			default:
				return fmt.Errorf("%s: %s: a file's directive is \"//workshop:file omit\" or \"//workshop:file task 2\", "+
					"and the name of a receiver if need be", f.set.Position(c.Pos()), c.Text)
			}
			used[c] = true
			f.cutDirective(group, c, src)
		}
	}
	return nil
}

// isTask reports whether the second word is the number of a task.
func isTask(words []string) bool {
	n, err := strconv.Atoi(word(words, 1))
	return err == nil && n > 0
}

// function carries out the directive of a function, or the one for all functions of the file.
func (f *file) function(d *ast.FuncDecl, src []byte, used map[*ast.Comment]bool) error {
	c, words, err := f.directive(d.Doc, used)
	if err != nil {
		return err
	}
	switch {
	case c == nil && f.forAll == nil, c == nil && d.Name.IsExported() && f.forAll[0] == "omit":
		return nil
	case c == nil && d.Name.IsExported():
		words = f.forAll
	case c == nil:
		words = []string{"omit"}
	}
	switch word(words, 0) {
	case "task":
		return f.hole(d, c, words, src)
	case "omit":
		return f.omit(d, c, d.Doc, []*ast.Ident{d.Name}, words, src)
	case "keep":
		f.cutDirective(d.Doc, c, src)
		return nil
	}
	return fmt.Errorf("%s: there is no directive %s; there are task, omit and keep", f.set.Position(c.Pos()), c.Text)
}

// symbol returns Symbol, with the file's name for an unexported receiver type.
func (f *file) symbol(d *ast.FuncDecl) string {
	receiver, method, ok := strings.Cut(Symbol(d), ".")
	if ok && f.receiver != "" && !ast.IsExported(receiver) {
		return f.receiver + "." + method
	}
	return Symbol(d)
}

// declDoc returns the doc comment of a declaration, nil if it has none.
func declDoc(decl ast.Decl) *ast.CommentGroup {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		return d.Doc
	case *ast.GenDecl:
		return d.Doc
	}
	return nil
}
