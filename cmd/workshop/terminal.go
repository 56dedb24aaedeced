package main

// This file prints to a terminal or a pipe, and reads answers from a terminal.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"client-go-workshop/internal/tui/style"
)

// isTerminal reports whether v is a file that is a terminal.
func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// columns returns the width of the terminal, or 80 if w is not a terminal.
func columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width >= 30 {
			return width
		}
	}
	return 80
}

// clearLine is the control sequence that goes to the start of the line and clears it.
const clearLine = "\r\x1b[K"

func printLines(cmd *cobra.Command, lines ...string) error {
	return style.Fprint(cmd.OutOrStdout(), strings.Join(lines, "\n")+"\n")
}

func padded(text string, columns int) string {
	return text + strings.Repeat(" ", max(0, columns-lipgloss.Width(text)))
}

// confirm asks a question, and returns an error unless the answer is yes. Without a terminal the error names --yes.
func confirm(cmd *cobra.Command, question string) error {
	if !isTerminal(cmd.InOrStdin()) {
		return fmt.Errorf("%s To answer yes, add --yes", question)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s [y/N] ", question)
	answer, err := readLine(cmd.Context(), cmd.InOrStdin())
	switch {
	case cmd.Context().Err() != nil:
		return err
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("read the answer: %w", err)
	}
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		fmt.Fprintln(cmd.ErrOrStderr(), "Cancelled.")
		return exitCode(1)
	}
	return nil
}

// readLine reads one line, byte by byte, so that the next reader receives the rest. It returns when ctx ends, and
// io.EOF at the end of the input.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	type answer struct {
		line string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		var line []byte
		for b := make([]byte, 1); ; {
			n, err := in.Read(b)
			if n > 0 && b[0] == '\n' || err != nil {
				if errors.Is(err, io.EOF) && len(line) > 0 {
					err = nil
				}
				answers <- answer{string(line), err}
				return
			}
			line = append(line, b[:n]...)
		}
	}()
	select {
	case a := <-answers:
		return a.line, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
