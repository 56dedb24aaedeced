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

// around returns a handler that serves the board below /board/, and everything else from below, which is read-only.
func (s *boardServer) around(below http.Handler) http.Handler {
	page, _ := fs.Sub(boardFiles, "page")
	mux := http.NewServeMux()
	mux.Handle("/", below)
	mux.Handle("POST "+report.Path, guarded(reports(s.receive)))
	mux.Handle("DELETE "+report.Path, guarded(reports(s.remove)))
	for path, names := range map[string]bool{"/board/": false, "/board/" + s.token + "/": true} {
		mux.Handle("GET "+path, guarded(http.StripPrefix(path[:len(path)-1], http.FileServerFS(page))))
		mux.Handle("GET "+path+"state", guarded(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(s.look(names))
		})))
	}
	return mux
}

// guarded allows a page nothing but its own files.
func guarded(below http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "+
			"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		below.ServeHTTP(w, r)
	})
}

// reports returns a handler that passes a report to take. A browser has no business there, so a web site cannot put
// anybody on the board: browsers send an Origin, and ask before they send JSON.
func reports(take func(report.Report) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") != "" || r.Header.Get("Content-Type") != "application/json" {
			http.Error(w, "reports come from go tool workshop watch --report, not from a browser", http.StatusForbidden)
			return
		}
		received, err := report.Read(http.MaxBytesReader(w, r.Body, report.LargestBody))
		if err == nil {
			err = take(received)
		}
		switch {
		case errors.Is(err, errFull):
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		case err != nil:
			http.Error(w, "this is not a report: "+err.Error(), http.StatusBadRequest)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	})
}
