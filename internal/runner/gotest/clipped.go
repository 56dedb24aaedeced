package gotest

// This file keeps the beginning and the end of long output: tests report failures at the beginning, and the runtime
// reports a crash at the end.

import (
	"fmt"
	"sync"
)

const clipKeep = 256 << 10 // bytes at each end

// clipped is a text without its middle if it is long. It has a lock, because exec.Cmd.Wait may return while standard
// error is still copied.
type clipped struct {
	mu         sync.Mutex
	head, tail []byte
	lost       int
}

// Write appends p. It never fails.
func (c *clipped) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(p), clipKeep-len(c.head))
	c.head = append(c.head, p[:n]...)
	c.tail = append(c.tail, p[n:]...)
	if over := len(c.tail) - clipKeep; over > clipKeep { // not at each call: moving the tail costs
		c.lost += over
		c.tail = append(c.tail[:0], c.tail[over:]...)
	}
	return len(p), nil
}

// String returns the text, with a line in place of its middle.
func (c *clipped) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost == 0 {
		return string(c.head) + string(c.tail)
	}
	return fmt.Sprintf("%s\n… %d bytes omitted …\n%s", c.head, c.lost, c.tail)
}
