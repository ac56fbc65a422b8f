# The main job without a GPU, from the first run to asking why.
export GEMMTUNE_DB="$PWD/my.db"
t tune --shape 256x256x256 --gpu h200 --max-trials 3 --budget 2h
t tune query --own
tune query --own --format json >query.json
t python3 -c 'import json; r = json.load(open("query.json")); print(len(r), r[0]["provenance"], r[0]["ratio"])'
t sh -c 'tune query --own --format csv | wc -l'
t sh -c 'tune query --own --gpu "NVIDIA H200" --shape 256x256x256 | wc -l'
t tune query --own --gpu a100
t tune query --own --shape 8x8x8
t tune explain --shape 256x256x256
tune explain --shape 256x256x256 --format json >explain.json
t python3 -m json.tool explain.json /dev/null
t tune verify
t sh -c 'tune query --own >/dev/full'
cp "$SOURCES/tests/fake/space.conf" .
# An epilogue out of place whose C is not read, and one whose C is.
t tune --shape 64x64x64:epilogue=bias+out --gpu h200 --space space.conf --max-trials 1 --budget 2h --db out.db
t tune --shape 64x64x64:beta=1:epilogue=bias+out --gpu h200 --space space.conf --max-trials 1 --budget 2h --db out.db
