package rewritingproxy_test

// A watch through the proxy, read while the test runs.

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing/synctest"

	_ "client-go-workshop/internal/testkit/fakeapi/strategic"
	"client-go-workshop/internal/testkit/guard"
)

// stream is a watch through the proxy.
type stream struct {
	t      *guard.T
	cancel context.CancelFunc

	lock   sync.Mutex
	events []string
	err    error // that of the last read
}

// watch starts a watch, and reads it until the test is over. The path has the query.
func (w *world) watch(path string, headers ...string) *stream {
	w.t.Helper()
	w.t.Did("%s", strings.Join(append([]string{"watch " + path}, headers...), ", "))
	ctx, cancel := context.WithCancel(w.t.Context())
	s := &stream{t: w.t, cancel: cancel}
	w.t.Cleanup(cancel)
	w.t.Go(func() { s.read(w.client.Do(request(ctx, w.t, http.MethodGet, path, "", headers...))) })
	synctest.Wait()
	return s
}

func (s *stream) read(resp *http.Response, err error) {
	note := func(event string, err error) {
		s.lock.Lock()
		defer s.lock.Unlock()
		if s.err = err; err == nil {
			s.events = append(s.events, event)
		}
	}
	if err != nil {
		note("", err)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		note(fmt.Sprintf("code %d", resp.StatusCode), nil)
	}
	note("head", nil)
	decoder := json.NewDecoder(resp.Body)
	for {
		var event json.RawMessage
		if err := decoder.Decode(&event); err != nil {
			note("", err)
			return
		}
		note(string(event), nil)
	}
}

// next returns what has arrived since the last call: "head", and each event in JSON.
func (s *stream) next() []string {
	synctest.Wait()
	s.lock.Lock()
	defer s.lock.Unlock()
	events := append([]string{}, s.events...)
	s.events = nil
	return events
}

// short returns what has arrived since the last call, each event as "ADDED web: 3".
func (s *stream) short() []string {
	all := []string{}
	for _, event := range s.next() {
		if event == "head" {
			continue
		}
		all = append(all, short(event))
	}
	return all
}

func short(event string) string {
	object, _ := json.Marshal(decoded(event).(map[string]any)["object"])
	if kind := find(event, "object", "kind"); kind == "Status" {
		return fmt.Sprintf("%s %s", find(event, "type"), find(event, "object", "code"))
	}
	return fmt.Sprintf("%s %s", find(event, "type"), strings.Join(replicasIn(string(object)), " "))
}

// end returns how the watch has ended: nil if it has not, and io.EOF if the answer was complete.
func (s *stream) end() error {
	synctest.Wait()
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.err
}
