package verify

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
)

func TestCompile_blames_the_solution(t *testing.T) {
	root := t.TempDir()
	t.Setenv("GOFLAGS", "")
	write(t, root, "go.mod", "module client-go-workshop\n\ngo 1.26\n")
	write(t, root, "01-box/box.go", "package box\n")
	path := filepath.Join("solutions", "01-box", "box.go")
	for name, c := range map[string]struct{ src, problem string }{
		"a function": {"package box\n\nfunc kept() { helper() }\n\n//workshop:omit\nfunc helper() {}\n",
			path + `:3: the stub would not compile: undefined: helper (in "func kept() { helper() }", which stays in the stub)`},
		"the second of two such lines": {"package box\n\n//workshop:omit\nfunc helper() int { return 1 }\n\n" +
			"func one(helper func() int) int {\n\treturn helper()\n}\n\nfunc two() int {\n\treturn helper()\n}\n",
			path + `:11: the stub would not compile: undefined: helper (in "return helper()", which stays in the stub)`},
		"a variable": {"package box\n\nvar (\n\ta = 1\n\tb = helper\n)\n\n//workshop:omit\nvar helper = 2\n",
			path + `:5: the stub would not compile: undefined: helper (in "b = helper", which stays in the stub)`},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, root, "solutions/01-box/box.go", c.src)
			r, err := run{ctx: t.Context(), root: root}.of(course.Chapter{Dir: "01-box"})
			require.NoError(t, err)
			require.EqualError(t, r.vet(r.stub, r.pkg()), c.problem)
		})
	}
}
