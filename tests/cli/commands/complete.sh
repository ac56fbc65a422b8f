# What shells offer: from the table of options, for commands, options and their values.
c() {
    echo "tune $*"
    tune _complete "$@" | cut -f1 | LC_ALL=C sort | sed 's/^/    /'
}
c ''
c e
c --ma
c query --
c query --pin
c export --t
c query --format ''
c query --format=j
c query --format = c
c bench --rival ''
c --gpu h
c --type ''
c --strategy ''
c --shape 4x4x4 --shape 5x5x5 --cold --co
c ladder --rung v
c --suite ''
c --cache ''
c import ''
c merge --
c merge --format ''
c forget --f
c import --f
c --space w
c cluster s
c cluster slurm --re
c help q
c nosuch --
t sh -c 'tune _complete query --li'
# The scripts of the shells.
cat >bash.sh <<'END'
. "$SOURCES/tools/completion/tune.bash"
touch suite.txt
try() {
    COMP_WORDS=(tune "$@") COMP_CWORD=$#
    _tune
    echo "$*: ${COMPREPLY[*]}"
}
try query --form
try query --format ''
try query --format = j
try --suite su
try --gpu h2
try q
END
t bash bash.sh
# zsh and fish where they are installed; what is wrong is shown.
if command -v zsh >/dev/null; then zsh -n "$SOURCES/tools/completion/_tune"; fi
if command -v fish >/dev/null; then
    fish -c 'source $SOURCES/tools/completion/tune.fish; complete -C "tune query --form"' | grep -q -e --format || echo "fish offers nothing"
fi
