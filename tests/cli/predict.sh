# The main job without a GPU, from the first run to asking why.
export GEMMTUNE_LIBCUDA="$SCRATCH/no-driver"
db=$PWD/my.db
code=0
tune --shape 256x256x256 --gpu h200 --budget 20s --db "$db" >first 2>progress </dev/null || code=$?
echo "exit code $code"
t cat first
t tune query --db "$db"
tune query --db "$db" --format json >query.json
t python3 -c 'import json; r = json.load(open("query.json")); print(len(r), r[0]["predicted"])'
t sh -c "tune query --db '$db' --format csv | wc -l"
t tune query --db "$db" --gpu H200 --shape 256x256x256
t tune query --db "$db" --gpu a100
t tune query --db "$db" --shape 8x8x8
t tune explain --shape 256x256x256 --db "$db"
tune explain --shape 256x256x256 --db "$db" --format json >explain.json
t python3 -m json.tool explain.json /dev/null
t tune verify --db "$db"
t sh -c "tune query --db '$db' > /dev/full"
