// Package usage reports wrong arguments of a command line: each as a sentence that says what to type. The program then
// exits with Code, so a script can tell a wrong argument from a failed test.
//
// It uses cobra's commands, but none of cobra's sentences. The cluster's launcher, which is in another module, has a
// short version of its own.
package usage

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Code is the exit code after a wrong argument.
const Code = 2

// Error is a wrong argument. Its text is a sentence for the person who typed it.
type Error struct{ err error }

func (e Error) Error() string { return e.err.Error() }
func (e Error) Unwrap() error { return e.err }

// Wrap returns err as an Error, nil if it is nil.
func Wrap(err error) error {
	if err == nil {
		return nil
	}
	return Error{err}
}

// ExitCode returns Code if err is about a wrong argument, otherwise 1.
func ExitCode(err error) int {
	if _, ok := errors.AsType[Error](err); ok {
		return Code
	}
	return 1
}

// Set prepares the root of a command tree: its usage lines begin with name, and its errors about flags are ours.
func Set(root *cobra.Command, name string) {
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return Wrap(fmt.Errorf("%s. All flags: %s --help", flagSentence(cmd, err), cmd.CommandPath()))
	})
}

func flagSentence(cmd *cobra.Command, err error) string {
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		dashes := "--"
		if e.GetSpecifiedShortnames() != "" {
			dashes = "-"
		}
		return fmt.Sprintf("%s has no flag %s%s", cmd.CommandPath(), dashes, e.GetSpecifiedName())
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return fmt.Sprintf("--%s needs %s", e.GetFlag().Name, kind(e.GetFlag()))
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fmt.Sprintf("--%s needs %s, not %q", e.GetFlag().Name, kind(e.GetFlag()), e.GetValue())
	}
	return strings.ToUpper(err.Error()[:1]) + err.Error()[1:]
}

// kinds are the kinds of values that flags take.
var kinds = map[string]string{
	"int": "a whole number", "duration": "a duration, such as 30s or 2m", "bool": "true or false",
}

func kind(f *pflag.Flag) string { return cmp.Or(kinds[f.Value.Type()], "a value") }

// AtMost accepts up to n arguments, 0 or 1. A noun names an argument: "chapter or task".
func AtMost(n int, noun string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		takes := "no argument"
		if n > 0 {
			takes = "one " + noun
		}
		return Wrap(fmt.Errorf("%s takes %s, not %q. How to use it: %s --help", cmd.CommandPath(), takes,
			strings.Join(args, " "), cmd.CommandPath()))
	}
}
