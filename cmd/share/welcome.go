package main

// This file is the text for attendees: what to type, and which files there are.

import (
	"fmt"
	"strings"
)

// welcome returns what an attendee has to do, for the page at the root and for the instructor's terminal.
func (c *catalogue) welcome(url string) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	start := func() { say("    go run ./cmd/prepare\n    go tool workshop") }
	_, hasRepository := c.items[repositoryPath]
	quoted := url
	if strings.Contains(url, "[") { // zsh expands the brackets of an IPv6 address
		quoted = "'" + url + "'"
	}
	say("The client-go workshop, without internet. It needs Go %s or newer; go version prints yours.", c.goVersion)
	say("Type the lines for your system before the introduction. go run ./cmd/prepare compiles for about a")
	say("minute, and shows how far it is. go tool workshop is the live view: keep it open beside your editor.")
	say("\nLinux, macOS:\n")
	if hasRepository {
		say("    curl %s%s | tar xzf - && cd client-go-workshop", quoted, repositoryPath)
	}
	say("    export GOPROXY=%s", quoted)
	start()
	say("\nWindows, PowerShell:\n")
	if hasRepository {
		say("    curl.exe -O %s%s; tar -xf workshop.tar.gz; cd client-go-workshop", url, repositoryPath)
	}
	say("    $env:GOPROXY = '%s'", url)
	start()
	if !hasRepository {
		say("\nThe repository itself is not here: ask the instructor for a copy.")
	}
	say("\nThe variable is for this one terminal; set it in each that you open. The first screen says what to read.")
	if hasRepository {
		say("The folder is a git repository with one commit: git diff shows what you wrote. git is not required.")
	}
	if c.board {
		say("\nIf you agree that the instructor sees your chapter, task, minutes, hints and the rule of your last")
		say("failure, never code, start the live view with this line instead. It asks first:\n")
		say("    go tool workshop watch --report %s", quoted)
	}
	if c.clusters() != nil {
		say("\nThe programs of the cluster, already built (for systems with a file below):\n")
		say("    go tool workshop cluster fetch %s", quoted)
	}
	if images := c.matching("node-linux-*.tar.gz"); images != nil { // scripts/node-image.sh --save chooses the names
		say("\nThe image of kind's nodes, for Docker with that processor. scripts/kind-up.sh uses it if it cannot pull:\n")
		for _, name := range images {
			say("    curl %s/files/%s | docker load", quoted, name)
		}
	}
	if len(c.files) > 0 {
		say("\nFiles, in %s/files/, with their SHA-256 in %s/files/%s:\n", url, url, checkSums)
	}
	for _, f := range c.files {
		say("    %-40s %8s  %s", f.name, size(f.size), f.sha256[:16])
	}
	return b.String()
}

// list returns the names and sizes of the files below /files/.
func (c *catalogue) list() string {
	if len(c.files) == 0 {
		return "There are no files.\n"
	}
	var b strings.Builder
	for _, f := range c.files {
		if f.name != checkSums {
			fmt.Fprintf(&b, "%-40s %8s\n", f.name, size(f.size))
		}
	}
	fmt.Fprintf(&b, "%-40s %8s\n", checkSums, size(int64(len(c.items["/files/"+checkSums].content))))
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
