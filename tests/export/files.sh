#!/bin/sh
# files.sh CC CXX HEADER...: the files of a program that include exported headers, in each language and with each compiler
# that is here: one takes the definitions, the others next to nothing; all are linked into one program.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cc=$1 cxx=$2
shift 2
cp "$@" "$scratch"
cd "$scratch"
strict="-O1 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wmissing-declarations -Wundef -Werror -I."
wrong=0
complain() {
    echo "$*"
    wrong=1
}

cat >user.c <<'END'
#include "many.h"
#include "few.h"
#ifdef __cplusplus
extern "C"
#endif
int USER(void);
int USER(void)
{
    struct gt_winner_match match;
    const struct gt_winner_gpu *gpu = gt_winner_gpu_find(&gt_many_winners, "NVIDIA H200", 90, 132);
    const struct gt_winner_shape shape = gt_winner_shape_make(0, 0, 4096, 4096, 4096);
    return gpu && gt_winner_find(gpu, &shape, &match) && gt_few_winners.gpu_count == 1;
}
END
cat >definitions.c <<'END'
#include "few.h" /* declarations first do no harm */
#define GT_WINNERS_IMPLEMENTATION
#include "few.h"
#include "many.h"
#include "few.h"
END
cat >main.c <<'END'
int user_c(void);
int user_cxx(void);
int main(void) { return user_c() + user_cxx() == 2 ? 0 : 1; }
END
cat >own.c <<'END'
#define GT_WINNERS_STATIC /* another library's, with a header of its own */
#include "few.h"
int user_own(void);
int user_own(void)
{
    struct gt_winner_match match;
    const struct gt_winner_shape shape = gt_winner_shape_make(0, 0, 4096, 4096, 4096);
    return gt_winner_find(&gt_few_winners.gpus[0], &shape, &match);
}
END
for name in user definitions own; do cp $name.c $name.cpp; done

# What a compiler makes of a file that only includes the headers.
light() { # OBJECT
    [ "$(stat -c %s "$1")" -lt 8192 ] || complain "$1 has $(stat -c %s "$1") bytes"
    if nm --defined-only "$1" | grep gt_; then complain "$1 defines what it should only declare"; fi
}

build() { # CC CXX C-STANDARD C++-STANDARD
    $1 -std=$3 $strict -DUSER=user_c -c user.c -o user_c.o &&
        $2 -std=$4 $strict -DUSER=user_cxx -c user.cpp -o user_cxx.o &&
        $1 -std=$3 $strict -c definitions.c -o definitions_c.o &&
        $2 -std=$4 $strict -c definitions.cpp -o definitions_cxx.o &&
        $1 -std=$3 $strict -Wno-missing-declarations -c main.c -o main.o &&
        $1 -std=$3 $strict -c own.c -o own_c.o && $2 -std=$4 $strict -Wno-missing-declarations -c own.cpp -o own_cxx.o ||
        return 1
    light user_c.o
    light user_cxx.o
    for definitions in definitions_c.o definitions_cxx.o; do
        if nm -g --defined-only $definitions | grep -v ' gt_'; then complain "$definitions has names without gt_"; fi
        $2 main.o user_c.o user_cxx.o own_c.o $definitions -o program && ./program || return 1
    done
    if nm -g --defined-only own_c.o own_cxx.o | grep gt_; then complain "GT_WINNERS_STATIC is seen outside"; fi
    # A shared library shows nothing of it.
    $1 -shared -fPIC -std=$3 $strict definitions.c -o library.so || return 1
    if nm -D --defined-only library.so | grep gt_; then complain "a shared library exports it"; fi
}

built=0
for pair in "$cc $cxx" "clang clang++" "clang-14 clang++-14"; do
    if ! command -v "${pair% *}" >/dev/null || ! command -v "${pair#* }" >/dev/null || [ $built = 2 ]; then continue; fi
    echo "${pair% *} -std=c99, ${pair#* } -std=c++11"
    build "${pair% *}" "${pair#* }" c99 c++11 || complain "not compiled, linked or run"
    built=$((built + 1))
done
echo "${cc##*/} -std=c17, ${cxx##*/} -std=c++17"
build "$cc" "$cxx" c17 c++17 || complain "not compiled, linked or run"

# Nothing that a file sees has a name of another's: macros begin with GT_, all else with gt_.
printf '#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n' >base.c
"$cc" -std=c99 -dM -E base.c | sort >macros.base
for file in user definitions; do
    "$cc" -std=c99 -I. -dM -E $file.c | sort | comm -13 macros.base - | grep -v '^#define GT_' && complain "$file.c: macros of foreign names"
done
words=$("$cc" -std=c99 -I. -E -P user.c | wc -c)
echo "a file that includes both is $words bytes after the preprocessor"
[ "$words" -lt 65536 ] || complain "that is not declarations alone"
exit $wrong
