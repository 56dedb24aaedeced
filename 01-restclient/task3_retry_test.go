package restclient_test

// Task 3: retries, Retry-After.

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	restclient "client-go-workshop/01-restclient"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

// The promises of Do about retries.
const (
	asked = "If the answer is 429 or any 5xx, and its Retry-After header is a whole number, Do sends the request again " +
		"that many seconds later"
	harmless = "A request is sent again only if that does no harm: the server asks for it, or the request changes nothing"
	once     = "In all other cases, Do sends the request once"
	negative = "A negative number counts as 0"
	atMost   = "A request is sent again at most MaxRetries times"
	broken   = `If the connection of a GET breaks without an answer (a reset, an EOF, "http2: client connection lost"), ` +
		"Do sends the request again a second later"
)

// answered is an answer that may ask for a retry.
type answered struct {
	verb       string
	code       int
	retryAfter string
	sent       int // requests
	rule       string
}

// check sends a request that receives this answer, with Do and with DoRaw.
func (a answered) check(t *guard.T) {
	for _, s := range senders[:2] {
		w := newWorld(t)
		answer := fmt.Sprintf("%d, Retry-After %q", a.code, a.retryAfter)
		w.script("answers the next request with "+answer, "", fakeapi.Answer(a.code, a.retryAfter))
		t.Rule("%s", a.rule)
		t.Did("%s with %s", a.verb, s.name)
		d := took(func() { s.send(w.on(a.verb), t.Context()) })
		require.Equal(t, a.sent, w.sent(), "requests sent for a %s that the server answers with %s", a.verb, answer)
		if all := w.Requests(""); a.sent > 1 {
			require.Equal(t, all[0].String(), all[1].String(), "the second try of a %s with %s", a.verb, answer)
		}
		if wait, _ := strconv.Atoi(a.retryAfter); a.sent > 1 {
			require.Equal(t, time.Duration(max(wait, 0))*time.Second, d,
				"duration of a %s that the server answers with %s", a.verb, answer)
		}
	}
}

func TestTask3_Retry_is_for_429_and_5xx_with_seconds(t *testing.T) {
	guard.Test(t, asked+".", func(t *guard.T) {
		for _, a := range []answered{
			{"GET", 429, "1", 2, asked + ": a busy server says when to try again."},
			{"GET", 429, "", 1, once + ". Without a time, the server has not asked for another try."},
			{"GET", 503, "1", 2, asked + ": a server that starts or stops answers 503."},
			{"GET", 500, "1", 2, asked + ". The code 500 is one of them."},
			{"GET", 500, "", 1, once + ". Without a time, the server has not asked for another try."},
			{"GET", 409, "1", 1, once + ". A conflict stays a conflict: the request is still stale."},
			{"GET", 404, "1", 1, once + ". An object that does not exist will not exist in a second."},
			{"GET", 503, "0", 2, asked + ". Zero is a number too."},
			{"GET", 429, "-1", 2, negative + ": some servers send -1 for a moment that has passed."},
			{"GET", 503, "700000", 2, asked + ", even if that is more than a week."},
			{"POST", 503, "-30", 2, negative + ": some servers send one for a moment that has passed."},
		} {
			a.check(t)
		}
	})
}

func TestTask3_Every_code_and_every_verb(t *testing.T) {
	guard.Test(t, asked+".", func(t *guard.T) {
		for _, code := range []int{429, 500, 501, 502, 504, 507, 511, 599} {
			answered{"GET", code, "1", 2, fmt.Sprintf("%s: here it is %d.", asked, code)}.check(t)
		}
		for _, verb := range []string{"POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"} {
			for _, code := range []int{429, 500, 503, 504} {
				answered{verb, code, "1", 2, asked + ": the server refused before it did anything, so the verb does not " +
					"matter."}.check(t)
			}
		}
		w := newWorld(t)
		for code := 200; code < 500; code++ {
			if code == 429 {
				continue
			}
			t.Rule("%s: here the answer is %d.", once, code)
			w.Script("", fakeapi.Answer(code, "1"))
			before := w.sent()
			w.do(w.on("GET"))
			require.Equal(t, 1, w.sent()-before, "requests sent for a GET that the server answers with %d, Retry-After 1",
				code)
		}
		w.script("429, and a Status that suggests 5 seconds, but no Retry-After", "", answers(429, "application/json",
			`{"kind":"Status","apiVersion":"v1","status":"Failure","code":429,"details":{"retryAfterSeconds":5}}`))
		before := w.sent()
		t.Rule(once + ": the header decides, and the Status is for the caller.")
		w.do(w.on("GET"))
		require.Equal(t, 1, w.sent()-before, "requests sent for a GET that is answered without Retry-After")
		for _, header := range []string{"Wed, 21 Oct 2126 07:28:00 GMT", "1.5", "1s", "1 2", "0x10", "soon"} {
			answered{"GET", 503, header, 1, once + ": Kubernetes sends whole numbers, never " +
				"dates."}.check(t)
		}
	})
}

func TestTask3_Earlier_requests_do_not_count(t *testing.T) {
	guard.Test(t, asked+", however many requests the client has sent again before.", func(t *guard.T) {
		w := newWorld(t)
		t.Did("Do, 200 times, each answered with 429 and Retry-After 1 at first")
		for i := range 200 {
			w.Script("", fakeapi.Answer(429, "1"))
			require.NoError(t, w.on("GET").Do(t.Context()).Error(), "the error of Do number %d", i+1)
		}
		w.requireSent(400)
	})
}

func TestTask3_Retry_waits_as_long_as_the_server_says(t *testing.T) {
	guard.Test(t, asked+". A client that retries sooner is refused again, and adds load.", func(t *guard.T) {
		w := newWorld(t)
		w.Create(deployment("web"))
		w.script("429 with Retry-After 7, then 503 with Retry-After 30", "",
			fakeapi.Answer(429, "7"), fakeapi.Answer(503, "30"))
		require.NoError(t, w.do(w.on("GET").Name("web")).Into(&appsv1.Deployment{}), "the error of Into")
		r := w.Requests("")
		w.requireSent(3)
		waits := []time.Duration{r[1].Time.Sub(r[0].Time), r[2].Time.Sub(r[1].Time)}
		require.Equal(t, "[7s 30s]", fmt.Sprint(waits), "waits between the tries")
	})
}

func TestTask3_Ten_retries_and_no_more(t *testing.T) {
	const (
		busy = atMost + ": otherwise a server that stays busy is asked forever."
		last = "After the last try, Do returns the answer or error of that try: here the server's 429."
		sets = "MaxRetries limits how often the request is sent again, by default 10 times."
		none = "A negative number counts as 0."
	)
	guard.Test(t, busy, func(t *guard.T) {
		for _, c := range []struct {
			set  func(*restclient.Request) *restclient.Request
			what string
			sent int
			rule string
		}{
			{func(r *restclient.Request) *restclient.Request { return r }, "no MaxRetries", 11, busy},
			{func(r *restclient.Request) *restclient.Request { return r.MaxRetries(2) }, "MaxRetries(2)", 3, sets},
			{func(r *restclient.Request) *restclient.Request { return r.MaxRetries(0) }, "MaxRetries(0)", 1, sets},
			{func(r *restclient.Request) *restclient.Request { return r.MaxRetries(30) }, "MaxRetries(30)", 31, sets},
			{func(r *restclient.Request) *restclient.Request { return r.MaxRetries(-1) }, "MaxRetries(-1)", 1, none},
		} {
			for _, seconds := range []string{"1", "0", "-1"} {
				w := newWorld(t)
				w.script("busy forever, with Retry-After "+seconds, "", fakeapi.Times(50, fakeapi.Answer(429, seconds))...)
				t.Did("%s", c.what)
				err := w.do(c.set(w.on("GET"))).Error()
				t.Rule("%s", c.rule)
				require.Equal(t, c.sent, w.sent(), "requests sent, with "+c.what)
				t.Rule(last)
				requireIs(t, apierrors.IsTooManyRequests, metav1.StatusReasonTooManyRequests, err, "Do, with "+c.what)
			}
		}
	})
}

func TestTask3_Retries_use_the_same_connection(t *testing.T) {
	guard.Test(t, nothingLeft+": unless an answer is read to its end before a retry, each retry makes a new "+
		"connection to a busy server (#31016).", func(t *guard.T) {
		for _, s := range senders[:2] {
			bodies, open := &closings{}, []int{}
			bodies.onTry = func() { open = append(open, int(bodies.open.Load())) }
			w := newWorld(t, counting(bodies))
			w.script("busy, five times", "", fakeapi.Times(5, fakeapi.Answer(429, "1"))...)
			t.Did("%s", s.name)
			require.NoError(t, s.send(w.on("GET"), t.Context()), "the error of "+s.name)
			require.Equal(t, 1, w.connections(), "connections made by "+s.name)
			t.Rule(nothingLeft + ": the body of an answer is closed before a retry.")
			require.Equal(t, make([]int, 6), open, "open bodies before each try of "+s.name)
			require.EqualValues(t, 0, bodies.open.Load(), "open bodies after "+s.name)
		}
	})
}

func TestTask3_Long_answer_is_not_read_for_the_sake_of_its_connection(t *testing.T) {
	guard.Test(t, "Before a retry, at most 2 KiB of the answer are read. If the answer is longer, a new "+
		"connection is cheaper.", func(t *guard.T) {
		for _, s := range senders[:2] {
			for _, length := range []string{"", "614400"} {
				w := newWorld(t)
				w.script("429 with a body of ten minutes, a kilobyte a second"+contentLength(length), "", longAnswer(length))
				t.Did("%s", s.name)
				d := took(func() { require.NoError(t, s.send(w.on("GET"), t.Context()), "the error of "+s.name) })
				require.Less(t, d, 10*time.Second, "duration of "+s.name)
			}
		}
	})
}

func TestTask3_Two_KiB_of_an_answer_are_read_and_no_more(t *testing.T) {
	const atMost2KiB = "Before a retry, at most 2 KiB of the answer are read"
	guard.Test(t, atMost2KiB+": the rest comes over the network in vain.", func(t *guard.T) {
		for _, s := range senders[:2] {
			for _, length := range []string{"", "5000"} {
				bodies, read := &closings{}, int64(0)
				bodies.onTry = func() { read = bodies.read.Load() }
				w := newWorld(t, counting(bodies))
				w.script("429 with 5000 bytes"+contentLength(length), "", busyWith(5000, length))
				t.Did("%s", s.name)
				require.NoError(t, s.send(w.on("GET"), t.Context()), "the error of "+s.name)
				require.LessOrEqual(t, read, int64(2<<10), "bytes of the answer that %s has read before the retry", s.name)
			}
		}
	})
}

// contentLength says for a script whether an answer has the header of its length.
func contentLength(length string) string {
	if length == "" {
		return ", without a Content-Length"
	}
	return ", with the Content-Length " + length
}

// busyWith answers 429 with this many bytes.
func busyWith(bytes int, length string) fakeapi.Fault {
	return func(rw respond, _ *request, _ handler) {
		rw.Header().Set("Retry-After", "1")
		if length != "" {
			rw.Header().Set("Content-Length", length)
		}
		rw.WriteHeader(429)
		flush(rw)
		io.WriteString(rw, strings.Repeat("x", bytes))
	}
}

// longAnswer answers 429 with 600 KiB, a kilobyte a second.
func longAnswer(length string) fakeapi.Fault {
	return func(rw respond, r *request, _ handler) {
		rw.Header().Set("Retry-After", "1")
		if length != "" {
			rw.Header().Set("Content-Length", length)
		}
		rw.WriteHeader(429)
		for range 600 {
			if _, err := io.WriteString(rw, strings.Repeat("x", 1024)); err != nil {
				return
			}
			flush(rw)
			select {
			case <-time.After(time.Second):
			case <-r.Context().Done():
			}
		}
	}
}
