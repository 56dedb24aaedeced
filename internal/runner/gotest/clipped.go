package gotest

// This file keeps what a test prints, however much that is: the beginning, where a failure is told, and the end, where
// the runtime tells of a crash.

import (
	"fmt"
	"strings"
)

const clipKeep = 256 << 10 // bytes at each end

// clipped is a text of which the middle may be left out.
type clipped struct {
	head strings.Builder
	tail []byte
	lost int
}

// WriteString appends text.
func (c *clipped) WriteString(text string) {
	n := min(len(text), clipKeep-c.head.Len())
	c.head.WriteString(text[:n])
	c.tail = append(c.tail, text[n:]...)
	if over := len(c.tail) - clipKeep; over > clipKeep { // not at each call: moving the tail costs
		c.lost += over
		c.tail = append(c.tail[:0], c.tail[over:]...)
	}
}

// String is the text, with a line in place of what was left out.
func (c *clipped) String() string {
	if c.lost == 0 {
		return c.head.String() + string(c.tail)
	}
	return fmt.Sprintf("%s\n… %d bytes left out …\n%s", c.head.String(), c.lost, c.tail)
}
