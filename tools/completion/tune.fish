# Completion of `tune` for fish: the program itself says what fits.
function __tune_candidates
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] _complete $words[2..-1] 2>/dev/null)
        switch $line
            case :file
                __fish_complete_path (commandline -ct)
            case :dir
                __fish_complete_directories (commandline -ct)
            case '*'
                echo $line
        end
    end
end
complete -c tune -f -a '(__tune_candidates)'
