# Files that are nearly right: keys that come twice, times that no call takes, a byte order mark, gzip without end.
one=$(head -1 "$SOURCES/configs/winners/h200.jsonl")
two=$(sed -n 2p "$SOURCES/configs/winners/h200.jsonl")
cat >make.py <<'X'
import gzip, json, sys
one, two = sys.argv[1:]
w = json.loads(one)
def write(name, text):
    open(name, "w").write(text + "\n")
def with_time(name, us):
    return json.dumps({**w, name: us})
write("tiny.jsonl", with_time("time_us", 1e-320) + "\n" + with_time("cublas_us", 1e-320) + "\n" + two)
twice = one[:-1] + ', "time_us": 1.0}'
write("twice.jsonl", twice + "\n" + two)
write("twice.json", "[" + twice + ",\n" + two + "]")
open("marked.jsonl", "wb").write(b"\xef\xbb\xbf" + (one + "\n" + two + "\n").encode())
open("marked.txt", "wb").write(b"\xef\xbb\xbf64x64x64\n")
f = gzip.open("endless.json.gz", "wb", 1)
f.write(b'{"results": [')
for i in range(1100):
    f.write(b" " * (1 << 20))
f.close()
X
python3 make.py "$one" "$two"
t tune import tiny.jsonl --db my.db
t tune import twice.jsonl --db my.db
t tune import twice.json --db new.db
t tune import marked.jsonl --db marked.db
t tune bench --suite marked.txt --db marked.db
t sh -c 'tune verify --db my.db >/dev/null'
rm -f *.jsonl
t tune import endless.json.gz --db my.db
# Endless and huge files: each is refused after a moment, whatever it holds.
for option in suite from-capture "shape 64x64x64 --space"; do
    t tune --$option /dev/zero --gpu h200 --db my.db
    t sh -c "yes '# nothing' | tune --$option /dev/stdin --gpu h200 --db my.db"
    t sh -c "printf %070000d 0 | tune --$option /dev/stdin --gpu h200 --db my.db"
done
t tune bench --suite /dev/zero --db my.db
head -c 3000000 /dev/zero >zeros.json
gzip -c zeros.json >zeros.json.gz
truncate -s 20G sparse.json
for file in zeros.json zeros.json.gz sparse.json; do
    t tune import $file --db my.db
done
rm -f zeros.* sparse.json
t ls
