# A winner that a later check finds wrong is none, whoever asks. The children are fake ones, whose check refuses the
# configurations that it is told.
FAKE=$(dirname "$(readlink -f "$(command -v tune)")")/tests/fake_child
[ -x "$FAKE" ] || skip "tests/fake_child is not built"
export GEMMTUNE_EXE=$FAKE GEMMTUNE_DB=my.db FAKE_STEADY=1
search() {
    tune --shape 512x512x512 --space "$SOURCES/tests/fake/space.conf" --no-pretuned --format json "$@" >result
}
told() {
    python3 -c "import json, sys; r = json.load(open(sys.argv[1]))[0]; print(*[r[k] for k in sys.argv[2:]])" "$@"
}
search --max-trials 20 2>noise
winner=$(told result config)
t tune query --own --gpu h200

# It is to be pinned, and refused.
export FAKE_REFUSE="$winner"
t search --pin "$winner"
t told result result why
t tune query --own
t sh -c 'tune verify | tail -n 2'
t sh -c 'tune explain --shape 512x512x512 | sed -n 2p'
t sh -c 'tune explain --shape 512x512x512 >out'
t tune export --json
t tune export --header winners.h

# The next search takes another, and the one after that has nothing to do.
t search --max-trials 30
t told result result
[ "$winner" != "$(told result config)" ]
t sh -c 'tune query --own --format json >query'
t told query state
t search --max-trials 30

# All are found wrong.
export FAKE_REFUSE=BM=
t search --max-trials 40 --again
t tune query --own --shape 512x512x512
t tune verify --format csv
