# tune --from-capture: problems by the share of a program's time, and what it refuses.
FAKE=$(dirname "$(readlink -f "$(command -v tune)")")/tests/fake_child
[ -x "$FAKE" ] || skip "tests/fake_child is not built"
export GEMMTUNE_DB=$SCRATCH/winners.db GEMMTUNE_EXE=$FAKE
cat >seen.txt <<'END'
# problems of a program
# left out: count=12 its math mode allows less than strict FP32
# left out: count=1 it rains
32x32x32  # count=10 time_us=5
64x64x64  # count=1000 time_us=20
0x16x16  # count=100000 time_us=9
sgemm:nt:48x48x48  # count=200 time_us=10
END
t tune --from-capture nosuch.txt --budget 1s
t tune --from-capture seen.txt --shape 8x8x8
t tune --from-capture seen.txt --op nt
echo '8x8x8 # my favourite' >wrong.txt
t tune --from-capture wrong.txt
echo '0x8x8 # count=3' >empty.txt
t tune --from-capture empty.txt
tune --from-capture seen.txt --space "$SOURCES/tests/fake/space.conf" --budget 2h --max-trials 40 --format json \
    >found.json 2>progress
t grep 'leaves out' progress
t python3 -c 'import json; print([r["problem"] for r in json.load(open("found.json"))])'
t sh -c 'tune query --own | cut -c1-40 | grep -c sgemm'
