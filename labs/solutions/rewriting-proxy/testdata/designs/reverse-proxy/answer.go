package rewritingproxy

// This file rewrites an answer with one body: an object, a list, or a Table, which kubectl get prints.

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"strings"
)

// checkJSON returns an error if the proxy cannot read the body of an answer.
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
type columns struct {
	ready int // the index of the column Ready, counted from 1, or 0 if there is none
}

// learn reads the definitions of a Table's columns, if it has any.
func (c *columns) learn(table []byte) error {
	list, err := field(table, "columnDefinitions")
	if err != nil || list == nil {
		return err
	}
	definitions, err := elements(list)
	for i, definition := range definitions {
		if name, _ := field(definition, "name"); string(name) == `"Ready"` || string(name) == `"Desired"` {
			c.ready = i + 1
		}
	}
	return err
}

// showTable returns a Table as the client sees it.
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
			return replaceField(row, func(cells []byte) ([]byte, error) { return v.showCells(cells, c.ready) }, "cells")
		})
	}, "rows")
}

// showCells multiplies the number of replicas in one cell: "1/3" in the column Ready, 3 in the column Desired.
func (v View) showCells(cells []byte, ready int) ([]byte, error) {
	column := 0
	return eachElement(cells, func(cell []byte) ([]byte, error) {
		if column++; column != ready {
			return cell, nil
		}
		now, wanted, ok := strings.Cut(strings.Trim(string(cell), `"`), "/")
		if !ok {
			return v.multiply(cell)
		}
		shown, err := v.multiply([]byte(wanted))
		return []byte(`"` + now + "/" + string(shown) + `"`), err
	})
}
