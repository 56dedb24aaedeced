package restclient_test

// Task 3: connections that break, and errors that name them.

import (
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	restclient "client-go-workshop/01-restclient"
	"client-go-workshop/internal/testkit/fakeapi"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask3_Broken_connection_is_retried_for_GET_only(t *testing.T) {
	const (
		aGET    = broken + ": a GET changes nothing, and API servers restart."
		later   = broken + ": ten tries without a pause end before a server has restarted."
		aChange = harmless + ". The server may have executed a POST before the connection broke. A second " +
			"one creates a second object, or fails because of the first (#39021)."
	)
	guard.Test(t, aGET, func(t *guard.T) {
		for _, verb := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			w := newWorld(t)
			w.script("executes the next request, and resets the connection instead of answering", "",
				fakeapi.Reset(true))
			t.Did("%s with []byte as its Body", verb)
			r := w.client.Verb(verb).Namespace("default").Resource("deployments").Body(manifest("web"))
			if verb != "GET" && verb != "POST" {
				r.Name("web")
			}
			var err error
			d := took(func() { err = w.do(r).Error() })
			if verb == "GET" {
				require.NoError(t, err, "the error of a GET")
				require.Equal(t, 2, w.sent(), "requests sent for a GET")
				t.Rule(later)
				require.Equal(t, time.Second, d, "duration of a GET")
				continue
			}
			t.Rule(aChange)
			require.Error(t, err, "the error of a "+verb)
			require.Equal(t, 1, w.sent(), "requests sent for a "+verb)
		}
	})
}

func TestTask3_Connection_that_ends_without_an_answer_is_retried_for_GET_only(t *testing.T) {
	const (
		aGET    = broken + ": a proxy that restarts closes its connections cleanly."
		later   = broken + ": ten tries without a pause end before a server has restarted."
		aChange = once + ". The server may have executed the request before the connection ended."
	)
	guard.Test(t, aGET, func(t *guard.T) {
		for verb, sent := range guard.InOrder(map[string]int{"GET": 2, "DELETE": 1}) {
			w := newWorld(t)
			w.script("closes the connection cleanly, without an answer", "", endConnection)
			t.Did("%s", verb)
			if verb == "GET" {
				t.Rule(aGET)
			} else {
				t.Rule(aChange)
			}
			var err error
			d := took(func() { err = w.do(w.on(verb)).Error() })
			require.Equal(t, sent, w.sent(), "requests sent for a "+verb)
			if verb == "GET" {
				require.NoError(t, err, "the error of a GET")
			} else {
				require.Error(t, err, "the error of a "+verb)
			}
			t.Rule(later)
			require.Equal(t, time.Duration(sent-1)*time.Second, d, "duration of a "+verb)
		}
	})
}

// breaks are the errors of a connection that broke without an answer, in all the forms that http.Client gives them.
var breaks = []error{
	&net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)},
	errors.New("read tcp 10.0.0.1:4711->10.0.0.2:6443: read: connection reset by peer"),
	io.EOF,
	io.ErrUnexpectedEOF,
	errors.New("http: can't write HTTP request on broken connection"),
	errors.New("http2: server sent GOAWAY and closed the connection; LastStreamID=1999, ErrCode=NO_ERROR"),
	net.ErrClosed,
}

// errLost is the error of HTTP/2 if the server no longer answers the client's pings.
var errLost = errors.New("http2: client connection lost")

// unreachable are errors after which a GET is not sent again: perhaps there is no server, or it cannot be reached.
var unreachable = []error{
	&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
	&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)},
	&net.DNSError{Err: "no such host", Name: "api", IsNotFound: true},
	x509.UnknownAuthorityError{},
	errors.New("http2: request header list larger than peer's advertised limit"),
}

func TestTask3_All_kinds_of_broken_connections(t *testing.T) {
	const (
		aGET     = broken + ". Such errors come in many forms."
		aChange  = once + ": the server may have executed it. A HEAD would do no harm, and client-go sends it once too."
		aTimeout = once + ": a server that did not answer in time may still work on the first request."
		noServer = once + ": there is no server, or it is the wrong one."
	)
	guard.Test(t, aGET, func(t *guard.T) {
		l := &lossy{}
		w := newWorld(t, losing(l))
		check := func(rule string, verb string, err error, tries int) {
			for _, s := range senders[:2] {
				l.errs, l.tried = []error{err}, 0
				t.Rule("%s", rule)
				t.Did("%s with %s, whose connection ends with: %v", verb, s.name, err)
				d := took(func() { s.send(w.on(verb), t.Context()) })
				require.Equal(t, tries, l.tried, "tries of a %s after: %v", verb, err)
				require.Equal(t, time.Duration(tries-1)*time.Second, d, "duration of a %s after: %v", verb, err)
			}
		}
		for _, err := range append(breaks, errLost) {
			check(aGET, "GET", err, 2)
			for _, verb := range []string{"POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"} {
				check(aChange, verb, err, 1)
			}
		}
		check(aTimeout, "GET", os.ErrDeadlineExceeded, 1)
		for _, err := range unreachable {
			check(noServer, "GET", err, 1)
		}
	})
}

func TestTask3_Error_names_an_earlier_one(t *testing.T) {
	const both = "If the last try has no answer, or the context ends before it, the error also names the latest error of " +
		`an earlier try: "… - error from a previous attempt: EOF"`
	guard.Test(t, both+". The last error often says only that the time was over.", func(t *guard.T) {
		refused := unreachable[0]
		busy := func(w world) { w.script("busy, with Retry-After 1", "", fakeapi.Answer(429, "1")) }
		for _, c := range []struct {
			what, earlier, rule string
			errs                []error
		}{
			{"EOF, and then refused", "EOF", both + ". It does not repeat the URL.", []error{io.EOF, refused}},
			{"unexpected EOF, EOF, and then refused", "EOF", both + ".",
				[]error{io.ErrUnexpectedEOF, io.EOF, refused}},
			{"EOF, an answer of 429, and then refused", "EOF", both + ": an answer is not an error.",
				[]error{io.EOF, nil, refused}},
			{"an answer of 429, EOF, and then refused", "EOF", both + ": whichever try it was.",
				[]error{nil, io.EOF, refused}},
			{"an answer of 429, and then refused", "", both + ": an answer is not an " +
				"error.", []error{nil, refused}},
			{"refused at once", "", both + ": here there was no earlier try.", []error{refused}},
			{"a reset, and then refused", breaks[0].Error(), both + ". It names the whole error.",
				[]error{breaks[0], refused}},
			{"EOF, ten times, and then an unexpected EOF", "EOF", both + ": the errors are not the same.",
				append(slices.Repeat([]error{io.EOF}, 10), io.ErrUnexpectedEOF)},
			{"EOF, in eleven tries", "", "If both errors are the same, it is named once: one " +
				"is enough.", slices.Repeat([]error{io.EOF}, 11)},
		} {
			for _, s := range senders[:2] {
				l := &lossy{errs: c.errs}
				w := newWorld(t, losing(l))
				if slices.Contains(c.errs, nil) {
					busy(w)
				}
				t.Rule("%s", c.rule)
				t.Did("%s with connections that end with: %s", s.name, c.what)
				err := s.send(w.on("GET"), t.Context())
				require.Error(t, err, "the error of "+s.name)
				text, earlier, _ := strings.Cut(err.Error(), " - error from a previous attempt: ")
				require.Equal(t, c.earlier, earlier, "the error from a previous attempt in the error of "+s.name)
				t.Rule("After the last try, Do returns the answer or error of that try: errors.Is " +
					"and errors.As find that error.")
				last := c.errs[len(c.errs)-1]
				require.ErrorIs(t, err, last, "the error of "+s.name)
				var request *url.Error
				require.ErrorAs(t, err, &request, "the error of "+s.name)
				require.Contains(t, text, request.Error(), "the url.Error in the error of "+s.name)
			}
		}
		for _, s := range senders[:2] {
			w := newWorld(t, losing(&lossy{errs: []error{io.EOF}}))
			t.Rule("After the last try, Do returns the answer or error of that try: an answer says enough.")
			t.Did("%s of an object that does not exist: EOF, and then an answer of 404", s.name)
			err := s.send(w.on("GET").Name("web"), t.Context())
			require.Error(t, err, "the error of "+s.name)
			require.NotContains(t, err.Error(), "a previous attempt", "the error of "+s.name)
		}
	})
}

func TestTask3_Error_of_an_earlier_Do_is_forgotten(t *testing.T) {
	guard.Test(t, "Do does not change the request, which can be sent again: its error does not name those of an earlier "+
		"Do.", func(t *guard.T) {
		for _, s := range senders[:2] {
			l := &lossy{errs: []error{io.EOF}}
			w := newWorld(t, losing(l))
			r := w.on("GET")
			t.Did("%s: EOF, and then an answer; and %[1]s again: refused", s.name)
			require.NoError(t, s.send(r, t.Context()), "the error of "+s.name)
			l.errs = unreachable[:1]
			err := s.send(r, t.Context())
			require.Error(t, err, "the error of the 2nd "+s.name)
			require.NotContains(t, err.Error(), "a previous attempt", "the error of the 2nd "+s.name)
		}
	})
}

func TestTask3_Every_GET_is_retried(t *testing.T) {
	guard.Test(t, broken+", whatever it asks for.", func(t *guard.T) {
		l := &lossy{}
		w := newWorld(t, losing(l))
		for what, r := range guard.InOrder(map[string]*restclient.Request{
			"a list": w.on("GET"), "a page of a list": w.on("GET").Param("continue", "token"),
			"an object": w.on("GET").Name("web"), "a status": w.on("GET").Name("web").SubResource("status"),
			"all namespaces": w.client.Get().Namespace("").Resource("deployments"), "the versions": w.client.Get(),
		}) {
			for _, s := range senders[:2] {
				l.errs, l.tried = []error{io.EOF}, 0
				t.Did("GET of %s with %s, whose connection ends with EOF", what, s.name)
				s.send(r, t.Context())
				require.Equal(t, 2, l.tried, "tries of a GET of "+what)
			}
		}
		t.Rule(once + ": a dry run changes nothing, but it is not a GET.")
		t.Did("POST of a dry run, whose connection ends with EOF")
		l.errs, l.tried = []error{io.EOF}, 0
		require.Error(t, w.do(w.on("POST").Param("dryRun", "All")).Error(), "the error of a dry run")
		require.Equal(t, 1, l.tried, "tries of a dry run")
	})
}

func TestTask3_Long_row_of_failures(t *testing.T) {
	guard.Test(t, atMost+": exactly that often, whatever the failures are.", func(t *guard.T) {
		for _, s := range senders[:2] {
			l := &lossy{}
			w := newWorld(t, losing(l))
			for range 20 {
				l.errs = append(l.errs, nil, nil, io.EOF)
				w.Script("", fakeapi.Answer(429, "2"), fakeapi.Answer(503, "3"))
			}
			t.Did("%s with MaxRetries(60): 429 with Retry-After 2, 503 with Retry-After 3, EOF, 20 times in turn", s.name)
			var err error
			d := took(func() { err = s.send(w.on("GET").MaxRetries(60), t.Context()) })
			require.NoError(t, err, "the error of "+s.name)
			require.Equal(t, 61, l.tried, "tries of "+s.name)
			errLost := l.tried
			for range 20 {
				l.errs = append(l.errs, nil, nil, io.EOF)
				w.Script("", fakeapi.Answer(429, "2"), fakeapi.Answer(503, "3"))
			}
			t.Did("the same failures, and %s with MaxRetries(58)", s.name)
			require.Error(t, s.send(w.on("GET").MaxRetries(58), t.Context()), "the error of "+s.name)
			require.Equal(t, 59, l.tried-errLost, "tries of "+s.name)
			t.Rule(asked + ". The wait does not grow: the server decides how long it is.")
			require.Equal(t, 20*(2+3+1)*time.Second, d, "duration of "+s.name)
		}
	})
}

func TestTask3_Refused_connection_is_not_retried(t *testing.T) {
	guard.Test(t, once+": a refused connection means that there is no server, and the caller should learn that "+
		"at once (#88267).", func(t *guard.T) {
		w := newWorld(t)
		w.did("the server is down")
		w.Down()
		d := took(func() { require.Error(t, w.do(w.on("GET")).Error(), "the error of Do") })
		require.Zero(t, d, "duration of Do")
	})
}

func TestTask3_Broken_connection_is_the_only_one_lost(t *testing.T) {
	guard.Test(t, nothingLeft+": one connection is broken, and the others are used again.", func(t *guard.T) {
		for _, s := range senders[:2] {
			checkOthersStay(t, s)
		}
	})
}

// checkOthersStay asserts that a method closes no idle connection when its own has broken.
func checkOthersStay(t *guard.T, s sender) {
	for _, retries := range []int{0, 1} {
		l := &lossy{}
		w := newWorld(t, losing(l))
		w.Script("", fakeapi.Times(2, fakeapi.Slow(time.Second))...)
		t.Did("two GETs at once, which need two connections")
		done := make(chan struct{})
		t.Go(func() {
			defer close(done)
			w.on("GET").Do(t.Context())
		})
		require.NoError(t, w.on("GET").Do(t.Context()).Error(), "the error of Do")
		<-done
		l.errs = breaks[:1]
		t.Did("%s with MaxRetries(%d), whose connection is reset", s.name, retries)
		s.send(w.on("GET").MaxRetries(retries), t.Context())
		if retries == 0 || s.name == "Stream" { // no try has used a connection of the two
			w.do(w.on("GET"))
		}
		require.Equal(t, 2, w.connections(), "connections made, with two idle ones before the reset of %s", s.name)
	}
}
