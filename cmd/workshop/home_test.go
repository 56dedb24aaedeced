package main

// This file has the folders of the tests' small workshops. The go command knows a package by its folder, so a test
// takes the folder of one that has ended: then the build cache has the packages that every chapter's test imports.

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// homes are the folders of small workshops: those that no test uses, and how many there are.
var homes struct {
	sync.Mutex
	base string
	free []string
	all  int
}

// tests makes the folder of all small workshops, and removes it when the tests have run.
type tests struct{ m *testing.M }

func (t tests) Run() int {
	var err error
	if homes.base, err = os.MkdirTemp("", "workshop"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(homes.base)
	return t.m.Run()
}

// takeHome returns an empty folder named w for a small workshop. giveBack ends its use.
func takeHome() (root string, giveBack func()) {
	homes.Lock()
	defer homes.Unlock()
	if last := len(homes.free) - 1; last >= 0 {
		root, homes.free = homes.free[last], homes.free[:last]
	} else {
		homes.all++
		root = filepath.Join(homes.base, strconv.Itoa(homes.all), "w")
	}
	return root, func() {
		if os.RemoveAll(root) != nil {
			return // something still writes there
		}
		homes.Lock()
		defer homes.Unlock()
		homes.free = append(homes.free, root)
	}
}

// home lays out a small workshop for the test.
func home(t *testing.T, archive string) (root string) {
	t.Helper()
	root, giveBack := takeHome()
	t.Cleanup(giveBack)
	require.NoError(t, layOut(root, archive))
	return root
}
