# rote: completion for bash. Load it by: source <(rote completion bash)
_rote() {
    local IFS=$'\n'
    COMPREPLY=($("${COMP_WORDS[0]}" complete bash -- "${COMP_LINE:0:COMP_POINT}" 2>/dev/null))
    # What ends with = goes on with a value.
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace
    fi
}
complete -o default -F _rote rote
