// Package shell completes fiolat's command line in a shell.
package shell

// Completions maps the name of a shell to its completion script.
var Completions = map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}

// The scripts ask the program itself for completions: see Complete.
const (
	bashCompletion = `_fiolat() {
  local i word what words=() found=()
  for ((i = 1; i <= COMP_CWORD; i++)); do # readline has split them at = and :
    word=${COMP_WORDS[i]}
    if ((${#words[@]})) && [[ $word == [=:]* || ${words[-1]} == *[=:] ]]; then
      words[-1]+=$word
    else
      words+=("$word")
    fi
  done
  mapfile -t found < <("${COMP_WORDS[0]}" ` + Command + ` "${words[@]}" 2>/dev/null)
  what=${found[0]-files} word=${words[-1]}
  COMPREPLY=("${found[@]:1}")
  COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*[=:]}"}"}")
  case $what in
    words)
      compopt +o default +o bashdefault 2>/dev/null
      [[ ${#COMPREPLY[@]} -gt 1 || ${COMPREPLY[0]-} != *= ]] || compopt -o nospace 2>/dev/null ;;
    dirs) compopt -o dirnames +o default +o bashdefault 2>/dev/null ;;
  esac
}
complete -o bashdefault -o default -F _fiolat fiolat
`
	zshCompletion = `#compdef fiolat
_fiolat() {
  local -a found
  found=("${(@f)$("${(Q)words[1]}" ` + Command + ` "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  case $found[1] in
    words) (($#found < 2)) || compadd -- "${(@)found[2,-1]}" ;;
    dirs) compset -P '--*=' ; _files -/ ;;
    *) compset -P '--*=' ; _files ;;
  esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _fiolat "$@"
else
  (( $+functions[compdef] )) || { autoload -U compinit && compinit }
  compdef _fiolat fiolat
fi
`
	fishCompletion = `function __fiolat_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l found ($words[1] ` + Command + ` $words[2..-1] "$current" 2>/dev/null)
  set -l flag (string match -r -- '^--[^=]*=' $current)
  switch "$found[1]"
    case words
      string join \n -- $found[2..-1]
    case dirs
      string replace -r -- '^' "$flag" (__fish_complete_directories (string replace -r -- '^--[^=]*=' '' "$current"))
    case '*'
      string replace -r -- '^' "$flag" (__fish_complete_path (string replace -r -- '^--[^=]*=' '' "$current"))
  end
end
complete -c fiolat -f -a '(__fiolat_complete)'
`
)
