# Problems with a prepared operand beside plain ones: tuned, listed, exported, refused. Children invent times.
FAKE=$(dirname "$(readlink -f "$(command -v tune)")")/tests/fake_child
[ -x "$FAKE" ] || skip "tests/fake_child is not built"
export GEMMTUNE_EXE=$FAKE GEMMTUNE_DB="$PWD/my.db" SOURCE_DATE_EPOCH=1795000000
printf 'nt:256x512x1024\nsgemm_normwise:nt:64x512x1024\n' >suite.txt
cp "$SOURCES/tests/fake/space.conf" .
few="--space space.conf --max-trials 2 --budget 2h --no-pretuned -q"
quiet() { # without the times
    echo "$ $*"
    "$@" >out 2>&1 || echo "= $?"
    grep -o 'sgemm_[a-z]*:nt:[^ ]*' out | sort -u
}
quiet tune --suite suite.txt --accuracy accurate --prepared b $few
quiet tune --shape sgemm_accurate:nt:256x512x1024 $few
quiet tune query --own
quiet tune query --own --shape nt:256x512x1024 --prepared b --accuracy accurate
quiet tune query --own --shape sgemm_accurate:nt:256x512x1024
quiet tune explain --suite suite.txt --accuracy accurate --prepared b
quiet tune bench --prepared b --accuracy accurate --suite suite.txt --rounds 1 --block-ms 1
quiet tune bench --shape sgemm_accurate:nt:256x512x1024:prepared=a --rounds 1 --block-ms 1
tune bench --shape sgemm_accurate:nt:256x512x1024:prepared=a --rounds 1 --block-ms 1 --format csv 2>/dev/null | grep -o 'tuned plain'
quiet tune export --csv
tune export --header own.h 2>&1 | grep prepar
# A type that has nothing to prepare, and other words.
t tune --shape 256x512x1024:prepared=b
t tune --shape 256x512x1024 --prepared b
t tune --shape bf16gemm:256x512x1024 --prepared a
t tune --suite suite.txt --prepared b
t tune --shape sgemm_accurate:256x512x1024:prepared=a --prepared b
t tune query --own --prepared a --shape sgemm_accurate:256x512x1024:prepared=b
t tune --shape sgemm_accurate:256x512x1024:prepared=c
t tune --shape sgemm_accurate:256x512x1024:prepared=a:prepared=b
t tune --shape sgemm_accurate:64x64x64:batch=3:pointers:prepared=a
t tune --shape 256x512x1024 --prepared weight
t tune query --own --prepared b
t tune query --own --prepared a --shape tf32gemm:256x512x1024
t tune bench --prepared a --shape 256x512x1024
t tune explain --prepared a --shape 256x512x1024
t tune report --prepared a --shape 256x512x1024 -o page.html
t tune forget --prepared a --shape 256x512x1024
t sh -c 'tune verify | grep -o "^winner.*b on"'
