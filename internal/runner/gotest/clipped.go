package gotest

import "fmt"

const clipKeep = 256 << 10 // bytes at each end

// clipped is a text without its middle if it is long: tests report failures at the beginning, and the runtime reports a
// crash at the end.
type clipped struct {
	head, tail []byte
	lost       int
}

func (c *clipped) add(text string) {
	n := min(len(text), clipKeep-len(c.head))
	c.head, c.tail = append(c.head, text[:n]...), append(c.tail, text[n:]...)
	if over := len(c.tail) - clipKeep; over > clipKeep { // not at each call: moving the tail costs
		c.lost += over
		c.tail = append(c.tail[:0], c.tail[over:]...)
	}
}

// String returns the text, with a line in place of its middle.
func (c *clipped) String() string {
	if c.lost == 0 {
		return string(c.head) + string(c.tail)
	}
	return fmt.Sprintf("%s\n… %d bytes omitted …\n%s", c.head, c.lost, c.tail)
}
