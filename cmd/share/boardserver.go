package main

// This file is the board's HTTP side: reports come in, and the page goes out, with names only below a random token.

import (
	"crypto/rand"
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"

	"client-go-workshop/internal/workspace/report"
)

//go:embed page
var boardFiles embed.FS

// boardServer serves a board.
type boardServer struct {
	*board
	token string // of the page with names
}

func newBoardServer(b *board) *boardServer { return &boardServer{b, rand.Text()} }

// around returns a handler that serves the board below /board/, and everything else from below.
func (s *boardServer) around(below http.Handler) http.Handler {
	page, _ := fs.Sub(boardFiles, "page")
	static := http.FileServerFS(page)
	mux := http.NewServeMux()
	mux.Handle("/", below)
	mux.HandleFunc(report.Path, s.reports)
	for path, names := range map[string]bool{"/board/": false, "/board/" + s.token + "/": true} {
		mux.Handle(path, readOnly(http.StripPrefix(path[:len(path)-1], static)))
		mux.Handle(path+"state", readOnly(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(s.look(names))
		})))
	}
	return mux
}

// readOnly refuses methods that write, and allows a page nothing but its own files.
func readOnly(below http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "+
			"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "the board is read-only, except for "+report.Path, http.StatusMethodNotAllowed)
			return
		}
		below.ServeHTTP(w, r)
	})
}

// reports receives a report, or a learner's wish to be forgotten. A browser has no business here, so a web site cannot
// put anybody on the board: browsers send an Origin, and ask before they send JSON.
func (s *boardServer) reports(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	switch {
	case r.Method != http.MethodPost && r.Method != http.MethodDelete:
		w.Header().Set("Allow", "POST, DELETE")
		http.Error(w, "reports come from go tool workshop watch --report", http.StatusMethodNotAllowed)
		return
	case r.Header.Get("Origin") != "" || r.Header.Get("Content-Type") != "application/json":
		http.Error(w, "reports come from go tool workshop watch --report, not from a browser", http.StatusForbidden)
		return
	}
	received, err := report.Read(http.MaxBytesReader(w, r.Body, report.LargestBody))
	if err == nil && r.Method == http.MethodDelete {
		s.remove(received.ID)
	} else if err == nil {
		err = s.receive(received)
	}
	switch {
	case errors.Is(err, errFull):
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case err != nil:
		http.Error(w, "this is not a report: "+err.Error(), http.StatusBadRequest)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}
