# A set-uid program heeds no variable of ours: they name libraries to load and files to read.
[ "$(id -u)" = 0 ] || skip "only root can make a program set-uid for another user"
command -v cc >/dev/null || skip "no compiler"
cat >evil.c <<'X'
#include <stdio.h>
static __attribute__((constructor)) void run(void) { fputs("evil code runs\n", stderr); }
X
cc -shared -fPIC -o evil.so evil.c
export GEMMTUNE_LIBCUDA="$PWD/evil.so" GEMMTUNE_LIBNVRTC="$PWD/evil.so" GEMMTUNE_LIBNVML="$PWD/evil.so"
export GEMMTUNE_DB="$PWD/evil.db"
mkdir open
cp "$(readlink "$SCRATCH/bin/tune")" open/tune
chown 65534 open/tune
chmod 4755 open/tune
chmod 755 "$SCRATCH" .
open/tune --version >/dev/null || skip "the program does not run from here"
tune doctor >plain 2>&1 || true
t grep -c "evil code" plain
open/tune doctor >setuid 2>&1 || true
t grep -c "evil" setuid
