# Completion of `tune` for bash: commands, options as the program itself lists them, files for options that take one.
_tune()
{
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
    local commands="tune query explain bench ladder export import merge verify doctor help" command=tune
    [[ " $commands " == *" ${COMP_WORDS[1]} "* && $COMP_CWORD -gt 1 ]] && command=${COMP_WORDS[1]}
    case $before in
        --db|--suite|--from-capture|--header|--output|-o|--t4|--plot) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --space) COMPREPLY=($(compgen -W "curated wide" -- "$word") $(compgen -f -- "$word")); return ;;
        --cache) COMPREPLY=($(compgen -d -- "$word")); return ;;
        --format) COMPREPLY=($(compgen -W "table json csv" -- "$word")); return ;;
        --op) COMPREPLY=($(compgen -W "nn nt tn tt" -- "$word")); return ;;
        --strategy) COMPREPLY=($(compgen -W "gp random exhaustive" -- "$word")); return ;;
        --launch) COMPREPLY=($(compgen -W "graph stream" -- "$word")); return ;;
        --rival) COMPREPLY=($(compgen -W "lt autotune all" -- "$word")); return ;;
        help) COMPREPLY=($(compgen -W "$commands" -- "$word")); return ;;
    esac
    local options
    options=$("${COMP_WORDS[0]}" "$command" --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]*' | sort -u)
    [[ $COMP_CWORD -eq 1 ]] && options="$commands $options"
    COMPREPLY=($(compgen -W "$options" -- "$word"))
    [[ $command == import || $command == merge ]] && COMPREPLY+=($(compgen -f -- "$word"))
}
complete -F _tune tune
