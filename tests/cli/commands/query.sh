# The commands that read: wrong lines, nothing there, and what a prediction left.
t tune query --db none.db
t tune query --db none.db --format json
t tune query --db .
t tune query --format xml
t tune query --shape 12x
t tune query stray
t tune explain
t tune explain --shape 4x4x4 --format csv
t tune explain --shape 4x4x4 --db none.db
t tune verify --db none.db
t tune verify stray
t ls
tune --shape 64x64x64 --gpu h200 --space "$SOURCES/tests/fake/space.conf" --max-trials 3 --budget 2h --db my.db >/dev/null 2>&1
t tune query --db my.db
t tune query --db my.db --measured --format json
t tune query --db my.db --shape 64x64x64 --accuracy strict --format json
t tune query --db my.db --accuracy accurate --shape 64x64x64
t tune query --db my.db --accuracy accurate
t tune query --db my.db --accuracy exact
t tune query --db my.db --gpu a100 --format csv
t tune query --db my.db --gpu sm_90 --shape 64x64x64 --predicted --format json
t tune explain --db my.db --shape 64x64x64
t tune explain --db my.db --shape 65x64x64
t tune explain --db none.db --shape 8x6144x4096 --gpu h200
t sh -c 'tune explain --shape 8x6144x4096 --gpu h200 >out'
t tune verify --db my.db
tune --shape 48..100x64x32 --gpu h200 --max-trials 1 --budget 2h --db my.db >/dev/null 2>&1
t tune query --db my.db --shape 48..100x64x32
for command in query explain verify; do
    tune $command --help >help
    grep -q 'Exit status:' help && grep -q 'Examples:' help && echo "$command has a manual"
done
