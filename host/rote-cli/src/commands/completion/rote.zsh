#compdef rote
# rote: completion for zsh. Load it by: source <(rote completion zsh)
_rote() {
    local -a found closed open
    found=("${(@f)$(${words[1]} complete zsh -- "${(@)words[1,CURRENT]}" 2>/dev/null)}")
    found=(${found:#})
    # What ends with = goes on with a value.
    open=(${(M)found:#*=})
    closed=(${found:#*=})
    if (( ! ${#found} )); then
        _files
        return
    fi
    (( ${#closed} )) && _describe -t words rote closed
    (( ${#open} )) && _describe -t words rote open -S ''
}
compdef _rote rote
