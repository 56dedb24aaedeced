package recorder

// This file records requests, answers and the bytes of watches.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"client-go-workshop/internal/testkit/pipeline"
)

// transport numbers the requests.
type transport struct {
	http.RoundTripper
	rec *Recorder
}

var requests atomic.Int64

// Transport returns a transport that records. It has the form that rest.Config.Wrap takes.
func (r *Recorder) Transport(below http.RoundTripper) http.RoundTripper { return &transport{below, r} }

// RoundTrip records the request and its answer. The body of a watch is recorded as it is read.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	path, query := request.URL.Path, request.URL.Query()
	watch := query.Get("watch") != ""
	if asked := query.Get("resourceVersion"); asked != "" {
		path += "?resourceVersion=" + asked
	}
	if watch {
		path += " (watch)"
	}
	step := pipeline.Step{Seam: pipeline.Request, Verb: pipeline.Sent, Kind: t.rec.KindIn(request.URL.Path),
		Count: requests.Add(1), Text: request.Method + " " + path}
	t.rec.pass(&step)
	sent := t.rec.Log.Now()
	response, err := t.RoundTripper.RoundTrip(request)
	step.Verb, step.Wait = pipeline.Answered, t.rec.Log.Now()-sent
	if err != nil {
		step.Error = err.Error()
		t.rec.pass(&step)
		return response, err
	}
	step.Code = response.StatusCode
	if watch && response.StatusCode == http.StatusOK {
		step.Frames = -1 // more follows
		below := &body{ReadCloser: response.Body, rec: t.rec, request: step, borders: lines}
		if strings.Contains(response.Header.Get("Content-Type"), "protobuf") {
			below.borders = (&lengths{}).count
		}
		response.Body = below
	}
	t.rec.pass(&step)
	return response, nil
}

// body records what is read from a watch.
type body struct {
	io.ReadCloser
	rec     *Recorder
	request pipeline.Step
	partial int // the bytes of a frame that has not ended
	ended   bool
	mu      sync.Mutex // guards partial and ended: Close may come during Read
	// borders returns how many frames end in some bytes, and how many bytes are after the last end.
	borders func(p []byte) (frames, rest int)
}

// lines finds the frames of JSON. A frame ends with a line break, because the encoder of the API server writes none
// inside it.
func lines(p []byte) (frames, rest int) {
	return bytes.Count(p, []byte("\n")), len(p) - 1 - bytes.LastIndexByte(p, '\n')
}

// lengths finds the frames of protobuf. Each has its length before it, in four bytes.
type lengths struct {
	header []byte
	left   int // of the frame
}

func (l *lengths) count(p []byte) (frames, rest int) {
	for len(p) > 0 {
		if len(l.header) < 4 {
			n := min(4-len(l.header), len(p))
			l.header, p = append(l.header, p[:n]...), p[n:]
			rest += n
			if len(l.header) == 4 {
				l.left = int(binary.BigEndian.Uint32(l.header))
			}
			continue
		}
		n := min(l.left, len(p))
		l.left, p = l.left-n, p[n:]
		rest += n
		if l.left == 0 {
			l.header, frames, rest = l.header[:0], frames+1, 0
		}
	}
	return frames, rest
}

// Read records how many bytes arrived.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	step := pipeline.Step{Seam: pipeline.Stream, Verb: pipeline.Read, Kind: b.request.Kind, Count: b.request.Count}
	if n > 0 {
		b.mu.Lock()
		frames, rest := b.borders(p[:n])
		if step.Bytes, step.Frames = n, frames; frames > 0 {
			b.partial = 0
		}
		b.partial += rest
		step.Code = b.partial
		b.mu.Unlock()
		b.rec.pass(&step)
	}
	if err != nil {
		b.end(err)
	}
	return n, err
}

// Close records the end of a watch that the client has stopped.
func (b *body) Close() error {
	b.end(errors.New("the client has stopped the watch"))
	return b.ReadCloser.Close()
}

// end records the end once.
func (b *body) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return
	}
	b.ended = true
	b.rec.Log.Append(pipeline.Step{Seam: pipeline.Stream, Verb: pipeline.Ended, Kind: b.request.Kind,
		Count: b.request.Count, Code: b.partial, Error: err.Error()})
}
