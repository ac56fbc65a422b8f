# Out of one database, into another, and several into one. Without a GPU the winners are predicted.
export GEMMTUNE_LIBCUDA="$SCRATCH/no-driver" SOURCE_DATE_EPOCH=1795000000
code=0
tune --shape 256x256x256 --shape sgemm:nt:8x512x512 --gpu h200 --space "$SOURCES/tests/fake/space.conf" --budget 2h --max-trials 4 --db one.db >/dev/null 2>progress || code=$?
if [ $code = 6 ]; then skip "no NVRTC"; fi
[ $code = 0 ]

t tune export --db one.db
t tune export --db one.db --json --csv
t tune export --db one.db --csv --with-kernels
t tune export --db one.db --header h200.h --ptx
t tune export --db one.db --header h200.h
t sed -n 1,3p h200.h
t grep -c GT_H200_H h200.h
t tune export --db one.db --header sub/h200.h
t tune export --db one.db --header -.h
t tune export --db one.db --json -o h200.jsonl
t sh -c "wc -l < h200.jsonl"
t sh -c "tune export --db one.db --csv | head -1"
t tune export --db one.db --csv --shape 5x5x5
t tune export --db one.db --csv --measured
t tune export --db one.db --t4 -o trials.json
t ls

t tune import h200.jsonl --db two.db
t tune import h200.jsonl --db two.db
t tune query --db two.db --format csv
t sh -c "echo '{\"problem\": 1}' >> h200.jsonl; tune import h200.jsonl --db two.db"
t tune import "$SOURCES/tests/data/kernel_tuner_cache.json" --db two.db
t tune import "$SOURCES/tests/data/kernel_tuner_t4.json" --db two.db
t tune import progress --db two.db
t tune import nowhere.json --db two.db

t tune merge all.db
t tune merge all.db one.db two.db
t tune merge all.db two.db one.db
t tune merge new.db one.db nowhere.db
t ls
# The same as JSON: what was added, which file, what was left out and why.
t sh -c 'tune merge more.db one.db more.db --json > said; python3 -m json.tool --no-indent said'
t sh -c 'tune merge --format=json more.db one.db > said; python3 -c "import json; r = json.load(open(\"said\")); print(r[\"added\"], r[\"known\"] > 0, r[\"winners\"])"'
t tune merge new.db one.db nowhere.db --json
t tune merge --format csv new.db one.db
t sh -c 'tune import h200.jsonl --json --db three.db > said; python3 -m json.tool --no-indent said'
t sh -c 'tune import h200.jsonl progress nowhere.json --format json --db three.db > said; echo "code $?"; python3 -m json.tool --no-indent said'
t tune import h200.jsonl --format csv --db three.db
t tune import --list h200.jsonl
t sh -c 'tune merge more.db one.db --json > /dev/full'
t sh -c 'tune import h200.jsonl --json --db three.db > /dev/full'
t tune verify --db all.db
