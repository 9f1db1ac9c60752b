// Package shell has what completes fiolat's command line in a shell.
package shell

// Completions are the scripts by the name of the shell.
var Completions = map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}

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
