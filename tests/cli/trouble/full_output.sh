# Whatever is asked for, a full disk behind standard output is told, with its code.
full() { # COMMAND...
    t sh -c "tune $* >/dev/full"
}
export GEMMTUNE_DB="$PWD/my.db"
cp "$SOURCES/tests/fake/space.conf" .
tune import "$SOURCES/configs/winners/h200.jsonl" >imported
full --help
full help
full --version
for command in tune query explain ladder bench export import merge forget verify doctor run; do
    full help $command
    full $command --help
    full $command --version
done
full query
full query --all
full query --format json
full query --format csv
full query --shape 5x5x5
full explain --shape 256x256x256
full explain --shape 256x256x256 --format json
full ladder --shape 8x8x8 --compile-only --gpu h200 --rung naive
full export --json
full export --csv
full export --t4
full import "$SOURCES/configs/winners/h200.jsonl"
full merge all.db my.db
full verify
full doctor
full doctor --json
full --shape 8x8x8 --gpu h200 --space space.conf --budget 2h --max-trials 1 '2>/dev/null'
