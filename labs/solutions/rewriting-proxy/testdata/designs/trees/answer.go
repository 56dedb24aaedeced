package rewritingproxy

// This file rewrites an answer with one body, as a tree.

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

func (p *Proxy) answer(w http.ResponseWriter, resp *http.Response, t target) error {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return badGateway("read the answer of the API server: %w", err)
	}
	if resp.StatusCode < http.StatusMultipleChoices {
		if err := checkJSON(resp); err != nil {
			return err
		}
		one := resp.Request.Method == http.MethodGet && t.name != ""
		hidden := false
		body, err = changed(body, func(tree any) error {
			hidden = one && p.config.View.hidesAny(tree)
			return p.config.View.showAny(tree, new(columns))
		})
		if err != nil {
			return badGateway("rewrite the answer of the API server: %w", err)
		}
		if hidden {
			return notFound(t.name)
		}
	}
	maps.Copy(w.Header(), resp.Header)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(resp.StatusCode)
	w.Write(body)
	return nil
}

func checkJSON(resp *http.Response) error {
	mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.Header.Get("Content-Encoding") != "" || mediaType != jsonType {
		return badGateway("rewrite the answer of the API server: it is not plain JSON")
	}
	return nil
}

// parts returns a list in an object.
func parts(tree any, name string) []any {
	object, _ := tree.(map[string]any)
	list, _ := object[name].([]any)
	return list
}

func (v View) hidesAny(tree any) bool {
	for _, row := range parts(tree, "rows") {
		if row, ok := row.(map[string]any); ok && v.hides(row["object"]) {
			return true
		}
	}
	return v.hides(tree)
}

// columns is the index of the column Ready, counted from 1, or 0.
type columns int

func (v View) showAny(tree any, c *columns) error {
	object, ok := tree.(map[string]any)
	if !ok {
		return fmt.Errorf("it is not an object")
	}
	kind, _ := object["kind"].(string)
	switch {
	case kind == "Status":
		return nil
	case kind == "Table":
		c.learn(tree)
		for _, row := range parts(tree, "rows") {
			if err := v.showRow(row, *c); err != nil {
				return err
			}
		}
		return nil
	case strings.HasSuffix(kind, "List"):
		for _, item := range parts(tree, "items") {
			if err := v.show(item); err != nil {
				return err
			}
		}
		return nil
	}
	return v.show(tree)
}

func (c *columns) learn(table any) {
	for i, definition := range parts(table, "columnDefinitions") {
		if d, ok := definition.(map[string]any); ok && (d["name"] == "Ready" || d["name"] == "Desired") {
			*c = columns(i + 1)
		}
	}
}

func (v View) showRow(row any, c columns) error {
	cells := parts(row, "cells")
	if c > 0 && int(c) <= len(cells) {
		text := fmt.Sprint(cells[c-1])
		now, wanted, ready := strings.Cut(text, "/")
		n, err := strconv.ParseInt(cmp.Or(wanted, now), 10, 64)
		if err != nil {
			return err
		}
		cells[c-1] = v.product(n)
		if ready {
			cells[c-1] = fmt.Sprintf("%s/%d", now, v.product(n))
		}
	}
	object, _ := row.(map[string]any)
	return v.show(object["object"])
}
