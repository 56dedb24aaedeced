// Command author is for those who change the workshop: `go tool author`. It is apart from the learner's command line,
// so that a learner does not compile the proofs.
package main

import "client-go-workshop/internal/authoring/author"

func main() { author.Main() }
