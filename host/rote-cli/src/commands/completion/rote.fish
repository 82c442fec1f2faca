# rote: completion for fish. Load it by: rote completion fish | source
function __rote_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found ($words[1] complete fish -- $words 2>/dev/null)
    if test (count $found) -eq 0
        __fish_complete_path (commandline -ct)
    else
        printf '%s\n' $found
    end
end
complete -c rote -f -a '(__rote_complete)'
