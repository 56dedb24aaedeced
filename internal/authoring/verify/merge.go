package verify

// This file merges wrong versions into the right code, for one build of most of a set. A wrong body becomes a branch at
// the beginning of its function:
//
//	func (i *index) update(…) {
//		if workshopBug == "forgets-the-old-entry" {
//			…the wrong body…
//			return
//		}
//		…the right body…
//	}
//
// Imports, functions, variables, types and fields that a wrong version adds are there for all of them. Not merged: any
// other change of a declaration, a new method, what two wrong versions add in different ways, and what may need a name
// that only another one adds.

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"client-go-workshop/internal/course/stub"
	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/overlay"
)

var branchStart = regexp.MustCompile(`workshopBug == "([^"]+)" \{$`)

// branchEnd ends the line behind a branch.
const branchEnd = "} // the wrong version ends"

// merge makes a layer of the right code with as many wrong versions as can be, and says which.
func merge(right overlay.Layer, all []bugs.Bug) (overlay.Layer, map[string]bool, error) {
	m := merger{right, map[place]function{}, map[place]string{}, map[place]string{}}
	all = slices.DeleteFunc(slices.Clone(all), func(b bugs.Bug) bool { return !m.fits(b) })
	all = slices.DeleteFunc(all, m.borrows)
	has, set := map[string]bool{}, bugs.Bug{Name: "set"}
	branches, fields := map[place]string{}, map[place]map[string]string{}
	for _, b := range all {
		has[b.Name] = true
		for _, c := range b.Changes {
			at := place{c.File, c.Symbol}
			if right, isStruct := m.structs[at]; isStruct {
				more, _ := addedFields(right, c.Wrong)
				maps.Copy(more, fields[at])
				fields[at] = more
				continue
			}
			f, isBranch := m.functions[at]
			if !isBranch {
				if !slices.Contains(set.Changes, c) {
					set.Changes = append(set.Changes, c)
				}
				continue
			}
			wrong, _ := parseFunction(c.Wrong) // fits has parsed it
			branches[at] += fmt.Sprintf("\nif workshopBug == %q {\n%s\n%s%s\n", b.Name, wrong.body, f.end, branchEnd)
		}
	}
	for at, text := range branches {
		f := m.functions[at]
		set.Changes = append(set.Changes, bugs.Change{File: at.file, Symbol: at.symbol, Right: "-",
			Wrong: f.head + "{" + text + f.body + "}"})
	}
	for at, more := range fields {
		text := strings.TrimSuffix(m.structs[at], "}")
		for name, kind := range more {
			text += "\n" + name + " " + kind
		}
		set.Changes = append(set.Changes, bugs.Change{File: at.file, Symbol: at.symbol, Right: "-", Wrong: text + "\n}"})
	}
	layer, err := set.Apply(right)
	layer.Name = "set of " + right.Name
	choice := fmt.Sprintf("import \"os\"\n\nvar workshopBug = os.Getenv(%q)\n", chosenBug)
	return withSource(layer, "zz_workshop_bug.go", choice), has, err
}

// place is a symbol in a file.
type place struct{ file, symbol string }

// merger knows the right functions that wrong versions change, and what they add.
type merger struct {
	right     overlay.Layer
	functions map[place]function
	structs   map[place]string // the right declarations
	added     map[place]string // the text; of an import its line, of Type.field the field's type
}

// fits reports whether all changes of a wrong version can be merged, and notes what it adds.
func (m *merger) fits(b bugs.Bug) bool {
	added := map[place]string{}
	for _, c := range b.Changes {
		at := place{c.File, c.Symbol}
		if c.Symbol == bugs.Imports {
			for line := range strings.SplitSeq(c.Wrong, "\n") {
				added[place{c.File, localName(line)}] = line
			}
			continue
		}
		right, err := m.declaration(at)
		wrong, isFunction := parseFunction(c.Wrong)
		fields, isStruct := addedFields(right, c.Wrong)
		switch f, sameKind := parseFunction(right); {
		case err != nil, c.Wrong == "", right == "" && (wrong.method || c.Symbol == "init"):
			return false
		case right == "":
			added[place{"", c.Symbol}] = c.Wrong
		case isStruct:
			m.structs[at] = right
			for name, kind := range fields {
				added[place{"", c.Symbol + "." + name}] = kind
			}
		case !isFunction || !sameKind || f.head != wrong.head:
			return false
		default:
			m.functions[at] = f
		}
	}
	for at, text := range added {
		if other, taken := m.added[at]; taken && other != text {
			return false
		}
	}
	for at, text := range added {
		m.added[at] = text
	}
	return true
}

// declaration returns a declaration of the right code, or "".
func (m *merger) declaration(at place) (string, error) {
	for _, f := range m.right.Files {
		if f.Name == at.file {
			return bugs.Declaration(f.Content, at.symbol)
		}
	}
	return "", fmt.Errorf("there is no file %s", at.file)
}

// borrows reports whether a wrong version may need what only others add. Then it might not compile alone, which its own
// build tells.
func (m *merger) borrows(b bugs.Bug) bool {
	for at := range m.added {
		_, field, isField := strings.Cut(at.symbol, ".")
		use := regexp.MustCompile(`\b` + at.symbol + `\b`)
		if isField {
			use = regexp.MustCompile(`\.` + field + `\b`)
		}
		own, uses := false, false
		for _, c := range b.Changes {
			if right, isStruct := m.structs[place{c.File, c.Symbol}]; isStruct {
				more, _ := addedFields(right, c.Wrong)
				own = own || isField && more[field] != ""
			}
			imports := c.Symbol == bugs.Imports && c.File == at.file
			own = own || c.Symbol == at.symbol || imports && use.MatchString(c.Wrong)
			uses = uses || use.MatchString(c.Wrong) && !use.MatchString(c.Right) && (at.file == "" || at.file == c.File)
		}
		if uses && !own {
			return true
		}
	}
	return false
}

// function is the source of a function in parts.
type function struct {
	head, body string // without braces
	end        string // what ends a branch: "return" if there is no result, or nothing
	method     bool
}

func parseFunction(text string) (f function, ok bool) {
	const start = "package p\n"
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, "", start+text, parser.SkipObjectResolution)
	if err != nil || len(tree.Decls) != 1 {
		return f, false
	}
	d, ok := tree.Decls[0].(*ast.FuncDecl)
	if !ok || d.Body == nil {
		return f, false
	}
	from, to := set.Position(d.Body.Lbrace).Offset-len(start), set.Position(d.Body.Rbrace).Offset-len(start)
	f = function{head: text[:from], body: text[from+1 : to], method: d.Recv != nil}
	if d.Type.Results == nil {
		f.end = "return\n"
	}
	return f, true
}

// addedFields returns the fields that only the second of two declarations of a struct has, with their types. ok is
// false if one is no struct, or if the second has a field of another type, or embeds what the first does not.
func addedFields(right, wrong string) (more map[string]string, ok bool) {
	has, isStruct := fieldsOf(right)
	more, ok = fieldsOf(wrong)
	for name, kind := range more {
		old, known := has[name]
		ok = ok && (known && old == kind || !known && name != kind)
	}
	maps.DeleteFunc(more, func(name, _ string) bool { return has[name] != "" })
	return more, ok && isStruct
}

// fieldsOf returns the types of a struct's fields by name. An embedded field has the name of its type.
func fieldsOf(text string) (fields map[string]string, ok bool) {
	tree, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+text, parser.SkipObjectResolution)
	if err != nil || len(tree.Decls) != 1 {
		return nil, false
	}
	d, ok := tree.Decls[0].(*ast.GenDecl)
	if !ok || d.Tok != token.TYPE || len(d.Specs) != 1 {
		return nil, false
	}
	kind, ok := d.Specs[0].(*ast.TypeSpec).Type.(*ast.StructType)
	if !ok {
		return nil, false
	}
	fields = map[string]string{}
	for _, f := range kind.Fields.List {
		text := types.ExprString(f.Type)
		if len(f.Names) == 0 {
			fields[text] = text
		}
		for _, name := range f.Names {
			fields[name.Name] = text
		}
	}
	return fields, true
}

// localName returns the name that an imported package has in its file. line is the import's.
func localName(line string) string {
	name, quoted, _ := strings.Cut(strings.TrimSpace(line), `"`)
	if name = strings.TrimSpace(name); name != "" {
		return name
	}
	return stub.ImportName(&ast.ImportSpec{Path: &ast.BasicLit{Value: quoted}})
}

// withSource adds a file to a layer, whose package it has. source is the text after the package clause.
func withSource(layer overlay.Layer, name, source string) overlay.Layer {
	tree, err := parser.ParseFile(token.NewFileSet(), "", layer.Files[0].Content, parser.PackageClauseOnly)
	if err == nil { // or the build tells
		layer.Files = append(slices.Clone(layer.Files),
			overlay.File{Name: name, Content: []byte("package " + tree.Name.Name + "\n\n" + source)})
	}
	return layer
}

// branchesAt returns the wrong versions in whose branches a compiler's errors are.
func branchesAt(merged overlay.Layer, errors string) map[string]bool {
	found := map[string]bool{}
	for _, m := range compileError.FindAllStringSubmatch(errors, -1) {
		number, _ := strconv.Atoi(m[2]) // the pattern has digits here
		for _, f := range merged.Files {
			if f.Name != m[1] {
				continue
			}
			lines := strings.Split(string(f.Content), "\n")
			for i := min(number, len(lines)) - 1; i >= 0 && !strings.HasSuffix(lines[i], branchEnd); i-- {
				if m := branchStart.FindStringSubmatch(lines[i]); m != nil {
					found[m[1]] = true
					break
				}
			}
		}
	}
	return found
}
