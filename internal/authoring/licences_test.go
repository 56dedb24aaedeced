package authoring_test

// This file lists the licences of what is compiled into each tool, and compares them with docs/develop/licences.txt:
//
//	go test ./internal/authoring -run Licences -v

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const licencesFile = "../../docs/develop/licences.txt"

// licenceTexts are the licences that may be compiled in, and words that only their texts have.
var licenceTexts = []struct{ name, words string }{
	{"Apache-2.0", "Apache License"},
	{"BSD-3-Clause", "may be used to endorse or promote"},
	{"BSD-2-Clause", "Redistributions in binary form must reproduce"},
	{"MIT", "The above copyright notice and this permission notice shall be included"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software"},
}

func TestLicences_are_those_of_the_list(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems compile other modules")
	}
	modules, tools := compiledIn(t)
	var list strings.Builder
	for _, module := range slices.Sorted(maps.Keys(modules)) {
		licence := licenceOf(t, modules[module])
		t.Logf("%s %s, in %s", module, licence, strings.Join(tools[module], ", "))
		require.NotEmpty(t, licence, "%s has a licence that is not in licenceTexts", module)
		fmt.Fprintf(&list, "%s %s\n", module, licence)
	}
	want, err := os.ReadFile(licencesFile)
	require.NoError(t, err)
	require.Equal(t, string(want), list.String(), "look at what is new, and then change %s", licencesFile)
}

// compiledIn returns the folder of each module that is compiled into a tool, and the tools of each.
func compiledIn(t *testing.T) (folders map[string]string, tools map[string][]string) {
	list := func(args ...string) [][]string {
		out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
		require.NoError(t, err)
		var lines [][]string
		for line := range strings.Lines(string(out)) {
			lines = append(lines, strings.Fields(line))
		}
		return lines
	}
	folders, tools, moduleOf := map[string]string{}, map[string][]string{}, map[string]string{}
	for _, line := range list("-deps", "-f", "{{with .Module}}{{if not .Main}}{{$.ImportPath}} {{.Path}} {{.Dir}}{{end}}{{end}}",
		module+"cmd/...") {
		if len(line) == 3 {
			moduleOf[line[0]], folders[line[1]] = line[1], line[2]
		}
	}
	for _, line := range list("-f", `{{.ImportPath}} {{join .Deps " "}}`, module+"cmd/...") {
		tool := strings.TrimPrefix(line[0], module+"cmd/")
		for _, dep := range line[1:] {
			if m := moduleOf[dep]; m != "" && !slices.Contains(tools[m], tool) {
				tools[m] = append(tools[m], tool)
			}
		}
	}
	return folders, tools
}

// licenceOf returns the licence in a module's folder, "" if it may not be compiled in.
func licenceOf(t *testing.T, folder string) string {
	files, err := filepath.Glob(filepath.Join(folder, "LICENSE*"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, licence := range licenceTexts {
			if strings.Contains(strings.Join(strings.Fields(string(text)), " "), licence.words) {
				return licence.name
			}
		}
	}
	return ""
}
