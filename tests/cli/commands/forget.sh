# What is forgotten, what stays, and that nothing goes without a yes.
FAKE=$(dirname "$(readlink -f "$(command -v tune)")")/tests/fake_child
[ -x "$FAKE" ] || skip "tests/fake_child is not built"
export GEMMTUNE_DB=$PWD/my.db GEMMTUNE_EXE=$FAKE
search() { tune "$@" --space "$SOURCES/tests/fake/space.conf" --budget 2h --max-trials 20; }
t tune forget --shape 64x64x64
search --shape 64x64x64 --shape 65x64x64 >tuned 2>&1
counts() { tune verify | sed -n 's/^contents *ok *//p'; tune query --own --format csv | cut -d, -f2 | tail -n +2; }
t counts
t tune forget
t tune forget --shape 64x64x64
t tune forget --shape 64x64x64 --shape sgemm:64,64,64
t tune forget --shape 63x64x64 --yes
t tune forget --shape 64x64x64 --gpu a100 --yes
t counts
t tune forget --shape 64x64x64 --gpu h200 --yes
t counts
t tune forget --shape 64x64x64 --yes
# The next search goes on from the trials that stayed.
search --shape 64x64x64 >tuned 2>&1
t grep -c 'sgemm:nn:64x64x64  *tuned' tuned
t tune forget --shape 64x64x64 --json
t tune forget --shape 65x64x64 --format csv --yes
t sh -c 'tune forget --shape 65x64x64 --json --yes > said; python3 -m json.tool --no-indent said'
search --shape 65x64x64 >tuned 2>&1
t tune forget --shape 64x64x64 --shape 65x64x64 --everything --yes
t counts
t sh -c 'tune verify | grep -vc ok'
t tune forget --shape 64x64x64 --yes
# A person is asked, on a terminal.
tune import "$SOURCES/configs/winners/h200.jsonl" >/dev/null
cat >asked.py <<'END'
import os, pty, sys
sys.path.insert(0, os.environ["SOURCES"] + "/tests/cli")
for answer in (b"n\n", b"y\n"):
    child, terminal = pty.fork()
    if child == 0:
        os.execvp("tune", ["tune", "forget", "--shape", "256x256x256"])
    os.write(terminal, answer)
    text = b""
    try:
        while piece := os.read(terminal, 1000):
            text += piece
    except OSError:
        pass
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), text.decode().replace("\r", "").splitlines()[-1])
END
t python3 asked.py
# As JSON with everything, and where it cannot be written.
tune import "$SOURCES/configs/winners/h200.jsonl" >/dev/null
t sh -c 'tune forget --shape 512x512x512 --everything --yes --json | python3 -c "import json, sys; r = json.load(sys.stdin); print(r[\"everything\"], r[\"removed\"][\"winners\"], sum(r[\"kept\"].values()), len(r[\"forgotten\"]))"'
t sh -c 'tune forget --shape 1024x1024x1024 --yes --json > /dev/full'
t sh -c 'tune forget --shape 512x512x512 --yes --json; echo "code $?"'
# Trials that were exported come back: what was taken in, as JSON.
search --shape 66x64x64 >tuned 2>&1
tune export --t4 --shape 66x64x64 -o trials.json
t sh -c 'tune import trials.json --json --db other.db > said; python3 -m json.tool --no-indent said'
