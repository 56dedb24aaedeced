package rewritingproxy

// This file rewrites the body of a watch while the ReverseProxy reads it.

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// modify replaces the body of an answer.
func (p *Proxy) modify(resp *http.Response) error {
	t := exchangeOf(resp.Request).target
	if t.watch && resp.StatusCode == http.StatusOK {
		if err := checkJSON(resp); err != nil {
			return err
		}
		resp.Header.Del("Content-Length")
		resp.ContentLength = -1
		resp.Body = &events{view: p.config.View, source: resp.Body, frames: newFrames(p.config.NewFrameReader(resp.Body))}
		return nil
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return badGateway("read the answer of the API server: %w", err)
	}
	resp.Body.Close()
	if resp.StatusCode < http.StatusMultipleChoices {
		if err := checkJSON(resp); err != nil {
			return err
		}
		if body, err = p.rewrite(body, resp.Request.Method == http.MethodGet && t.name != "", t.name); err != nil {
			return err
		}
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Set("Content-Length", fmt.Sprint(len(body)))
	return nil
}

// events is the body of a watch as the client sees it.
type events struct {
	view    View
	source  io.Closer
	frames  *frames
	columns columns
	rest    []byte // of an event that did not fit
	ended   bool
}

// Read returns one event, or a part of it.
func (e *events) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		if e.ended {
			return 0, io.EOF
		}
		frame, err := e.frames.next()
		if err != nil {
			return 0, err
		}
		shown, err := e.view.showEvent(frame, &e.columns)
		if err != nil {
			shown, e.ended = errorEvent(err), true
		}
		e.rest = append(shown, '\n')
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func (e *events) Close() error { return e.source.Close() }

func (v View) showEvent(frame []byte, c *columns) ([]byte, error) {
	eventType, err := field(frame, "type")
	if err != nil || string(eventType) == `"ERROR"` {
		return frame, err
	}
	object, err := field(frame, "object")
	if err != nil {
		return nil, err
	}
	if string(eventType) == `"BOOKMARK"` {
		return frame, c.learn(object)
	}
	return replaceField(frame, func(object []byte) ([]byte, error) { return v.showAny(object, c) }, "object")
}

func errorEvent(err error) []byte {
	_, status := statusOf(badGateway("rewrite an event of the API server: %w", err))
	return fmt.Appendf(nil, `{"type":"ERROR","object":%s}`, status)
}
