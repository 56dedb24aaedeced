package main

// This file is `workshop help` and `workshop completion`.

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"client-go-workshop/internal/runner/usage"
)

// newHelp returns the command that prints the help of a command. cobra's own one exits with 0 after a wrong name.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Show how to use a command",
		Args:  usage.AtMost(1, "command"),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, _, err := cmd.Root().Find(args)
			if err != nil || found == cmd.Root() && len(args) > 0 {
				return usage.Wrap(fmt.Errorf("there is no command %q. For a list: go tool workshop help", args[0]))
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

// shells are the shells that completion knows: a function that stands for `go tool workshop`, and how to load both.
var shells = map[string]struct {
	function, load string
	complete       func(*cobra.Command, io.Writer) error
}{
	"bash": {"workshop() { go tool workshop \"$@\"; }", "source <(go tool workshop completion bash)",
		func(root *cobra.Command, out io.Writer) error { return root.GenBashCompletionV2(out, true) }},
	"zsh": {"workshop() { go tool workshop \"$@\"; }", "source <(go tool workshop completion zsh)",
		(*cobra.Command).GenZshCompletion},
	"fish": {"function workshop; go tool workshop $argv; end", "go tool workshop completion fish | source",
		func(root *cobra.Command, out io.Writer) error { return root.GenFishCompletion(out, true) }},
	"powershell": {"function workshop { go tool workshop @args }",
		"go tool workshop completion powershell | Out-String | Invoke-Expression",
		(*cobra.Command).GenPowerShellCompletionWithDesc},
}

// newCompletion returns the command that prints a shell's completion. A shell completes names of commands, not `go tool
// workshop`, so a function named workshop comes with it.
func newCompletion() *cobra.Command {
	names := []string{"bash", "zsh", "fish", "powershell"}
	var loads []string
	for _, name := range names {
		loads = append(loads, fmt.Sprintf("    %-11s %s", name, shells[name].load))
	}
	return &cobra.Command{
		Use:   "completion " + strings.Join(names, "|"),
		Short: "Print a shell function named workshop, with its completion",
		Long: `Print a shell function named workshop, which stands for "go tool workshop", and its
completion: commands, chapters and flags. To load both into your shell:

` + strings.Join(loads, "\n") + `

Bash also needs its package bash-completion.`,
		ValidArgs: names,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || shells[args[0]].load == "" {
				return usage.Wrap(fmt.Errorf("name one shell, such as: go tool workshop completion bash; the shells are %s",
					strings.Join(names, ", ")))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), cmd.OutOrStdout()
			if args[0] == "zsh" { // it does not have compdef before compinit
				fmt.Fprintln(out, "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }")
			}
			fmt.Fprintln(out, shells[args[0]].function)
			return shells[args[0]].complete(root, out)
		},
	}
}
