package verify

// This file merges wrong versions into the right code. A wrong body becomes a branch at the beginning of its function:
//
//	func (i *index) update(…) {
//		if workshopBug == "forgets-the-old-entry" {
//			…the wrong body…
//			return
//		}
//		…the right body…
//	}
//
// What a wrong version only adds is there for all of them: imports, fields, functions, variables and types. Not merged:
// another signature, field or constant, a removed declaration, a method for a type of the right code, a label, whatever
// two wrong versions would declare in different ways, and what needs a name that only another one adds.

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/overlay"
)

var branchStart = regexp.MustCompile(`workshopBug == "([^"]+)" \{$`)

// branchEnd ends the line behind a branch.
const branchEnd = "} // the wrong version ends"

// insertion is a text that a wrong version adds to a file of the right code, and where.
type insertion struct {
	at   int
	text string
	// name is what the text declares, for the package or, as Type.field, for a type. For an import it begins with the
	// file, and for a branch it is empty.
	name string
	// instead is the right body that a branch stands for.
	instead string
}

// merge makes a layer of the right code with as many wrong versions as can be, and says which. With bodiesOnly these
// are the ones that add nothing to the package.
func merge(right overlay.Layer, all []bugs.Bug, bodiesOnly bool) (overlay.Layer, map[string]bool) {
	has := map[string]bool{}
	additions := map[string]map[string][]insertion{} // by wrong version and file
	added := map[string]string{}                     // by name
	for _, b := range all {
		if b.RaceOnly {
			continue
		}
		wrong, err := b.Apply(right)
		if err != nil {
			continue // to be said when it is run for itself
		}
		mine, ok := differences(b.Name, right, wrong)
		if !ok || !fits(mine, added, bodiesOnly) {
			continue
		}
		additions[b.Name] = mine
		for _, list := range mine {
			for _, in := range list {
				if in.name != "" {
					added[in.name] = code(in.text)
				}
			}
		}
	}
	insertions := map[string][]insertion{} // by file
	there := map[string]bool{}             // the names in them
	for _, b := range all {
		mine, merged := additions[b.Name]
		if !merged || borrows(mine, added) {
			continue
		}
		has[b.Name] = true
		for file, list := range mine {
			for _, in := range list {
				if in.name == "" || !there[in.name] {
					insertions[file] = append(insertions[file], in)
					there[in.name] = true
				}
			}
		}
	}
	layer := overlay.Layer{Chapter: right.Chapter, Name: "set of " + right.Name}
	for _, f := range right.Files {
		f.Content = insert(f.Content, insertions[f.Name])
		layer.Files = append(layer.Files, f)
	}
	choice := fmt.Sprintf("import \"os\"\n\nvar workshopBug = os.Getenv(%q)\n", chosenBug)
	return withSource(layer, "zz_workshop_bug.go", choice), has
}

// fits reports whether nothing that a wrong version adds has been added in another form.
func fits(mine map[string][]insertion, added map[string]string, bodiesOnly bool) bool {
	for _, list := range mine {
		for _, in := range list {
			before := added[in.name]
			if in.name != "" && (bodiesOnly || before != "" && before != code(in.text)) {
				return false
			}
		}
	}
	return true
}

// borrows reports whether a wrong version may need what only others add. Then it might not compile alone, which its own
// build tells. What the right body names, too, is in the right code.
func borrows(mine map[string][]insertion, added map[string]string) bool {
	own, uses := map[string]bool{}, map[string]bool{}
	for file, list := range mine {
		for _, in := range list {
			own[in.name] = true
			right := words(file, in.instead)
			for word := range words(file, in.text) {
				uses[word] = uses[word] || !right[word]
			}
		}
	}
	for name := range added {
		_, field, isField := strings.Cut(name, ".")
		isField = isField && !strings.Contains(name, ":") // an import's name begins with its file
		if !own[name] && (uses[name] || isField && uses["."+field]) {
			return true
		}
	}
	return false
}

// words returns the names in code. A field begins with its dot; what may be an import begins also with the file.
func words(file, code string) map[string]bool {
	found := map[string]bool{}
	for _, at := range used.FindAllStringIndex(code, -1) {
		word := code[at[0]:at[1]]
		found[word] = true
		if strings.HasPrefix(code[at[1]:], ".") {
			found[file+":"+word] = true
		}
	}
	return found
}

// used matches a name in code, with the dot before it.
var used = regexp.MustCompile(`\.?\b[\pL_][\pL\d_]*`)

// code returns an insertion without the line that names its wrong version.
func code(text string) string { return branchMark.ReplaceAllString(text, "") }

var branchMark = regexp.MustCompile(`(?m)^// workshopBug == .*$`)

// withSource adds a file to a layer, whose package it has. source is the text after the package clause.
func withSource(layer overlay.Layer, name, source string) overlay.Layer {
	for _, f := range layer.Files {
		tree, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Content, parser.PackageClauseOnly)
		if err == nil {
			content := []byte("package " + tree.Name.Name + "\n\n" + source)
			layer.Files = append(layer.Files, overlay.File{Name: name, Content: content})
			break
		}
	}
	return layer
}

// differences returns by file what a wrong version adds to the right code; ok is false if it cannot be merged.
func differences(name string, right, wrong overlay.Layer) (found map[string][]insertion, ok bool) {
	known := map[string]bool{} // what the right code declares
	for _, f := range right.Files {
		decls, ok := declarations(f.Content)
		if !ok {
			return nil, false
		}
		for _, d := range decls {
			known[d.name] = true
		}
	}
	found = map[string][]insertion{}
	for i, r := range right.Files {
		w := wrong.Files[i]
		if bytes.Equal(r.Content, w.Content) {
			continue
		}
		wrongs, ok := declarations(w.Content)
		if !ok {
			return nil, false
		}
		rights, _ := declarations(r.Content)
		for _, d := range rights {
			gone := !slices.ContainsFunc(wrongs, func(w declaration) bool { return w.name == d.name })
			if gone && !strings.HasPrefix(d.name, ":") {
				return nil, false // only its own build tells whether it compiles without this
			}
		}
		for _, d := range wrongs {
			at := slices.IndexFunc(rights, func(r declaration) bool { return r.name == d.name })
			if at < 0 {
				if known[strings.TrimPrefix(d.name, ":")] || known[d.receiver] || d.name == "init" {
					return nil, false
				}
				found[r.Name] = append(found[r.Name], d.whole(name, r))
				continue
			}
			more, ok := d.beyond(name, rights[at])
			if !ok {
				return nil, false
			}
			found[r.Name] = append(found[r.Name], more...)
		}
	}
	return found, len(found) > 0
}

// declaration is a top-level declaration, or one import.
type declaration struct {
	// name is Type.Method for a method, all names for a group, and the file-wide name behind a colon for an import.
	name     string
	receiver string // the type of a method
	head     string // for a function what is outside of its body, for all else everything
	body     string // without braces
	at       int    // where the body or the fields begin
	results  bool
	labels   bool     // in the body: a function can have each only once
	fields   []string // of a struct
}

// whole returns the insertion of a declaration that the right file does not have.
func (d declaration) whole(bug string, file overlay.File) insertion {
	if strings.HasPrefix(d.name, ":") {
		return insertion{at: afterPackage(file.Content), text: "\nimport " + d.head + "\n", name: file.Name + d.name}
	}
	text := d.head
	if d.body != "" || d.at > 0 && d.fields == nil {
		text += "{" + d.body + "}"
	}
	text = fmt.Sprintf("\n// workshopBug == %q {\n%s\n// %s\n", bug, text, branchEnd)
	return insertion{at: len(file.Content), text: text, name: d.name}
}

// beyond returns what d has and right has not. Both have the same name.
func (d declaration) beyond(bug string, right declaration) (more []insertion, ok bool) {
	if d.fields != nil && right.fields != nil && d.head != right.head {
		return d.moreFields(right)
	}
	if d.head != right.head || d.labels && d.body != right.body {
		return nil, false
	}
	if d.body == right.body {
		return nil, true
	}
	text := fmt.Sprintf("\nif workshopBug == %q {\n%s\n", bug, d.body)
	if !d.results {
		text += "return\n"
	}
	return []insertion{{at: right.at, text: text + branchEnd + "\n", instead: right.body}}, true
}

// moreFields returns the fields that the struct d has and right has not; ok is false if it lacks one.
func (d declaration) moreFields(right declaration) (more []insertion, ok bool) {
	inOneLine := func(field string) string { return strings.Join(strings.Fields(field), " ") }
	left := right.fields
	for _, field := range d.fields {
		if len(left) > 0 && inOneLine(left[0]) == inOneLine(field) {
			left = left[1:]
			continue
		}
		name, _, isNamed := strings.Cut(inOneLine(field), " ")
		if !isNamed || strings.HasSuffix(name, ",") {
			return nil, false
		}
		more = append(more, insertion{at: right.at, text: "\n" + field + "\n", name: d.name + "." + name})
	}
	return more, len(left) == 0
}

// afterPackage returns where an import can be added.
func afterPackage(src []byte) int {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, "", src, parser.PackageClauseOnly)
	if err != nil {
		return 0
	}
	return set.Position(tree.Name.End()).Offset
}

func declarations(src []byte) (all []declaration, ok bool) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, "", src, parser.SkipObjectResolution) // without comments: they change nothing
	if err != nil {
		return nil, false
	}
	f := file{src, set}
	for _, decl := range tree.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			all = append(all, f.function(d))
		case *ast.GenDecl:
			all = append(all, f.group(d)...)
		}
	}
	return all, true
}

// file is a parsed file.
type file struct {
	src []byte
	set *token.FileSet
}

func (f file) offset(p token.Pos) int         { return f.set.Position(p).Offset }
func (f file) text(from, to token.Pos) string { return string(f.src[f.offset(from):f.offset(to)]) }

func (f file) function(decl *ast.FuncDecl) declaration {
	d := declaration{name: strings.Join(bugs.Symbols(decl), " "), results: decl.Type.Results != nil}
	if decl.Recv != nil {
		d.receiver, _, _ = strings.Cut(d.name, ".")
	}
	if decl.Body == nil {
		d.head = f.text(decl.Pos(), decl.End())
		return d
	}
	d.head = f.text(decl.Pos(), decl.Body.Lbrace)
	d.body, d.at = f.text(decl.Body.Lbrace+1, decl.Body.Rbrace), f.offset(decl.Body.Lbrace)+1
	d.labels = hasLabel(decl.Body)
	return d
}

// group returns the imports of a group one by one, and any other group as one declaration.
func (f file) group(group *ast.GenDecl) (all []declaration) {
	if group.Tok == token.IMPORT {
		for _, spec := range group.Specs {
			name := ":" + localName(spec.(*ast.ImportSpec))
			all = append(all, declaration{name: name, head: f.text(spec.Pos(), spec.End())})
		}
		return all
	}
	d := declaration{name: strings.Join(bugs.Symbols(group), " "), head: f.text(group.Pos(), group.End())}
	if strings.Trim(d.name, "_ ") == "" {
		d.name = d.head
	}
	if t, isType := group.Specs[0].(*ast.TypeSpec); isType && len(group.Specs) == 1 {
		if s, isStruct := t.Type.(*ast.StructType); isStruct {
			d.at, d.fields = f.offset(s.Fields.Opening)+1, []string{}
			for _, field := range s.Fields.List {
				d.fields = append(d.fields, f.text(field.Pos(), field.End()))
			}
		}
	}
	return []declaration{d}
}

// localName returns the name that an import has in its file.
func localName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	imported, _ := strconv.Unquote(spec.Path.Value) // the file has been parsed
	if name := path.Base(imported); !regexp.MustCompile(`^v\d+$`).MatchString(name) {
		return name
	}
	return path.Base(path.Dir(imported))
}

func hasLabel(body *ast.BlockStmt) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		_, label := n.(*ast.LabeledStmt)
		found = found || label
		return true
	})
	return found
}

// insert puts insertions into a file.
func insert(src []byte, all []insertion) []byte {
	slices.SortStableFunc(all, func(a, b insertion) int { return a.at - b.at })
	var out bytes.Buffer
	done := 0
	for _, in := range all {
		out.Write(src[done:in.at])
		out.WriteString(in.text)
		done = in.at
	}
	out.Write(src[done:])
	return out.Bytes()
}
