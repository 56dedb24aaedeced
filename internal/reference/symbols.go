package reference

// This file looks up symbols: cache.NewIndexer, cache.Indexer.AddIndexers, threadSafeMap.Transaction. It reads source, not
// compiled packages, so it needs neither a build nor an import of client-go.

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// packages are the names under which texts speak of packages. A name that is not here is not checked.
var packages = map[string]string{
	"appsv1":         "k8s.io/api/apps/v1",
	"cache":          "k8s.io/client-go/tools/cache",
	"clientcmd":      "k8s.io/client-go/tools/clientcmd",
	"corev1":         "k8s.io/api/core/v1",
	"informers":      "k8s.io/client-go/informers",
	"kubernetes":     "k8s.io/client-go/kubernetes",
	"labels":         "k8s.io/apimachinery/pkg/labels",
	"leaderelection": "k8s.io/client-go/tools/leaderelection",
	"listers":        "k8s.io/client-go/listers/apps/v1",
	"meta":           "k8s.io/apimachinery/pkg/api/meta",
	"metav1":         "k8s.io/apimachinery/pkg/apis/meta/v1",
	"policyv1":       "k8s.io/api/policy/v1",
	"record":         "k8s.io/client-go/tools/record",
	"rest":           "k8s.io/client-go/rest",
	"sets":           "k8s.io/apimachinery/pkg/util/sets",
	"watch":          "k8s.io/apimachinery/pkg/watch",
	"workqueue":      "k8s.io/client-go/util/workqueue",
}

var (
	isSymbol  = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*){0,2}$`)
	qualified = regexp.MustCompile(`\b([a-z][a-z0-9]*)\.([A-Za-z_]\w*)(?:\.([A-Za-z_]\w*))?`)
	fileName  = regexp.MustCompile(`\b(tools|rest|util|informers|listers|kubernetes|transport)(/[a-z0-9_]+)+\.go\b`)
)

// code checks the symbols in a piece of inline code or a line of a comment.
func (c *checker) code(line int, text string) {
	for _, path := range fileName.FindAllString(text, -1) {
		if _, err := os.Stat(filepath.Join(c.modules["k8s.io/client-go"].Dir, filepath.FromSlash(path))); err != nil {
			c.problem(line, "client-go %s has no file %s", c.modules["k8s.io/client-go"].Version, path)
		}
	}
	for _, at := range qualified.FindAllStringSubmatchIndex(text, -1) {
		if at[0] > 0 && strings.ContainsAny(text[at[0]-1:at[0]], "./_-") {
			continue // part of a path or of a longer name
		}
		m := []string{text[at[2]:at[3]], text[at[4]:at[5]], ""}
		if at[6] >= 0 {
			m[2] = text[at[6]:at[7]]
		}
		if _, known := packages[m[0]]; !known || m[1] == "go" || m[1] == "md" || m[1] == "k8s" {
			continue
		}
		if !c.symbols.exist(m[0], m[1], m[2]) {
			c.problem(line, "there is no %s in %s %s", strings.TrimRight(strings.Join(m, "."), "."), packages[m[0]], c.symbols.version(m[0]))
		}
	}
}

// comments checks the comments of a Go file.
func (c *checker) comments(content []byte) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, c.file, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		c.problem(1, "%v", err)
		return
	}
	for _, group := range tree.Comments {
		for _, comment := range group.List {
			first := set.Position(comment.Pos()).Line
			for i, line := range strings.Split(comment.Text, "\n") {
				c.code(first+i, line)
			}
		}
	}
}

// symbols knows what the packages declare.
type symbols struct {
	modules map[string]module
	byPath  map[string]map[string]bool // "NewIndexer", "Indexer.AddIndexers"; by import path
}

func newSymbols(_ string, modules map[string]module) *symbols {
	return &symbols{modules: modules, byPath: map[string]map[string]bool{}}
}

func (s *symbols) module(alias string) (mod module, rest string) {
	path := packages[alias]
	for _, m := range s.modules {
		if rest, ok := strings.CutPrefix(path, m.Path+"/"); ok {
			return m, rest
		}
	}
	return module{}, ""
}

func (s *symbols) version(alias string) string {
	m, _ := s.module(alias)
	return m.Version
}

// exist tells whether a package declares name, and name a method or field member, if one is given. A member that may
// come from an embedded type is taken for granted.
func (s *symbols) exist(alias, name, member string) bool {
	declared := s.of(alias)
	if !declared[name] {
		return false
	}
	return member == "" || declared[name+"."+member] || declared[name+".*"]
}

func (s *symbols) of(alias string) map[string]bool {
	path := packages[alias]
	if known, ok := s.byPath[path]; ok {
		return known
	}
	found := map[string]bool{}
	s.byPath[path] = found
	mod, rest := s.module(alias)
	files, _ := filepath.Glob(filepath.Join(mod.Dir, filepath.FromSlash(rest), "*.go"))
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		eachDeclaration(tree, func(name string, _ token.Pos) { found[name] = true })
	}
	return found
}

// declaredAt finds the line in which a symbol is declared: of its doc comment's end, the "func" or "type" line. The
// symbol may carry its package's name in front.
func declaredAt(content []byte, symbol string) (line int, exists bool) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, "", content, parser.SkipObjectResolution)
	if err != nil {
		return 0, false
	}
	bare := strings.TrimPrefix(symbol, tree.Name.Name+".")
	eachDeclaration(tree, func(name string, at token.Pos) {
		_, method, _ := strings.Cut(name, ".")
		if !exists && (name == bare || name == symbol || method == bare) {
			line, exists = set.Position(at).Line, true
		}
	})
	return line, exists
}

// eachDeclaration tells of every top-level name, and of the methods and fields of each type as Type.Name. Type.* stands
// for what an embedded type brings.
func eachDeclaration(tree *ast.File, do func(name string, at token.Pos)) {
	for _, decl := range tree.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil && len(d.Recv.List) == 1 {
				name = typeName(d.Recv.List[0].Type) + "." + name
			}
			do(name, d.Pos())
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					at := s.Pos()
					if !d.Lparen.IsValid() {
						at = d.Pos()
					}
					do(s.Name.Name, at)
					members(s, do)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						do(n.Name, n.Pos())
					}
				}
			}
		}
	}
}

func members(s *ast.TypeSpec, do func(name string, at token.Pos)) {
	var fields *ast.FieldList
	switch t := s.Type.(type) {
	case *ast.StructType:
		fields = t.Fields
	case *ast.InterfaceType:
		fields = t.Methods
	default:
		return
	}
	for _, f := range fields.List {
		for _, n := range f.Names {
			do(s.Name.Name+"."+n.Name, n.Pos())
		}
		if len(f.Names) == 0 {
			do(s.Name.Name+".*", f.Pos())
		}
	}
}

func typeName(e ast.Expr) string {
	switch t := e.(type) {
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.IndexExpr:
		return typeName(t.X)
	case *ast.IndexListExpr:
		return typeName(t.X)
	case *ast.ParenExpr:
		return typeName(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}
