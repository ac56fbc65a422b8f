# What a person types who does not know every option by heart: one sentence that helps, or what was meant.
export GEMMTUNE_DB=$PWD/my.db
# No abbreviations; the likely name.
t tune --m 64 --n 64 --k 64
t tune --shape 64x64x64 --max 3
t tune query --fromat json
t tune qurey
t tune 64x64x64
t tune hgemm:nt:8x8x8
t tune 10x
t tune '128 128 128'
printf '1 2 3\n' >'a b.txt'
t tune 'a b.txt'
t tune import 'a b.txt'
t sh -c 'tune help help | cmp - "$SOURCES/tuner/manual.txt"'
t sh -c 'tune help query help | sed -n "/^NAME/,/^ /p"'
# Files of problems, also of other tools; and of what is none.
printf 'GemmTunableOp_float_NT,nt_64_64_64\nGroupedGemmTunableOp_float_NT,nt_64_64_64\nGemmTunableOp_float_NC,nc_64_64_64\n' >tunable.csv
printf 'name,k,m,n\nx,1,2,3\n' >table.csv
printf 'm,n,k,groups,us\n1,2,3,8,1.5\n' >groups.csv
echo '[{"m": 1, "n": 2, "k": 3}]' >list.json
for file in tunable.csv table.csv; do
    t tune $file
    t tune import $file
done
t tune list.json
t tune import list.json
t tune bench --suite tunable.csv
t tune bench --suite list.json
t tune bench --suite groups.csv
# What is not there is built in a build folder, and installed elsewhere.
mkdir alone build
cp "$(readlink -f "$(command -v tune)")" alone/
cp alone/tune build/
touch build/CMakeCache.txt
t alone/tune run -- true
t build/tune run -- true
rm -r alone build
t tune query --format jsn
t tune --shape 64x64x64 --type hgem
# What is not done.
t tune --shape 64x64x64 --type fp8gemm
t tune --shape int8gemm:nn:64x64x64 --gpu h200
t tune --shape 64x64x64:groups=8 --gpu h200
t tune --shape 64x64x64 --gpu v100
t tune --shape 64x64x64 --gpu mig
# A GPU is meant by name, first words, architecture or number, in every command alike.
t tune --shape 64x64x64 --gpu sm_90
t tune --shape 64x64x64 --gpu rtx
t tune --shape 64x64x64 --gpu h20
t tune --shape 64x64x64 --gpu 0 --gpus 1
t tune ladder --shape 64x64x64 --gpu sm_90 --compile-only
cat >small.conf <<'END'
[simt]
BM = 64
BN = 64
BK = 16
WM = 32
WN = 64
TM = 8
TN = 8
WARPS_K = 1
STAGES = 2 3
LOADER = 0
PACK = 0
VA = first 4 2 1
VB = first 4 2 1
VC = first 4 2 1
UNROLL = 16
STORE_AT = 8
ORDER = 0
MIN_BLOCKS = 1
REDUCE = 0
GROUP = 1
SPLIT_K = 1
END
quick() { tune "$@" --space small.conf --max-trials 1; }
t quick --shape 64,64,64 --gpu H100 -q
t tune query --own --gpu h100 --sort problem --limit 1
t tune query --own --gpu sm_90 --sort nothing
t sh -c 'tune query --own --gpu 0 2>&1 | tail -1'
# Suites: standard input, M N K, M,N,K and PyTorch's TunableOp.
cat >untuned.csv <<'END'
Validator,PT_VERSION,2.9.0
GemmTunableOp_float_TN,tn_128_64_256_ld_256_256_128
GemmTunableOp_double_TN,tn_128_64_256_ld_256_256_128
END
printf 'M,N,K\n64,64,64\n 64 64 128 # twice as deep\n' >list.csv
t sh -c 'tune --suite - --suite untuned.csv --gpu h100_sxm --space small.conf --max-trials 1 --format csv <list.csv 2>said | cut -d, -f1-3'
t grep 'left out' said
# json, csv and several problems wherever there is a table.
t sh -c 'tune query --own --json --limit 1 | python3 -c "import json, sys; print(len(json.load(sys.stdin)))"'
t sh -c 'tune query --own --sort -problem --format csv | cut -d, -f2'
t sh -c 'tune query --own --all --json >all && tune query --own --json | cmp - all'
cp "$GEMMTUNE_DB" copy.db
t sh -c 'tune diff "$GEMMTUNE_DB" copy.db --all --json | head -c 1'
t sh -c 'tune query --own --limit 1 --all --format table | head -1'
t sh -c 'tune explain --shape 64x64x64 --shape 64x64x128 --json | python3 -c "import json, sys; print([e[\"problem\"] for e in json.load(sys.stdin)])"'
t sh -c 'tune explain --shape 64x64x64 --format csv | grep -E "^problem|winner.provenance|tried.trials"'
t sh -c 'tune export --shape 64x64x64 --shape 64x64x128 --csv | cut -d, -f1'
t sh -c 'tune export --format json | grep -c "\"problem\": "'
t tune export --format xml
t tune export --format json --csv
t tune export --shape 64x64x64 --shape 5x5x5 --shape 6x6x6 --t4
t tune doctor --json --format csv
# What a table shows is what --pin takes.
config=$(tune query --own --shape 64x64x64 | sed -n 's/.*Z  \(simt .*\)/\1/p')
echo "$config"
t sh -c "tune --shape 64x64x64 --gpu h100 --space small.conf --pin '$config' --format csv 2>/dev/null | cut -d, -f1,3"
t sh -c 'tune query --own --shape 64x64x64 --format csv | grep -c "used,pinned,excluded\|kernel,2.*Z"'

# Help of several commands, and short forms.
t sh -c 'tune help query export | grep ^Usage'
t sh -c 'tune --help query | head -1; tune query -h | head -1'
# Empty names.
t tune export --csv -o ''
t tune query --db ''
t tune merge '' my.db
ln -s nowhere/my.db dangling.db
ln -s loop.db loop.db
t tune import "$SOURCES/configs/winners/h200.jsonl" --db dangling.db
t tune query --db loop.db --json
echo 'a text that is long enough to be a database, but is none; it goes on and on for a hundred bytes and more' >text
t tune merge text my.db
t tune query --db text --json
