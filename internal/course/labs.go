package course

// This file finds the labs. A lab is a chapter without a number that comes after the chapters: a folder in labs with a
// README.md. The page labs/README.md lists them, and the order of its links is their order.

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// LabsFolder is the folder of the labs, and LabsPage the text that lists them, relative to the root.
const (
	LabsFolder = "labs"
	LabsPage   = LabsFolder + "/README.md"
)

var labLink = regexp.MustCompile(`^(?:\./)?([a-z][a-z0-9-]*)/(?:README\.md)?$`)

// Lab reports whether the chapter is a lab.
func (c Chapter) Lab() bool { return path.Dir(c.Dir) == LabsFolder }

// Name is what a learner types for the chapter: its number, such as "05", or the name of the lab.
func (c Chapter) Name() string {
	if c.Lab() {
		return c.Topic
	}
	return fmt.Sprintf("%02d", c.Number)
}

// labs reads the labs below root, in the order of the page that lists them. A folder without a README.md is not a lab.
// A workshop without labs needs no page.
func labs(root string) ([]Chapter, error) {
	readmes, _ := fs.Glob(os.DirFS(root), LabsFolder+"/*/README.md") // the pattern is well-formed
	doc, err := Text(filepath.Join(root, filepath.FromSlash(LabsPage)))
	if errors.Is(err, fs.ErrNotExist) && len(readmes) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find the order of the labs: %w", err)
	}
	var all []Chapter
	linked := map[string]bool{}
	for _, link := range doc.Links {
		m := labLink.FindStringSubmatch(link.Target)
		if m == nil || linked[m[1]] {
			continue
		}
		linked[m[1]] = true
		c := Chapter{Dir: LabsFolder + "/" + m[1], Topic: m[1]}
		if !slices.Contains(readmes, c.Dir+"/README.md") {
			return nil, fmt.Errorf("%s:%d links the lab %s, and there is no %s/README.md; write it, or remove the link",
				LabsPage, link.Line, m[1], c.Dir)
		}
		if err := c.read(root); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	for _, readme := range readmes {
		if name := path.Base(path.Dir(readme)); !linked[name] {
			return nil, fmt.Errorf("%s does not link the lab %s/%s; add the link [%s](%s/README.md) where it belongs in "+
				"the order", LabsPage, LabsFolder, name, name, name)
		}
	}
	return all, nil
}

// byWord returns the labs with a word in their name: "proxy" is one of "rewriting-proxy".
func byWord(all []Chapter, word string) (found []Chapter) {
	for _, c := range all {
		if c.Lab() && slices.Contains(strings.Split(c.Topic, "-"), word) {
			found = append(found, c)
		}
	}
	return found
}

// layersPackage is what the tests of a chapter import if they run on layers of the learner's choice.
const layersPackage = `"client-go-workshop/internal/testkit/layers"`

// runsOnLayers reports whether a test in dir imports the layers. It takes a test that cannot be read for one that does
// not; the go command reports why.
func runsOnLayers(dir string) bool {
	tests, _ := filepath.Glob(filepath.Join(dir, "*_test.go")) // the pattern is well-formed
	return slices.ContainsFunc(tests, func(test string) bool {
		src, err := ReadFile(test)
		return err == nil && bytes.Contains(src, []byte(layersPackage))
	})
}
