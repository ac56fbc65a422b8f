# What a person pins and excludes, without a GPU: from the command line to query and explain, and back.
export GEMMTUNE_DB="$PWD/my.db"
winner() {
    tune query --own --format json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["configuration"])'
}
pinned() {
    tune query --db "$1" --format json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["pinned"] is not None)'
}
tune --shape 256x256x256 --gpu h200 --max-trials 3 >/dev/null 2>&1
first=$(winner)
t tune --shape 256x256x256 --gpu h200 --max-trials 3 --exclude "$first"
second=$(winner)
t test "$first" != "$second"
t sh -c 'tune query --own --json | grep -o "\"excluded\": [^,}]*"'
t sh -c 'tune explain --shape 256x256x256 | grep excluded'
t tune --shape 256x256x256 --gpu h200 --pin "$first"
t tune --shape 256x256x256 --gpu h200 --pin "$first" --include "$first"
t test "$first" = "$(winner)"
t sh -c 'tune query --own | grep pinned'
t sh -c 'tune explain --shape 256x256x256 | grep pinned'
t python3 -c 'import json, os; print([p["kind"] for p in json.loads(os.popen("tune explain --shape 256x256x256 --format json").read())[0]["preferences"]])'
t tune --shape 256x256x256 --gpu h200 --exclude "$first"
t tune verify

# A pin goes with the file, and what was changed last stands.
cp my.db old.db
tune --shape 256x256x256 --gpu h200 --max-trials 3 --unpin >/dev/null 2>&1
t pinned my.db
t tune merge new.db my.db old.db
t pinned new.db
t tune merge other.db old.db
t pinned other.db

t tune --shape 256x256x256 --gpu h200 --max-trials 3 --unpin
t tune --shape 256x256x256 --gpu h200 --max-trials 3 --include "$first"
t tune --shape 256x256x256 --gpu h200 --pin 'simt BM=128'
t tune --shape 256x256x256 --gpu h200 --pin 'nosuch A=1'
t tune --shape 256x256x256 --gpu h200 --pin "$(echo "$first" | sed 's/WM=[0-9]*/WM=7/')"
t tune --shape 256x256x256 --shape 64x64x64 --gpu h200 --exclude "$first"
