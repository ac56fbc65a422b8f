# Problems whose rows have the same bits for every M, beside plain ones: tuned, listed, exported, refused. Children
# invent times.
FAKE=$(dirname "$(readlink -f "$(command -v tune)")")/tests/fake_child
[ -x "$FAKE" ] || skip "tests/fake_child is not built"
export GEMMTUNE_EXE=$FAKE GEMMTUNE_DB="$PWD/my.db" SOURCE_DATE_EPOCH=1795000000
printf 'bf16gemm:nt:8x512x14336\nhgemm:nt:8x6144x4096:c=f32\n' >suite.txt
few="--max-trials 2 --budget 2h --no-pretuned -q"
quiet() { # without the times
    echo "$ $*"
    "$@" >out 2>&1 || echo "= $?"
    grep -o '[a-z0-9]*gemm:nt:[^ ]*' out | sort -u
}
divisions() { # of k, as the winners have them, and what is used though cuBLAS is faster
    tune query --own --json | python3 -c '
import json, re, sys
for w in json.load(sys.stdin):
    print(w["problem"], *re.findall(r"WARPS_K=\d+|SPLIT_K=\d+", w["configuration"])[-1:], "slower" if w["ratio"] < 1 else "faster", w["used"])
'
}
quiet tune --suite suite.txt --batch-invariant $few
quiet tune --shape bf16gemm:nt:8x512x14336 $few
quiet tune query --own
t divisions
quiet tune query --own --batch-invariant --suite suite.txt
quiet tune query --own --shape bf16gemm:nt:8x512x14336
quiet tune explain --batch-invariant --shape bf16gemm:nt:8x512x14336
quiet tune bench --batch-invariant --shape bf16gemm:nt:8x512x14336 --rounds 1 --block-ms 1
quiet tune export --csv
tune export --header own.h 2>&1 | grep 'do not depend'
quiet tune refresh --batch-invariant --suite suite.txt --dry-run
quiet tune --shape hgemm:nt:8x64x512 --batch-invariant --gpu a100 $few
t tune --shape hgemm:nt:8x64x512 --batch-invariant --gpu t4 -q
# Types without such kernels, and other words.
t tune --shape 256x512x1024:invariant
t tune --shape 256x512x1024 --batch-invariant
t tune --shape tf32gemm:256x512x1024 --batch-invariant
t tune --shape hgemm:256x512x1024:invariant:invariant
t tune --shape hgemm:256x512x1024:invariant=yes
t tune --shape hgemm:256x512x1024 --batch-invariant=yes
t tune query --own --batch-invariant
t tune query --own --batch-invariant --shape 256x512x1024
t tune bench --batch-invariant --shape 256x512x1024
t tune explain --batch-invariant --shape 256x512x1024
t tune report --batch-invariant --shape 256x512x1024 -o page.html
t tune forget --batch-invariant --shape 256x512x1024
quiet tune forget --batch-invariant --suite suite.txt --yes
quiet tune query --own
