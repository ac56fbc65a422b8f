# A kernel of a user's own, from its text: tuned, known to every command, checked, exchanged. The children are fake ones;
# what needs the compiler is in the last part.
FAKE=$(dirname "$(readlink -f "$(command -v tune)")")/tests/fake_child
[ -x "$FAKE" ] || skip "tests/fake_child is not built"
export GEMMTUNE_EXE=$FAKE GEMMTUNE_DB=my.db FAKE_STEADY=1
cp "$SOURCES/docs/examples/kernels/simple.cu" naive.cu
search() {
    tune --kernel naive.cu --no-pretuned --format json "$@" >result
}
told() {
    python3 -c "import json, sys; r = json.load(open(sys.argv[1]))[0]; print(*[r[k] for k in sys.argv[2:]])" "$@"
}
t search --shape 256x256x256
t told result result trials config
t tune query --own
t sh -c 'tune explain --shape 256x256x256 | sed -n "2p;/^state/p"'
t sh -c 'tune verify | tail -n 1'
t search --shape 256x256x256
t sh -c 'tune export --json | grep -c "\"kernel\": "'

# Where the kernel may not be used, cuBLAS is, and the row says why not.
t tune --kernel "$SOURCES/docs/examples/kernels/warptile.cu" --shape 100x100x100 --format json

# Another text is another kernel: what was found of the first is not its own; its winner stays as long as none beats it.
sed 's/float sum = 0;/float sum = 0.0f * 2;/' naive.cu >other.cu && mv other.cu naive.cu
t search --shape 256x256x256

# A file that others could have written: its texts are not taken.
cp my.db open.db && chmod go+w open.db
t sh -c 'tune verify --db open.db | grep -c unusable'

# Texts are code: who merges or imports says so.
t tune merge all.db my.db
t sh -c 'tune merge --accept-kernels all.db my.db | sed "s/^all.db.*/counts/"'
t sh -c 'tune query --own --db all.db --format json | grep -c "\"state\": \"ok\""'
t sh -c 'tune export --json >winners.jsonl'
t sh -c 'tune import --db new.db winners.jsonl 2>&1'
t sh -c 'tune import --db new.db --accept-kernels winners.jsonl 2>&1'
t sh -c 'tune query --own --db new.db --format json | grep -c "naive@"'

# check, by its exit codes
t tune check naive.cu --set BX=32,BY=8
t env FAKE_WRONG=naive tune check naive.cu --set BX=32,BY=8
t env FAKE_CRASH=naive tune check naive.cu --set BX=32,BY=8
t env FAKE_UNBUILDABLE=naive tune check naive.cu --set BX=32,BY=8
t tune check naive.cu --set BX=3,BY=8
t tune check naive.cu --set BZ=3
t tune check nosuch.cu
t tune check naive.cu naive.cu

# What is wrong with a description
printf '// gemmtune: type sgemm, grid N\n' >bad.cu
t tune --kernel bad.cu --shape 64x64x64
t tune --with-ours --shape 64x64x64
t tune --kernel naive.cu --space wide --shape 64x64x64

# With the compiler
unset GEMMTUNE_EXE
sed 's/float sum = 0.0f/float sum = nosuch/' naive.cu >broken.cu
tune show-kernel naive.cu >shown 2>&1 || { grep -qi nvrtc shown && echo "no compiler" && exit 0; }
t sh -c 'tune show-kernel naive.cu --set BX=32,BY=8 | sed "s/[0-9][0-9]* /N /"'
t sh -c 'tune show-kernel naive.cu --ptx | grep -c "[.]entry naive"'
t sh -c 'tune show-kernel --config "ladder_naive BM=8 BN=32" | head -n 1'
t tune show-kernel broken.cu
t tune check broken.cu --set BX=32,BY=8
t sh -c 'tune --kernel broken.cu --shape 64x64x64 --gpu h200 2>&1 | tail -n 1'
