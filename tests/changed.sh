# changed.sh: sourced, in the top folder, by tests of the program's sources that in the short run take only those that have changed.
# shellcheck shell=sh

# The commit to compare with: where this branch left origin/main; on main itself, or where its history is not known, the commit before.
changed_base() {
    merge=$(git merge-base origin/main HEAD 2>/dev/null) && [ "$merge" != "$(git rev-parse HEAD)" ] && echo "$merge" && return
    git rev-parse --verify --quiet HEAD~
}

# all_sources: the program's sources, a line each.
all_sources() {
    find tuner db tools kernel_templates runtime -name '*.c' | sort
}

# changed_sources FILE: writes to FILE which of them differ from that commit, with what is not committed. A changed header counts as the
# source of its name. Ends the test, skipped, in a clone without history, and with more than 40 of them, which are left to a whole run.
changed_sources() {
    from=$(changed_base) || {
        echo "skipped: no commit to compare with"
        exit 77
    }
    all_sources >"$1.all"
    { git diff --name-only --relative "$from" && git ls-files --others --exclude-standard; } |
        sed 's/\.h$/.c/' | sort -u | comm -12 - "$1.all" >"$1"
    count=$(wc -l <"$1")
    echo "$count changed sources since $from"
    [ "$count" -le 40 ] || {
        echo "skipped: tools/test.sh all checks them with all others"
        exit 77
    }
}
