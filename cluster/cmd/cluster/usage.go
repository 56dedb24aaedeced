// Wrong arguments: each ends in a sentence that says what to type, and in exit
// code 2. client-go-workshop/internal/runner/usage does the same for the other
// commands; it is in another module.

package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"client-go-workshop/cluster/internal/build"
)

// usageError is a wrong argument.
type usageError struct{ error }

// refuse returns a usageError that names the command's help.
func refuse(cmd *cobra.Command, format string, args ...any) error {
	return usageError{fmt.Errorf(format+". How to use it: %s --help", append(args, cmd.CommandPath())...)}
}

func flagError(cmd *cobra.Command, err error) error {
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return refuse(cmd, "%s has no flag --%s", cmd.CommandPath(), e.GetSpecifiedName())
	}
	number := func(f *pflag.Flag) string {
		return map[bool]string{true: "a whole number", false: "a value"}[f.Value.Type() == "int"]
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return refuse(cmd, "--%s needs %s", e.GetFlag().Name, number(e.GetFlag()))
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return refuse(cmd, "--%s needs %s, not %q", e.GetFlag().Name, number(e.GetFlag()), e.GetValue())
	}
	return refuse(cmd, "%w", err)
}

// noArgument accepts no argument. For the root, an argument is a command that
// does not exist.
func noArgument(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case !cmd.HasParent():
		return refuse(cmd, "there is no command %q", args[0])
	}
	return refuse(cmd, "%s takes no argument, not %q", cmd.CommandPath(), strings.Join(args, " "))
}

// oneComponent accepts the name of a component.
func oneComponent(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return refuse(cmd, "name one component of the cluster: %s", strings.Join(build.Components, ", "))
}
