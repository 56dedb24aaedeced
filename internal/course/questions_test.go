package course

import (
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/course/markdown"
)

func TestQuestions_have_their_answers(t *testing.T) {
	got := questions(markdown.Parse([]byte(`# T

1. Not a question.

## Questions

1. Why does the queue
   have a lock?

   <details><summary>Answer</summary>

   Two workers call it:

   1. one that adds
   2. one that gets

   Neither waits.

   </details>
2. And now?

   <details>
   <summary>Answer</summary>
   Nothing.
   </details>

3. A question without an answer
   on two lines.
- A bulleted one.

## More

1. Not a question either.
`)))
	require.Equal(t, []Question{
		{7, "Why does the queue\nhave a lock?",
			"Two workers call it:\n\n1. one that adds\n2. one that gets\n\nNeither waits."},
		{20, "And now?", "Nothing."},
		{27, "A question without an answer\non two lines.", ""},
		{29, "A bulleted one.", ""},
	}, got)
	require.Empty(t, questions(markdown.Parse([]byte("# T\n\n## Contents\n\n1. Nothing.\n"))))
}
