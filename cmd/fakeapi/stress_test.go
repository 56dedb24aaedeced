package main

// This test measures what one server holds, and then keeps it under load for as long as -stress says. The server is a
// process of its own, so its memory is not that of the clients (load_test.go).

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/testkit/stress"
)

// asServer, in the environment, makes the test binary the program.
const asServer = "FAKEAPI_TEST_AS_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

const (
	objects                 = 10_000
	fewWatches, manyWatches = 10, 100
	clients                 = 4 // that send requests one after another
	phase                   = 5 * time.Second
	mostGrowth              = 1.25 // of the memory, from one half of the soak to the other
)

func TestStress_server_under_load(t *testing.T) {
	length := stress.For(t)
	url, pid := startServer(t)
	l := newLoad(t, url)
	report := func(what string, n int, took time.Duration) {
		t.Logf("%-48s %7.0f /s  %4d MB", what, float64(n)/took.Seconds(), residentMB(pid))
	}
	t.Logf("%d processors; the empty server holds %d MB", runtime.NumCPU(), residentMB(pid))

	began := time.Now()
	for part := range slices.Chunk(numbers(objects), objects/5) {
		l.each(part, l.create)
		report("create, "+fmt.Sprint(part[len(part)-1]+1)+" objects stored", part[len(part)-1]+1, time.Since(began))
	}
	t.Logf("an object is %d bytes of JSON", len(l.read(l.object(0))))

	run := func(name string, request func(*rand.Rand)) { report(name, l.repeat(request, phase), phase) }
	run("get", l.get)
	run("update", l.update)
	run("list of 500", l.page)
	for _, n := range []int{fewWatches, manyWatches} {
		for range n - len(l.open) {
			l.watch()
		}
		run(fmt.Sprintf("update, with %d watches of all objects", n), l.update)
	}
	for range manyWatches - fewWatches {
		l.endOldest()
	}

	changes := l.changes.Load()
	memory := l.soak(length, func() int { return residentMB(pid) })
	l.caughtUp()
	report("soak", int(l.requests.Load()), length)
	t.Logf("the soak made %d changes; all watches received %d events, and %d of them were too slow and started again",
		l.changes.Load()-changes, l.events.Load(), l.expired.Load())
	run("list of all", l.list)
	if memory == nil {
		t.Log("this system does not tell how much memory a process holds")
		return
	}
	half := len(memory) / 2
	first, second := slices.Max(memory[:half]), slices.Max(memory[half:])
	t.Logf("memory of the soak: at most %d MB in its first half, %d MB in its second", first, second)
	require.Less(t, float64(second), mostGrowth*float64(first), "the memory grows without end: %v", memory)
}

// Clients ask for a list of 10 MB and never read it. A new one comes for each that the server ends.
func TestStress_slow_readers(t *testing.T) {
	length := stress.For(t)
	url, pid := startServer(t)
	l := newLoad(t, url)
	l.each(numbers(slowObjects), l.create)
	t.Logf("the list has %d MB", len(l.read(l.deployments))/1_000_000)
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var all sync.WaitGroup
	for range 300 {
		all.Go(func() {
			for ctx.Err() == nil {
				readNothing(ctx, strings.TrimPrefix(url, "http://"))
			}
		})
	}
	most, longest := 0, time.Duration(0)
	for ctx.Err() == nil {
		began := time.Now()
		l.read(l.object(0))
		longest = max(longest, time.Since(began))
		most = max(most, residentMB(pid))
		time.Sleep(100 * time.Millisecond)
	}
	all.Wait()
	t.Logf("at most %d MB; the longest get of another client took %v", most, longest)
	require.Less(t, most, 1000)
}

const slowObjects = 5000

// readNothing asks for a list, and waits until the server or ctx ends the connection.
func readNothing(ctx context.Context, address string) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	conn.(*net.TCPConn).SetReadBuffer(1 << 12)
	fmt.Fprintf(conn, "GET /apis/apps/v1/deployments HTTP/1.1\r\nHost: a\r\n\r\n")
	for err == nil { // a write to a connection that the server has ended fails
		time.Sleep(time.Second)
		_, err = conn.Write([]byte("G"))
	}
}

// startServer runs the program until the test is over.
func startServer(t *testing.T) (url string, pid int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "--kubeconfig", filepath.Join(t.TempDir(), "kubeconfig"))
	cmd.Env = append(os.Environ(), asServer+"=1")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	text := make([]byte, 1000)
	n, err := stdout.Read(text)
	require.NoError(t, err)
	return regexp.MustCompile(`http://[\d.:]+\d`).FindString(string(text[:n])), cmd.Process.Pid
}

var resident = regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB$`)

// residentMB returns 0 where the system does not tell.
func residentMB(pid int) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	found := resident.FindSubmatch(status)
	if found == nil {
		return 0
	}
	kB, _ := strconv.Atoi(string(found[1]))
	return kB / 1000
}

func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// soak sends requests of all kinds while watches end and begin, and returns the memory of each second.
func (l *load) soak(length time.Duration, memory func() int) (seconds []int) {
	var all sync.WaitGroup
	l.requests.Store(0)
	all.Go(func() { l.repeat(l.any, length) })
	stop := time.After(length)
	turn, second := time.NewTicker(100*time.Millisecond), time.NewTicker(time.Second)
	defer turn.Stop()
	defer second.Stop()
	for {
		select {
		case <-turn.C:
			l.endOldest()
			l.watch()
		case <-second.C:
			if mb := memory(); mb > 0 {
				seconds = append(seconds, mb)
			}
		case <-stop:
			all.Wait()
			return seconds
		}
	}
}

// any sends one request of the soak. A list takes as long as a hundred updates.
func (l *load) any(rng *rand.Rand) {
	switch n := rng.IntN(1000); {
	case n < 800:
		l.update(rng)
	case n < 970:
		l.get(rng)
	case n < 980:
		l.replace(rng)
	case n < 998:
		l.send(http.StatusNotFound, http.MethodGet, l.object(objects+1), nil)
	default:
		l.page(rng)
	}
}
