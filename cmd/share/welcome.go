package main

// This file fills in welcome.txt, the texts for attendees: what to type, and which files there are.

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"
)

//go:embed welcome.txt
var texts string

var templates = template.Must(template.New("").Funcs(template.FuncMap{"size": size}).Parse(texts))

// text returns one of the texts, for a reader who reaches this server under a URL: "welcome", which says what an
// attendee has to do, or "files", the list of the files below /files/.
func (c *catalogue) text(name, url string) string {
	data := map[string]any{"Go": c.goVersion, "URL": url, "Quoted": url, "Repository": "", "Board": c.board,
		"Clusters": c.clusters(), "Images": c.matching("node-linux-*.tar.gz"), // the names of scripts/node-image.sh
		"Files": c.files, "SumsSize": int64(len(c.items["/files/"+checkSums].content))}
	if strings.Contains(url, "[") { // zsh expands the brackets of an IPv6 address
		data["Quoted"] = "'" + url + "'"
	}
	if _, exists := c.items[repositoryPath]; exists {
		data["Repository"] = repositoryPath
	}
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // a mistake in welcome.txt
	}
	return b.String()
}

// size formats a number of bytes, such as "12 MB".
func size(n int64) string {
	switch {
	case n < 1e3:
		return fmt.Sprintf("%d B", n)
	case n < 1e6:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	case n < 1e9:
		return fmt.Sprintf("%.0f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}
