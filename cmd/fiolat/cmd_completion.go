package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"fiolat/internal/errs"
	"fiolat/internal/ui"
)

// The scripts ask the program itself for what can come next.
const (
	bashCompletion = `_fiolat() {
  local cur opts
  cur="${COMP_WORDS[COMP_CWORD]}"
  if [[ "$cur" == -* ]]; then
    opts=$("${COMP_WORDS[@]:0:$COMP_CWORD}" "$cur" --generate-bash-completion 2>/dev/null)
  elif [[ $COMP_CWORD -eq 1 ]]; then
    opts=$("${COMP_WORDS[0]}" --generate-bash-completion 2>/dev/null)
  fi
  COMPREPLY=($(compgen -W "$opts" -- "$cur"))
}
complete -o bashdefault -o default -F _fiolat fiolat
`
	zshCompletion = `#compdef fiolat
autoload -U bashcompinit && bashcompinit
` + bashCompletion
)

// fishCompletion is for fish, which needs no list of words to choose from.
const fishCompletion = `function __fiolat_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  if string match -q -- '-*' $current
    $words $current --generate-bash-completion 2>/dev/null
  else if test (count $words) -eq 1
    $words --generate-bash-completion 2>/dev/null
  end
end
complete -c fiolat -a '(__fiolat_complete)'
`

func completionCommand(u *ui.UI) *cli.Command {
	return &cli.Command{
		Name: "completion", ArgsUsage: "bash|zsh|fish",
		Usage:       "a script that completes commands and flags in the shell",
		Description: "source <(fiolat completion bash)",
		Action: action(u, readCompletionOptions, func(_ context.Context, script string, u *ui.UI) error {
			_, err := fmt.Fprint(u.Stdout, script)
			return err
		}),
	}
}

// readCompletionOptions returns the script.
func readCompletionOptions(c *cli.Context) (string, error) {
	script, ok := map[string]string{"bash": bashCompletion, "zsh": zshCompletion,
		"fish": fishCompletion}[c.Args().First()]
	if !ok || c.NArg() != 1 {
		return "", errs.Usagef("fiolat completion: want bash, zsh or fish")
	}
	return script, nil
}
