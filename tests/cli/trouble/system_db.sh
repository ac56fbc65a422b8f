# The system's database: an administrator's umask decides who may read it, and who may not is told so.
cp "$(readlink -f "$(command -v tune)")" tune
cp -r "$SOURCES/configs" .
grep -m 1 '"sgemm:nn:256x256x256"' configs/winners/h200.jsonl >one.jsonl
mkdir closed && mv configs/winners/h200.jsonl closed/
chmod 755 "$SCRATCH" .
export GEMMTUNE_CONFIGS="$PWD/configs" GEMMTUNE_CACHE="$PWD/cache"
made() { # UMASK FILE
    (umask "$1" && ./tune import one.jsonl --db "$2" >/dev/null)
    echo "umask $1, $2: $(stat -c %a "$(dirname "$2")")"
}
made 022 etc/gemmtune/gemmtune.db
made 027 group/gemmtune.db
stat -c %a etc group cache
# What is at home stays the user's, however it is named.
ln -s "$HOME" link
made 022 "$HOME/a/b/my.db" | sed "s|$HOME|HOME|"
made 022 link/c/my.db
(cd "$HOME" && umask 022 && "$SCRATCH/work/tune" import "$SCRATCH/work/one.jsonl" --db d/my.db >/dev/null && stat -c %a d)
export XDG_DATA_HOME="$PWD/xdg"
(umask 022 && ./tune import one.jsonl >/dev/null && stat -c %a xdg xdg/gemmtune)
# Another user, and a folder that is closed to him.
user() { if [ "$(id -u)" = 0 ]; then setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; else "$@"; fi; }
user ./tune --version >/dev/null || skip "no other user can run the program"
mkdir own && chmod 777 own
export XDG_DATA_HOME="$PWD/own" GEMMTUNE_CACHE="$PWD/own/cache" GEMMTUNE_SYSTEM_DB="$PWD/etc/gemmtune/gemmtune.db"
query() { user ./tune query --gpu h200 --shape 256x256x256 --format csv | cut -d, -f2,34; }
t query
chmod 000 etc
t query
t sh -c 'GEMMTUNE_SYSTEM_DB=off; export GEMMTUNE_SYSTEM_DB; ./tune query --gpu h200 --shape 256x256x256 2>&1 | tail -1'
t user ./tune query --db etc/gemmtune/gemmtune.db
user ./tune doctor | sed -n '/^system database:/,/^ *->/p'
t user env GEMMTUNE_CONFIGS="$PWD/etc" ./tune --shape 64x64x64 --gpu h200
chmod 755 etc
