package rewritingproxy

// This file rewrites a watch. It flushes after each event.

import (
	"fmt"
	"io"
	"maps"
	"net/http"
)

func (p *Proxy) watch(w http.ResponseWriter, resp *http.Response) error {
	if err := checkJSON(resp); err != nil {
		return err
	}
	resp.Header.Del("Content-Length")
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w).Flush
	frames := newFrames(p.config.NewFrameReader(resp.Body))
	var c columns
	for err := flush(); err == nil; err = flush() {
		frame, err := frames.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		shown, err := p.config.View.showEvent(frame, &c)
		if err != nil {
			_, status := statusOf(badGateway("rewrite an event of the API server: %w", err))
			fmt.Fprintf(w, `{"type":"ERROR","object":%s}`+"\n", status)
			return nil
		}
		w.Write(append(shown, '\n'))
	}
	return nil
}

func (v View) showEvent(frame []byte, c *columns) ([]byte, error) {
	return changed(frame, func(tree any) error {
		event, _ := tree.(map[string]any)
		switch event["type"] {
		case "ERROR":
			return nil
		case "BOOKMARK":
			c.learn(event["object"])
			return nil
		}
		return v.showAny(event["object"], c)
	})
}
