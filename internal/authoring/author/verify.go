package author

// This file is `author verify` and `author generate`.

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"client-go-workshop/internal/authoring/anchor"
	"client-go-workshop/internal/authoring/verify"
	"client-go-workshop/internal/course"
	"client-go-workshop/internal/runner/bugs"
	"client-go-workshop/internal/runner/usage"
	"client-go-workshop/internal/tui/meter"
	"client-go-workshop/internal/workspace"
)

func newVerify() *cobra.Command {
	o := verify.Options{}
	truths := strings.Join(verify.Names(), ", ")
	cmd := &cobra.Command{
		Use:   "verify [chapter…]",
		Short: "Prove the workshop's claims about itself",
		Long: `Prove the workshop's claims about itself. Each stub fails every test; each solution
passes every test, and so does client-go. Each wrong version fails in the test that
it names. The texts are true for the client-go in go.mod. The command prints one
line for each truth and chapter.

Without a name it checks the seven chapters and the texts; labs stands for all labs.
It ignores your code in the chapter folders.`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.Root, o.Chapters, err = chapters(args); err != nil {
				return err
			}
			if o.Texts = len(args) == 0; o.Texts {
				o.Chapters = slices.DeleteFunc(o.Chapters, course.Chapter.Lab)
			}
			return prove(cmd, o)
		},
	}
	cmd.Flags().BoolVar(&o.Pristine, "pristine", false, "require that the chapter folders contain the untouched stubs")
	cmd.Flags().IntVar(&o.Count, "count", 1,
		"run the tests over finished code and wrong versions this many times, to find results that depend on chance")
	cmd.Flags().BoolVar(&o.AllTests, "all-tests", false,
		"run all tests over each wrong version, not only the test that it names")
	cmd.Flags().StringSliceVar(&o.Truths, "only", nil, "check only these truths: "+truths)
	return cmd
}

// prove checks the truths and prints the findings.
func prove(cmd *cobra.Command, o verify.Options) error {
	for _, t := range o.Truths {
		if !slices.Contains(verify.Names(), t) {
			return usage.Wrap(fmt.Errorf("there is no truth %q; the truths are %s", t, strings.Join(verify.Names(), ", ")))
		}
	}
	out, errOut := cmd.OutOrStdout(), cmd.ErrOrStderr()
	m := meter.New(errOut, 100)
	if f, ok := errOut.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		o.Begin = func(chapter, truth string, done, all int) { m.At(chapter+" "+truth, done, all) }
	}
	broken := 0
	o.Report = func(f verify.Finding) {
		m.Clear()
		mark := "ok  "
		if len(f.Problems) > 0 {
			mark = "FAIL"
			broken++
		}
		const indent = "\n      "
		fmt.Fprintf(out, "%s  %-14s %-11s %6.1fs  %s\n", mark, f.Chapter, f.Truth, f.Seconds,
			strings.ReplaceAll(f.Detail, "\n", indent))
		for _, p := range f.Problems {
			fmt.Fprintln(out, "     ", strings.ReplaceAll(strings.TrimSpace(p), "\n", indent))
		}
	}
	all, err := verify.Run(cmd.Context(), o)
	if err == nil && broken > 0 {
		return fmt.Errorf("%d of %d truths do not hold; the reasons are above", broken, len(all))
	}
	return err
}

// chapters returns the workshop's root, and the chapters and labs that the arguments name, or all of them. The argument
// labs names all labs.
func chapters(args []string) (root string, some []course.Chapter, err error) {
	if root, err = course.Root("."); err != nil {
		return "", nil, err
	}
	all, err := course.All(root)
	if len(args) == 0 || err != nil {
		return root, all, err
	}
	for _, arg := range args {
		if arg == course.LabsFolder {
			some = append(some, slices.DeleteFunc(slices.Clone(all), func(c course.Chapter) bool { return !c.Lab() })...)
			continue
		}
		c, err := course.Find(root, arg)
		if err != nil {
			return "", nil, usage.Wrap(err)
		}
		some = append(some, c)
	}
	return root, some, nil
}

func newGenerate() *cobra.Command {
	return &cobra.Command{
		Use:   "generate [chapter…]",
		Short: "Generate the stubs and the shown outputs from the solutions",
		Long: `Generate the stubs in the chapter folders from the solutions, merge changes of the
solutions into the wrong versions, and update the outputs and the programs that
the texts show. Authors run it after a change to a solution, a test or a text. It
does not overwrite a changed stub, but writes the new stub beside it.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			root, some, err := chapters(args)
			if err != nil {
				return err
			}
			for _, c := range some {
				if err := generateChapter(cmd.Context(), cmd.OutOrStdout(), root, c); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// generateChapter generates all of a chapter that is generated, and prints what it changes.
func generateChapter(ctx context.Context, out io.Writer, root string, c course.Chapter) error {
	unlock, err := workspace.Lock(root) // no other command changes the chapter's folder meanwhile
	if err != nil {
		return err
	}
	written, kept, err := verify.Generate(root, c)
	unlock()
	for _, name := range written {
		fmt.Fprintf(out, "made %s/%s\n", c.Dir, name)
	}
	for _, name := range kept {
		fmt.Fprintf(out, "kept %s/%s, which was changed; the new stub is %s.stub\n", c.Dir, name, name)
	}
	if err != nil {
		return err
	}
	if err := mergeWrong(out, root, c); err != nil {
		return err
	}
	for _, update := range []func(context.Context, string, course.Chapter) ([]string, error){
		verify.UpdateShown, verify.UpdatePredictions,
	} {
		changed, err := update(ctx, root, c)
		for _, place := range changed {
			fmt.Fprintf(out, "updated the shown outputs in %s\n", place)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mergeWrong merges changes of the solution and of other designs into their wrong versions.
func mergeWrong(out io.Writer, root string, c course.Chapter) error {
	sets, err := bugs.Sets(root, c)
	if err != nil {
		return err
	}
	states, err := bugs.States(root, c)
	if err != nil {
		return err
	}
	left := 0
	for _, set := range append(sets, states) {
		merged, conflicts, err := anchor.Update(set)
		if err != nil {
			return err
		}
		if len(merged) > 0 {
			fmt.Fprintf(out, "merged changes of the %s into %s\n", set.Code.Name, strings.Join(merged, ", "))
		}
		for _, conflict := range conflicts {
			fmt.Fprintln(out, conflict)
		}
		left += len(conflicts)
	}
	if left > 0 {
		return fmt.Errorf("%d declarations of wrong versions need a merge by hand; see above", left)
	}
	return nil
}
