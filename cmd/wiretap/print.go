package main

// This file reads a copy of the traffic as HTTP/1.1 and prints it line by line. A line starts with the seconds since
// the start, the number of the connection, and > for the client or < for the server. The rest of the line is on the
// wire, except for (remarks in brackets).

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// printer prints for all connections. Its methods may be called from any goroutine.
type printer struct {
	lock  sync.Mutex
	out   io.Writer
	start time.Time
	// width is the number of bytes of a line that are printed; 0 means all.
	width int
}

func newPrinter(out io.Writer, width int) *printer {
	return &printer{out: out, start: time.Now(), width: width}
}

// line prints one line of a direction of a connection.
func (p *printer) line(number int, direction, text string) {
	p.lock.Lock()
	defer p.lock.Unlock()
	fmt.Fprintf(p.out, "%7.3f #%d %s %s\n", time.Since(p.start).Seconds(), number, direction, text)
}

// tap is one connection.
type tap struct {
	*printer
	number int
	// methods are those of the unanswered requests: the answer to a HEAD has no body, whatever its headers say.
	methods chan string
}

func (p *printer) tap(number int) *tap {
	return &tap{printer: p, number: number, methods: make(chan string, 16)}
}

// note prints a remark on the connection.
func (t *tap) note(format string, args ...any) {
	t.line(t.number, "-", "("+fmt.Sprintf(format, args...)+")")
}

// requests reads what the client says.
func (t *tap) requests(r io.Reader) error {
	defer close(t.methods)
	d := direction{tap: t, mark: ">", in: bufio.NewReader(r)}
	for {
		head, err := d.head()
		if err != nil {
			return err
		}
		request, err := http.ReadRequest(head)
		if err != nil {
			return err
		}
		t.methods <- request.Method
		if err := d.body(request.TransferEncoding, request.ContentLength); err != nil {
			return err
		}
	}
}

// responses reads what the server says. A connection that becomes something else by an upgrade is not followed.
func (t *tap) responses(r io.Reader) error {
	d := direction{tap: t, mark: "<", in: bufio.NewReader(r)}
	for {
		head, err := d.head()
		if err != nil {
			return err
		}
		response, err := http.ReadResponse(head, nil)
		if err != nil {
			return err
		}
		if response.StatusCode == http.StatusSwitchingProtocols {
			t.note("upgraded: no longer HTTP, and not shown")
			return nil
		}
		if response.StatusCode < 200 {
			continue // the answer proper is still to come
		}
		if method := <-t.methods; method == http.MethodHead || response.Body == http.NoBody {
			continue
		}
		if err := d.body(response.TransferEncoding, response.ContentLength); err != nil {
			return err
		}
	}
}

// direction is one half of a connection.
type direction struct {
	*tap
	mark string
	in   *bufio.Reader
}

func (d direction) print(text string) { d.line(d.number, d.mark, text) }

// next reads a line.
func (d direction) next() (string, error) {
	line, err := d.in.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}

// head prints the first line of a message and its headers, and returns them for net/http.
func (d direction) head() (*bufio.Reader, error) {
	var head strings.Builder
	for {
		line, err := d.next()
		if err != nil {
			return nil, err
		}
		head.WriteString(line + "\r\n")
		if name, _, _ := strings.Cut(line, ":"); strings.EqualFold(name, "authorization") {
			line = "Authorization: (not shown)"
		}
		d.print(line)
		if line == "" {
			return bufio.NewReader(strings.NewReader(head.String())), nil
		}
	}
}

// body prints the body that follows a head. One of length -1 lasts until the connection ends.
func (d direction) body(encoding []string, length int64) error {
	switch {
	case len(encoding) > 0: // net/http knows chunked alone
		return d.chunks()
	case length >= 0:
		return d.bytes(length)
	}
	rest, err := io.ReadAll(d.in)
	d.content(rest, int64(len(rest)))
	return err
}

// chunks prints a body in pieces. Each piece starts with its size, and the last one is empty.
func (d direction) chunks() error {
	for {
		line, err := d.next()
		if err != nil {
			return err
		}
		size, _, _ := strings.Cut(line, ";")
		n, err := strconv.ParseInt(strings.TrimSpace(size), 16, 64)
		if err != nil {
			return err
		}
		if n == 0 {
			d.print(line + "  (the last chunk: the body ends)")
			_, err := d.head() // trailers, and an empty line
			return err
		}
		d.print(fmt.Sprintf("%s  (a chunk of %d bytes)", line, n))
		if err := d.bytes(n); err != nil {
			return err
		}
		if _, err := d.in.Discard(len("\r\n")); err != nil {
			return err
		}
	}
}

// most is how much of a body is kept for printing.
const most = 64 << 10

// bytes prints n bytes of a body, as soon as all of them have come.
func (d direction) bytes(n int64) error {
	kept := make([]byte, min(n, most))
	if _, err := io.ReadFull(d.in, kept); err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, d.in, n-int64(len(kept))); err != nil {
		return err
	}
	d.content(kept, n)
	return nil
}

// content prints a body, or a chunk of one, of which the first bytes are at hand: text as it is, anything else in hex.
func (d direction) content(kept []byte, n int64) {
	if isText(kept) {
		for line := range strings.Lines(string(kept)) {
			d.print(d.cut(strings.TrimRight(line, "\r\n")))
		}
	} else {
		kept = kept[:min(len(kept), 8*16)]
		for line := range strings.Lines(hex.Dump(kept)) {
			d.print(strings.TrimRight(line, "\n"))
		}
	}
	if left := n - int64(len(kept)); left > 0 {
		d.print(fmt.Sprintf("… (%d more bytes)", left))
	}
}

// cut leaves out what is beyond the width.
func (d direction) cut(line string) string {
	if d.width <= 0 || len(line) <= d.width {
		return line
	}
	at := d.width
	for at > 0 && !utf8.RuneStart(line[at]) {
		at--
	}
	return fmt.Sprintf("%s… (%d more bytes)", line[:at], len(line)-at)
}

// isText reports whether b is printable text. It may end in the middle of a character.
func isText(b []byte) bool {
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 {
			return !utf8.FullRune(b)
		}
		if !unicode.IsPrint(r) && !bytes.ContainsRune([]byte("\r\n\t"), r) {
			return false
		}
		b = b[size:]
	}
	return true
}
