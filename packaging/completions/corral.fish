# Completion of corral for fish: asks the program.
function __corral_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (timeout 2 corral __complete $words[2..] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c corral -f -a '(__corral_complete)'
