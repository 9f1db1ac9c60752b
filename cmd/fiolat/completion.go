package main

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/fio"
	"fiolat/internal/ui"
)

// completions are what each shell reads. They ask fiolat itself, by completeFlag, and complete files where it has no
// answer.
var completions = map[string]string{
	"bash": `_fiolat() {
  local cur=${COMP_WORDS[COMP_CWORD]} words=("${COMP_WORDS[@]:0:COMP_CWORD}")
  case $cur in -*) words+=("$cur") ;; esac
  mapfile -t COMPREPLY < <(compgen -W "$("${words[@]}" --generate-bash-completion 2>/dev/null)" -- "$cur")
}
complete -o bashdefault -o default -F _fiolat fiolat
`,
	"zsh": `#compdef fiolat
_fiolat() {
  local -a begun answers
  begun=(${words[1,CURRENT-1]})
  [[ ${words[CURRENT]} == -* ]] && begun+=(${words[CURRENT]})
  answers=("${(@f)$($begun --generate-bash-completion 2>/dev/null)}")
  if [[ -n ${answers[1]} ]]; then compadd -a answers; else _files; fi
}
compdef _fiolat fiolat
`,
	"fish": `function __fiolat
  set -l begun (commandline -opc)
  set -l word (commandline -ct)
  string match -q -- '-*' $word; and set -a begun $word
  $begun --generate-bash-completion 2>/dev/null
end
complete -c fiolat -a '(__fiolat)'
`,
}

type completionOptions struct{ shell string }

func completionCommand(u *ui.UI) *cli.Command {
	return &cli.Command{Name: "completion", Action: action(u, &completionOptions{})}
}

func (o *completionOptions) check(c *cli.Context, bad *fio.Faults) {
	o.shell = c.Args().First()
	if c.NArg() != 1 || completions[o.shell] == "" {
		bad.Add(fio.Usagef("fiolat completion: want the name of a shell: %s",
			strings.Join(slices.Sorted(maps.Keys(completions)), ", ")))
	}
}

func (o *completionOptions) run(_ context.Context, u *ui.UI) error {
	_, err := io.WriteString(u.Stdout, completions[o.shell])
	return err
}
