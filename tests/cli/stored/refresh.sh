# What a change of driver, cuBLAS, NVRTC or kernel makes due, and that refresh does it, with fake children.
FAKE=$(dirname "$(readlink -f "$(command -v tune)")")/tests/fake_child
[ -x "$FAKE" ] || skip "tests/fake_child is not built"
t tune refresh --db none.db
t tune refresh --budget soon
export GEMMTUNE_DB=$PWD/my.db GEMMTUNE_EXE=$FAKE FAKE_LOG=$PWD/log FAKE_STEADY=1
for shape in 64x64x64 65x64x64; do # not in one run, whose slices of a second would hold more on a fast machine
    tune --space "$SOURCES/tests/fake/space.conf" --budget 2h --max-trials 20 --no-pretuned --shape $shape >tuned 2>&1
done
# Numbers differ from run to run: what was done, and what came of it.
done_by() { cut -d' ' -f1 log | grep -E 'compile|trial|verify|prepare' | sort | uniq -c; }
refresh() {
    : >log
    echo "$ ${FAKE_DRIVER:+FAKE_DRIVER=$FAKE_DRIVER }${FAKE_NVRTC:+FAKE_NVRTC=$FAKE_NVRTC }tune refresh $*"
    code=0
    tune refresh "$@" --format csv >out 2>err || code=$?
    cut -d, -f2-5,12 out
    tail -4 err | grep -E 'winner|again|tune:' | sed 's/ in [0-9].*//'
    done_by
    [ $code = 0 ] || echo "= $code"
}
refresh
export FAKE_DRIVER=590.1
refresh --dry-run
refresh --shape 64x64x64
refresh
refresh
# The winner crashes now: another of its race wins.
fast() { tune query --own --shape 64x64x64 --format csv | tail -1 | cut -d, -f3; }
FAKE_CUBLAS=13.2.0 FAKE_CRASH=$(fast) refresh --shape 64x64x64
t sh -c 'tune verify | grep -c -v " ok "'
# Another compiler: kernels are built anew. Of one problem cuBLAS is faster by now.
export FAKE_CUBLAS=13.2.0 FAKE_NVRTC=13.1
refresh --dry-run
FAKE_FAST_FOR=65x64x64 refresh
# Kernels whose text has changed: tuned again, but not with --races-only. query knows without a GPU.
python3 -c 'import sqlite3; d = sqlite3.connect("my.db"); d.execute("update configs set kernel_hash = 1"); d.commit()'
t sh -c 'tune query --own --format csv | cut -d, -f2,11-15'
refresh --races-only
mkdir -p small/spaces && cp "$SOURCES/tests/fake/space.conf" small/spaces/simt.conf && cp -r "$SOURCES/configs/gpus" small/
GEMMTUNE_CONFIGS=$PWD/small refresh --budget 2h --shape 64x64x64 >last
sed -n '/^sgemm/p; /tuned/p' last
# Imported winners have not raced here.
head -1 "$SOURCES/configs/winners/h200.jsonl" >one.jsonl
tune import one.jsonl --db imported.db >/dev/null
refresh --db imported.db
t tune refresh --gpu a100
t tune refresh --shape 9x9x9
FAKE_DEVICES=0 t tune refresh
# Without a GPU, or with another one, what kernels make due is known all the same.
FAKE_DEVICES=0 refresh --dry-run
FAKE_DEVICES=0 refresh --dry-run --gpu h200 --shape 65x64x64 --shape nn:65x64x64
t grep without err
FAKE_DEVICES=0 t tune refresh --dry-run --gpu a100
FAKE_DEVICES=0 t tune refresh --dry-run --gpu this
t ls none.db
