package report

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The struct is the promise: there is no field that could carry code.
func TestReport_has_a_place_a_name_and_a_rule_and_nothing_else(t *testing.T) {
	var fields []string
	for f := range reflect.TypeFor[Report]().Fields() {
		fields = append(fields, f.Name+" "+f.Type.String())
	}
	all := []string{"ID string", "Name string", "Chapter string", "Task int", "Hints int", "Rule string"}
	require.Equal(t, all, fields)
}

func TestCheck_refuses_what_a_board_must_not_show(t *testing.T) {
	good := Report{ID: rand.Text(), Name: "Zoë O’Hara", Chapter: "05-indexer", Task: 1, Hints: 2,
		Rule: "Get returns it."}
	require.NoError(t, good.Check())
	for name, spoil := range map[string]func(*Report){
		"no id":                  func(r *Report) { r.ID = "" },
		"a path as id":           func(r *Report) { r.ID = "../../../../../etc/passwd!" },
		"no name":                func(r *Report) { r.Name = "" },
		"a name of spaces":       func(r *Report) { r.Name = "  " },
		"a name of two lines":    func(r *Report) { r.Name = "a\nb" },
		"a name with an escape":  func(r *Report) { r.Name = "\x1b[2Ja" },
		"a name from the right":  func(r *Report) { r.Name = "a\u202eb" },
		"broken UTF-8":           func(r *Report) { r.Name = "a\xff" },
		"a long name":            func(r *Report) { r.Name = strings.Repeat("ä", LongestName+1) },
		"a wide name":            func(r *Report) { r.Name = strings.Repeat("界", LongestName/2+1) },
		"a name without width":   func(r *Report) { r.Name = "\u0301" },
		"a name over other rows": func(r *Report) { r.Name = "a" + strings.Repeat("\u0301", 39) },
		"a chapter without task": func(r *Report) { r.Task = 0 },
		"a long rule":            func(r *Report) { r.Rule = strings.Repeat("ä", LongestRule+1) },
		"a rule of two lines":    func(r *Report) { r.Rule = "a\nb" },
		"a negative task":        func(r *Report) { r.Task = -1 },
		"a thousand hints":       func(r *Report) { r.Hints = 1000 },
	} {
		r := good
		spoil(&r)
		require.Error(t, r.Check(), name)
	}
}

func TestCheck_accepts_names_of_many_languages(t *testing.T) {
	for _, name := range []string{"Zoë O’Hara", "Nguyễn Thị Ánh", "Nguye\u0302\u0303n",
		strings.Repeat("界", LongestName/2),
		"ผู้เรียน", "אביגיל", "Ω", "👩\u200d🚀"[:4]} {
		require.NoError(t, checkName(name), name)
	}
}

func TestConsent_is_remembered_and_taken_back(t *testing.T) {
	root := t.TempDir()
	c, err := Load(root)
	require.NoError(t, err)
	require.Zero(t, c)
	for _, url := range []string{"", "192.168.1.7:7100", "https://board.example", "http://", "http://u:p@h:1",
		"http://h:1/board/x", "http://h:1?x", "file:///etc/passwd"} {
		_, err := Store(root, url, "Ada")
		require.ErrorContains(t, err, "such as http://192.168.1.7:7100", url)
	}
	_, err = Store(root, "http://h:1", "a\nb")
	require.Error(t, err)
	stored, err := Store(root, "http://192.168.1.7:7100/", "Ada")
	require.NoError(t, err)
	require.Equal(t, "http://192.168.1.7:7100", stored.URL)
	c, err = Load(root)
	require.NoError(t, err)
	require.Equal(t, stored, c)

	renamed, err := Store(root, "http://192.168.1.7:7100", "Grace")
	require.NoError(t, err)
	require.Equal(t, stored.ID, renamed.ID, "one person, one row")
	other, err := Store(root, "http://192.168.1.8:7100", "Grace")
	require.NoError(t, err)
	require.NotEqual(t, stored.ID, other.ID, "two boards cannot compare")

	was, err := Remove(root)
	require.NoError(t, err)
	require.True(t, was)
	was, err = Remove(root)
	require.NoError(t, err)
	require.False(t, was)
	gopher := `{"url":"gopher://h","name":"a","id":"` + rand.Text() + `"}`
	for _, broken := range []string{"{", `{"url":"http://h:1"}`, gopher} {
		require.NoError(t, os.WriteFile(consentFile(root), []byte(broken), 0o600))
		c, err = Load(root)
		require.ErrorContains(t, err, "--report off")
		require.Zero(t, c, "a broken consent is none")
	}
}

// received is a request, as a board reads it.
type received struct {
	Report
	method, path string
	after        time.Duration
}

// connect returns a client whose board answers with the status that answer returns; 0 is a connection that is refused,
// -1 a board that accepts and never answers.
func connect(t *testing.T, place func() Report, answer func(n int) int) (*Client, <-chan received) {
	began, n := time.Now(), 0
	all := make(chan received, 1000)
	c := NewClient(Consent{URL: "http://192.168.1.7:7100", Name: "Ada", ID: rand.Text()}, place)
	c.dial = func(context.Context) (net.Conn, error) {
		n++
		status := answer(n)
		if status == 0 {
			all <- received{after: time.Since(began)}
			return nil, errors.New("connection refused")
		}
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			r, err := http.ReadRequest(bufio.NewReader(server))
			if err != nil {
				return
			}
			got := received{method: r.Method, path: r.URL.Path, after: time.Since(began)}
			if err := json.NewDecoder(r.Body).Decode(&got.Report); err != nil || r.Host != "192.168.1.7:7100" {
				t.Errorf("the body of a request to %s: %v", r.Host, err)
			}
			all <- got
			if status < 0 {
				_, _ = io.Copy(io.Discard, server) // until the client gives up
				return
			}
			fmt.Fprintf(server, "HTTP/1.0 %d %s\r\n\r\n", status, http.StatusText(status))
		}()
		return client, nil
	}
	return c, all
}

func TestClient_reports_changes_at_once_and_otherwise_every_half_minute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		place := Report{Chapter: "05-indexer", Task: 1}
		c, all := connect(t, func() Report { return place }, func(int) int { return 204 })
		c.Begin(ctx)
		c.Begin(ctx)
		first := <-all
		require.Equal(t, received{Report{c.consent.ID, "Ada", "05-indexer", 1, 0, ""}, "POST", Path, 0}, first)
		require.Equal(t, Every, (<-all).after)
		time.Sleep(10 * time.Second)
		place.Task = 2
		c.Changed()
		c.Changed()
		second := <-all
		require.Equal(t, Every+10*time.Second, second.after)
		require.Equal(t, 2, second.Task)
		cancel()
		synctest.Wait()
		require.Len(t, all, 0)
		require.Len(t, c.Notes(), 1, "what is shown, and how to end it")
		require.Empty(t, c.Notes(), "once")
	})
}

func TestClient_without_a_board_says_so_once_and_waits_longer_each_time(t *testing.T) {
	for name, status := range map[string]int{"refused": 0, "an error": 503, "silent": -1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				c, all := connect(t, func() Report { return Report{} }, func(n int) int {
					if n == 9 {
						return 204
					}
					return status
				})
				c.Notes()
				c.Begin(ctx)
				c.Changed() // a change does not end the back-off
				slow := time.Duration(0)
				if status < 0 {
					slow = patience
				}
				at := (<-all).after
				for _, wait := range []time.Duration{5, 10, 20, 40, 80, 120, 120, 120} {
					next := (<-all).after
					require.Equal(t, wait*time.Second+slow, next-at)
					at = next
				}
				notes := c.Notes()
				require.Len(t, notes, 1)
				require.Contains(t, notes[0], "The board does not answer")
				require.NotContains(t, notes[0], "\n")
				require.Equal(t, soonest, (<-all).after-at, "the ninth was answered, and the change is still to be sent")
				require.Equal(t, 5*time.Second+slow, (<-all).after-at-soonest, "the back-off begins again")
				time.Sleep(time.Hour)
				require.Empty(t, c.Notes(), "once")
				cancel()
				synctest.Wait()
			})
		})
	}
}

func TestClient_Changed_never_waits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c, all := connect(t, func() Report { return Report{} }, func(int) int { return -1 })
		c.Begin(ctx)
		<-all
		began := time.Now()
		for range 1000 {
			c.Changed()
			c.Notes()
		}
		require.Zero(t, time.Since(began))
		cancel()
	})
}

func TestClient_Withdraw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, all := connect(t, nil, func(n int) int { return []int{204, -1}[n-1] })
		require.NoError(t, c.Withdraw(t.Context()))
		got := <-all
		require.Equal(t, "DELETE", got.method)
		require.Equal(t, c.consent.ID, got.ID)
		began := time.Now()
		require.Error(t, c.Withdraw(t.Context()))
		require.Equal(t, patience, time.Since(began))
	})
}
