package rewritingproxy

// This file rewrites an answer with one body: an object, a list, or a Table, which kubectl get prints.

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
)

// answer sends an answer of the API server on. If it returns an error, it has sent nothing.
//
//workshop:omit
func (p *Proxy) answer(w http.ResponseWriter, resp *http.Response, t target) error {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return badGateway("read the answer of the API server: %w", err)
	}
	if resp.StatusCode < http.StatusMultipleChoices {
		if err := checkJSON(resp); err != nil {
			return err
		}
		if body, err = p.rewrite(body, resp.Request.Method == http.MethodGet && t.name != "", t.name); err != nil {
			return err
		}
	}
	maps.Copy(w.Header(), resp.Header)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(resp.StatusCode)
	w.Write(body) // an error means that the client has gone
	return nil
}

// checkJSON returns an error if the proxy cannot read the body of an answer.
//
//workshop:omit
func checkJSON(resp *http.Response) error {
	mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if encoding := resp.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return badGateway("rewrite the answer of the API server: it is encoded with %s, which was not accepted", encoding)
	}
	if mediaType != jsonType {
		return badGateway("rewrite the answer of the API server: it is %q, which was not accepted", mediaType)
	}
	return nil
}

// rewrite returns the body of an answer as the client sees it. If one is set, the client asked for the object of that
// name.
//
//workshop:omit
func (p *Proxy) rewrite(body []byte, one bool, name string) ([]byte, error) {
	if !json.Valid(body) {
		return nil, badGateway("rewrite the answer of the API server: it is not valid JSON")
	}
	view := p.config.View
	if one {
		hidden, err := view.hidesAny(body)
		if err != nil {
			return nil, badGateway("rewrite the answer of the API server: %w", err)
		}
		if hidden {
			return nil, notFound(name)
		}
	}
	body, err := view.showAny(body, new(columns))
	if err != nil {
		return nil, badGateway("rewrite the answer of the API server: %w", err)
	}
	return body, nil
}

// hidesAny reports whether an object, or the object in a row of a Table, is hidden.
//
//workshop:omit
func (v View) hidesAny(body []byte) (bool, error) {
	list, err := field(body, "rows")
	if err != nil {
		return false, err
	}
	if list == nil {
		return v.Hides(body)
	}
	rows, err := elements(list)
	for _, row := range rows {
		object, err := field(row, "object")
		if err != nil || object == nil {
			return false, err
		}
		if hidden, err := v.Hides(object); hidden || err != nil {
			return hidden, err
		}
	}
	return false, err
}

// showAny returns an object, a list or a Table as the client sees it.
//
//workshop:omit
func (v View) showAny(body []byte, c *columns) ([]byte, error) {
	kind, err := field(body, "kind")
	switch {
	case err != nil || string(kind) == `"Status"`:
		return body, err
	case string(kind) == `"Table"`:
		return v.showTable(body, c)
	case bytes.HasSuffix(kind, []byte(`List"`)):
		return replaceField(body, func(items []byte) ([]byte, error) { return eachElement(items, v.Show) }, "items")
	}
	return v.Show(body)
}

// columns is what a client knows of the columns of a Table. In a watch, only the first Table has their definitions.
//
//workshop:omit
type columns struct {
	replicas int // the index of the column Ready or Desired, counted from 1, or 0 if there is none
}

// learn reads the definitions of a Table's columns, if it has any.
//
//workshop:omit
func (c *columns) learn(table []byte) error {
	list, err := field(table, "columnDefinitions")
	if err != nil || list == nil {
		return err
	}
	definitions, err := elements(list)
	for i, definition := range definitions {
		if name, _ := field(definition, "name"); string(name) == `"Ready"` || string(name) == `"Desired"` {
			c.replicas = i + 1
		}
	}
	return err
}

// showTable returns a Table as the client sees it.
//
//workshop:omit
func (v View) showTable(table []byte, c *columns) ([]byte, error) {
	if err := c.learn(table); err != nil {
		return nil, err
	}
	return replaceField(table, func(rows []byte) ([]byte, error) {
		return eachElement(rows, func(row []byte) ([]byte, error) {
			row, err := replaceField(row, v.Show, "object")
			if err != nil {
				return nil, err
			}
			return replaceField(row, func(cells []byte) ([]byte, error) { return v.showCells(cells, c.replicas) }, "cells")
		})
	}, "rows")
}

// showCells multiplies the number of replicas in one cell: "1/3" in the column Ready, 3 in the column Desired.
//
//workshop:omit
func (v View) showCells(cells []byte, replicas int) ([]byte, error) {
	column := 0
	return eachElement(cells, func(cell []byte) ([]byte, error) {
		if column++; column != replicas {
			return cell, nil
		}
		start, end := bytes.IndexByte(cell, '/')+1, len(bytes.TrimRight(cell, `"`))
		if start >= end {
			return nil, notAnInteger(cell)
		}
		shown, err := v.multiply(cell[start:end])
		return slices.Concat(cell[:start], shown, cell[end:]), err
	})
}
