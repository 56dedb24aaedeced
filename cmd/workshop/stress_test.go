package main

// These tests attack a learner's work for as long as -stress says: commands at once, kills at random moments, a full
// disk. After each attack, every version of a file that the learner has written is in the folder or in a complete
// backup, every file is one that the learner, the stubs or the solution have, and the progress can be read.

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course"
	"client-go-workshop/internal/testkit/stress"
	"client-go-workshop/internal/workspace"
	"client-go-workshop/internal/workspace/progress"
)

// learner is a small workshop, and all that was written in its first chapter.
type learner struct {
	*testing.T
	root     string
	chapter  course.Chapter
	written  int
	versions map[string]bool // "name\x00content", from the learner; false after the learner has written over it
	made     map[string]bool // the same, from the stubs and the solution
	states   map[string]bool // the folder after each write; see stateOf
}

func newLearner(t *testing.T, root string) *learner {
	t.Helper()
	require.NoError(t, layOut(root, "testdata/workshop.txtar"))
	chapter, err := course.Find(root, "01")
	require.NoError(t, err)
	l := &learner{T: t, root: root, chapter: chapter, versions: map[string]bool{}, made: map[string]bool{},
		states: map[string]bool{}}
	for _, dir := range []string{chapter.Dir, chapter.Solution()} {
		files := l.code(filepath.Join(root, dir))
		maps.Copy(l.made, files)
		l.states[stateOf(files)] = true
	}
	return l
}

// stateOf returns all files of a folder as one string.
func stateOf(files map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(files)), "\x00")
}

// code returns the files of a folder, as keys of versions.
func (l *learner) code(dir string) map[string]bool {
	l.Helper()
	files, err := course.Code(dir)
	require.NoError(l, err)
	keys := map[string]bool{}
	for name, content := range files {
		keys[name+"\x00"+string(content)] = true
	}
	return keys
}

func (l *learner) present() map[string]bool {
	l.Helper()
	return l.code(filepath.Join(l.root, l.chapter.Dir))
}

// backups returns the files of all complete backups.
func (l *learner) backups() map[string]bool {
	l.Helper()
	names, err := workspace.Backups(l.root, l.chapter)
	require.NoError(l, err)
	all := map[string]bool{}
	for _, name := range names {
		files := l.code(filepath.Join(l.root, ".workshop", "backup", l.chapter.Dir, name))
		require.NotEmpty(l, files, "the backup %s is empty", name)
		maps.Copy(all, files)
	}
	return all
}

// write saves two files that were never there before.
func (l *learner) write(rng *rand.Rand) {
	l.Helper()
	kept := l.backups()
	for key := range l.present() {
		if l.versions[key] {
			l.versions[key] = kept[key]
		}
	}
	for _, name := range []string{"box.go", "more.go"} {
		l.written++
		content := fmt.Sprintf("package box\n\n// %d%s\n", l.written, strings.Repeat("\n// and more", rng.IntN(1000)))
		require.NoError(l, os.WriteFile(filepath.Join(l.root, l.chapter.Dir, name), []byte(content), 0o644))
		l.versions[name+"\x00"+content] = true
	}
	l.states[stateOf(l.present())] = true
}

// check looks for all that was written, and for what nobody has written.
func (l *learner) check() {
	l.Helper()
	found := l.backups()
	maps.Copy(found, l.present())
	for key, must := range l.versions {
		require.True(l, found[key] || !must, "lost: %.60q", key)
	}
	for key := range found {
		_, written := l.versions[key]
		require.True(l, written || l.made[key], "nobody has written %.60q", key)
	}
	_, err := progress.Load(l.root)
	require.NoError(l, err)
}

// forget throws the backups away, so that the thousandth check takes as long as the first.
func (l *learner) forget() {
	l.Helper()
	require.NoError(l, os.RemoveAll(filepath.Join(l.root, ".workshop", "backup")))
	present := l.present()
	maps.DeleteFunc(l.versions, func(key string, _ bool) bool { return !present[key] })
}

const forgetEvery = 50

func TestStress_commands_at_once(t *testing.T) {
	stress.For(t)
	l := newLearner(t, t.TempDir())
	commands := [][]string{{"reset", "01"}, {"skip", "01"}, {"restore", "01"}, {"hint", "01/1"}, {"reset", "01", "--missing"}}
	for n, rng := range stress.Rounds(t, 40) {
		l.write(rng)
		var all sync.WaitGroup
		for range 2 + rng.IntN(3) {
			args := commands[rng.IntN(len(commands))]
			all.Go(func() {
				cmd := exec.Command(program, args...)
				cmd.Dir = l.root
				out, err := cmd.CombinedOutput()
				if err != nil && !strings.Contains(string(out), "there is no backup of") {
					t.Errorf("workshop %s: %v\n%s", strings.Join(args, " "), err, out)
				}
			})
		}
		all.Wait()
		l.check()
		require.True(t, l.states[stateOf(l.present())], "the folder is of several commands: %.60q", l.present())
		if n%forgetEvery == 0 {
			l.forget()
		}
	}
}

// stressLoop is a program that changes the first chapter and the progress of a workshop until it is killed.
func stressLoop() {
	root := os.Args[1]
	seed, _ := strconv.ParseUint(os.Args[2], 10, 64)
	chapter, err := course.Find(root, "01")
	if err != nil {
		panic(err)
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	do := change
	if rng.IntN(3) == 0 { // these are so much faster that a kill would seldom meet one among the others
		do = record
	}
	fmt.Println("begun")
	for {
		if err := do(root, chapter, rng); err != nil {
			panic(err)
		}
	}
}

// change does what one of the commands does, or stores progress.
func change(root string, chapter course.Chapter, rng *rand.Rand) error {
	var err error
	switch rng.IntN(5) {
	case 0:
		_, err = workspace.Reset(root, chapter)
	case 1:
		_, err = workspace.ResetMissing(root, chapter)
	case 2:
		_, err = workspace.Skip(root, chapter)
	case 3:
		_, _, err = workspace.Restore(root, chapter, "")
		if err != nil && strings.Contains(err.Error(), "there is no backup of") {
			err = nil
		}
	default:
		err = record(root, chapter, rng)
	}
	return err
}

// record stores progress of a random length.
func record(root string, chapter course.Chapter, rng *rand.Rand) error {
	err := progress.Update(root, func(f *progress.File) {
		f.At, f.Hints = chapter.Tasks[0].ID, map[string]int{}
		for i := range rng.IntN(20) {
			f.Hints[fmt.Sprintf("box/task-%d", i)] = i
		}
	})
	return err
}

func TestStress_kills(t *testing.T) {
	stress.For(t)
	l := newLearner(t, t.TempDir())
	for n, rng := range stress.Rounds(t, 40) {
		l.write(rng)
		cmd := exec.Command("workshop-loop", l.root, strconv.FormatUint(rng.Uint64(), 10))
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		require.NoError(t, cmd.Start())
		line, err := bufio.NewReader(stdout).ReadString('\n')
		require.NoError(t, err, stderr.String())
		require.Equal(t, "begun\n", line)
		time.Sleep(time.Duration(rng.IntN(30_000)) * time.Microsecond)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		require.Empty(t, stderr.String(), "no command fails before the kill")
		if l.check(); n%forgetEvery == 0 {
			l.forget()
		}
	}
}

func TestStress_full_disk(t *testing.T) {
	stress.For(t)
	l := newLearner(t, smallDisk(t))
	filler := filepath.Join(l.root, "filler")
	failed := 0
	for n, rng := range stress.Rounds(t, 40) {
		l.write(rng)
		fill(t, filler, int64(rng.IntN(12))*4096)
		for range 3 {
			if err := change(l.root, l.chapter, rng); err != nil {
				failed++
				require.Contains(t, err.Error(), "no space left on device")
			}
		}
		l.check()
		require.NoError(t, os.Remove(filler))
		require.NoError(t, change(l.root, l.chapter, rng), "with some space it works again")
		if l.check(); n%forgetEvery == 0 {
			l.forget()
		}
	}
	t.Logf("%d changes failed because the disk was full", failed)
	require.NotZero(t, failed, "the disk was never full")
}

// smallDisk mounts a file system of some megabytes, and skips the test where that is not possible.
func smallDisk(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("only root on Linux can mount a small disk")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("no small disk can be mounted here: %s", out)
	}
	t.Cleanup(func() { require.NoError(t, exec.Command("umount", dir).Run()) })
	return dir
}

// fill writes a file that leaves about so many bytes of the disk.
func fill(t *testing.T, path string, leave int64) {
	t.Helper()
	free, err := freeDisk(filepath.Dir(path))
	require.NoError(t, err)
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	for left := max(0, int64(free)-leave); left > 0; {
		n, err := file.Write(make([]byte, min(left, 1<<16)))
		if left -= int64(n); err != nil {
			require.False(t, errors.Is(err, fs.ErrClosed))
			return
		}
	}
}
