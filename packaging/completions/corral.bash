# Completion of corral for bash: asks the program.
_corral() {
  local cur=${COMP_WORDS[COMP_CWORD]} cword=$COMP_CWORD
  local words=("${COMP_WORDS[@]}")
  # Names of models have colons, at which bash divides words.
  if declare -F _get_comp_words_by_ref >/dev/null; then _get_comp_words_by_ref -n : cur words cword; fi
  local IFS=$'\n'
  COMPREPLY=($(timeout 2 corral __complete "${words[@]:1:cword}" 2>/dev/null | cut -f 1))
  if declare -F __ltrim_colon_completions >/dev/null; then __ltrim_colon_completions "$cur"; fi
}
complete -o default -F _corral corral
