#!/bin/sh
# consumers.sh BUILD CUDA_INCLUDE FAKE_GPU FAKE_NVRTC FAKE_CUDART: programs that use the installed library, built the ways people build: by
# pkg-config, shared and static, and by find_package; then run, on a driver made of host memory. All that the header declares
# is exported, and only gt_; and neither the library nor the drop-in brings another library into a program.
# shellcheck disable=SC1091,SC2154 # installed.sh sets lib, scratch and usr
set -eu
build=$1 include=$2 gpu=$3 nvrtc=$4 cudart=$5
examples=$(cd "$(dirname "$0")/../docs/examples" && pwd)
. "$(dirname "$0")/installed.sh"
export PKG_CONFIG_PATH="$lib/pkgconfig" LD_LIBRARY_PATH="$lib"

for file in "$lib/libgemmtune.so" "$lib/libgemmtune.a"; do
    case $file in *.so) dynamic=-D ;; *) dynamic= ;; esac
    # shellcheck disable=SC2086
    others=$(nm $dynamic -g --defined-only "$file" | awk 'NF == 3 && $2 != "A" { print $3 }' |
        grep -v -E '^gt_[a-z_]+(@@GEMMTUNE_[0-9.]+)?$' || true)
    [ -z "$others" ] || {
        echo "$file exports: $others"
        exit 1
    }
done

# What the header declares is there.
sed -nE '/^static/d; s/^[a-z].*[ *](gt_[a-z_]+)\(.*/\1/p' "$usr/include/gemmtune.h" | sort >"$scratch/declared"
for file in "$lib/libgemmtune.so" "$lib/libgemmtune.a"; do
    case $file in *.so) dynamic=-D ;; *) dynamic= ;; esac
    # shellcheck disable=SC2086
    nm $dynamic -g --defined-only "$file" | awk 'NF == 3 { sub(/@.*/, "", $3); print $3 }' | sort >"$scratch/exported"
    missing=$(comm -23 "$scratch/declared" "$scratch/exported")
    [ -s "$scratch/declared" ] && [ -z "$missing" ] || {
        echo "$file lacks what gemmtune.h declares: $missing"
        exit 1
    }
done

# closed FILE MAY_NEED: it needs no other library, wrote nothing into its code at loading, and stays when it is closed.
closed() {
    readelf -dW "$lib/$1" >"$scratch/dynamic"
    others=$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' "$scratch/dynamic" | grep -vE "^($2)\.so" || true)
    [ -z "$others" ] && ! grep -q TEXTREL "$scratch/dynamic" && grep -q NODELETE "$scratch/dynamic" || {
        cat "$scratch/dynamic"
        echo "$1 needs $others, has relocations in its code, or goes when it is closed"
        exit 1
    }
}
closed libgemmtune.so 'libc|libm|ld-linux.*'
closed libgemmtune_cublas_engine.so 'libc|libm|ld-linux.*'
closed libgemmtune_cublas.so libc
others=$(nm -D --defined-only "$lib/libgemmtune_cublas.so" "$lib/libgemmtune_cublas_engine.so" |
    awk 'NF == 3 && $2 != "A" { print $3 }' |
    grep -vE '^(cublas[A-Za-z_0-9]+(@libcublas(Lt)?\.so\.1[123]|@@gemmtune_cublas)|gemmtune_cublas_engine|dlsym@.*|gemmtune_real_dlsym@.*|gemmtune_cublas_report@.*|__asan_default_options@.*)$' || true)
[ -z "$others" ] || {
    echo "the drop-in exports: $others"
    exit 1
}

# The header, alone, in the oldest languages it promises.
echo '#include <gemmtune.h>' >"$scratch/alone.c"
flags=$(pkg-config --cflags gemmtune)
# shellcheck disable=SC2086
{
    cc -std=c99 -Wall -Wextra -Wpedantic -Werror $flags -fsyntax-only "$scratch/alone.c"
    c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror $flags -fsyntax-only -x c++ "$scratch/alone.c"
}

# C++ names the types without `struct`: no function has the name of one.
cat >"$scratch/types.cc" <<'END'
#include <gemmtune.h>
gt_status compute(gt_handle *handle, gt_problem problem, gt_call call, gt_options, gt_plan_info info)
{
    gt_plan *plan;
    gt_status status = gt_plan_open(handle, &problem, &plan);
    if (status == GT_OK) status = gt_plan_describe(plan, &info);
    return status == GT_OK ? gt_launch(plan, &call) : status;
}
END
# shellcheck disable=SC2086
c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror $flags -fsyntax-only "$scratch/types.cc"

# run PROGRAM NAME [CUBLAS]: cuBLAS, then a kernel that was pretuned elsewhere, computes.
run() {
    env -i HOME="$scratch" LD_LIBRARY_PATH="$lib:$scratch/cuda" GEMMTUNE_LIBCUDA="$gpu" GEMMTUNE_LIBCUBLAS="${3:-$gpu}" \
        GEMMTUNE_LIBCUBLASLT="${3:-$gpu}" GEMMTUNE_LIBNVRTC="$nvrtc" FAKE_CUBLAS_POOL=1 FAKE_GPU_COMPUTES=1 "$1" >"$scratch/out" 2>"$scratch/err" || {
        cat "$scratch/out" "$scratch/err"
        echo "$2 failed"
        exit 1
    }
    grep -q '^0 elements wrong$' "$scratch/out"
    [ ! -s "$scratch/err" ] || cat "$scratch/err"
}

# pkg-config's answer alone links the static library, where there is no other: nothing more is asked of the linker.
mkdir "$scratch/only_static"
cp "$lib/libgemmtune.a" "$scratch/only_static/"
# shellcheck disable=SC2046
{
    cc -std=c99 -Wall -Wextra -Werror "$examples/sgemm.c" -I"$include" $(pkg-config --cflags --libs gemmtune) "$gpu" \
        -o "$scratch/shared"
    cc -std=c99 -Wall -Wextra -Werror "$examples/sgemm.c" -I"$include" $(pkg-config --cflags gemmtune) \
        $(pkg-config --define-variable=libdir="$scratch/only_static" --libs --static gemmtune) "$gpu" -o "$scratch/static"
}
readelf -dW "$scratch/static" >"$scratch/dynamic"
others=$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' "$scratch/dynamic" | grep -vE '^(libc|libm|ld-linux.*)\.so|fake_gpu' || true)
[ -z "$others" ] || {
    echo "a program with the static library needs $others"
    exit 1
}
run "$scratch/shared" "the shared library"

# The examples as they say that they are built, where the compiler knows CUDA's folders; header.c is for tests/winners.sh.
mkdir "$scratch/cuda" "$scratch/examples"
ln -s "$gpu" "$scratch/cuda/libcuda.so"
ln -s "$cudart" "$scratch/cuda/libcudart.so"
for file in "$examples"/*.c; do
    name=$(basename "$file" .c)
    [ "$name" != header ] || continue
    sed -n 's/^ \*     cc /cc -std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror /p' "$file" >"$scratch/line"
    (cd "$examples" && C_INCLUDE_PATH="$include" LIBRARY_PATH="$scratch/cuda" sh -c "$(cat "$scratch/line") -o '$scratch/examples/$name'")
    case $name in
    graph) run "$scratch/examples/$name" "$name" /none ;; # the fake cuBLAS is not captured
    *) run "$scratch/examples/$name" "$name" ;;
    esac
done

# A program's own functions of the names that the library takes are not called.
for name in sqlite3_open_v2 sqlite3_prepare_v2 sqlite3_step json_loads json_object_get ini_parse_stream XXH3_64bits; do
    echo "void abort(void); void $name(void); void $name(void) { abort(); }"
done >"$scratch/own.c"
cc -shared -fPIC "$scratch/own.c" -o "$scratch/own.so"
cat >"$scratch/with_own" <<END
#!/bin/sh
LD_PRELOAD=$scratch/own.so exec $scratch/shared
END
chmod +x "$scratch/with_own"
run "$scratch/with_own" "a program with an SQLite of its own"

# The installed drop-in finds its other half, and tune run finds the drop-in.
for start in "env LD_PRELOAD=$lib/libgemmtune_cublas.so" "$usr/bin/tune run --quiet --"; do
    # shellcheck disable=SC2086 # words of a command
    GEMMTUNE_LIBCUDA="$gpu" HOME="$scratch" $start "$build/tests/program_alone" product >"$scratch/out" 2>"$scratch/err"
    grep -q '^status 0 0, by its cuBLAS 1 1, wrong 0$' "$scratch/out" && [ ! -s "$scratch/err" ] &&
        grep -q "$lib/libgemmtune_cublas_engine.so" "$scratch/out" || {
        cat "$scratch/out" "$scratch/err"
        echo "the installed drop-in does not work: $start"
        exit 1
    }
done
run "$scratch/static" "the static library"
# shellcheck disable=SC2046
{
    cc "$examples/sgemm.c" "$scratch/own.c" -I"$include" $(pkg-config --cflags gemmtune) \
        $(pkg-config --define-variable=libdir="$scratch/only_static" --libs --static gemmtune) "$gpu" -o "$scratch/own_static"
    cc -shared -fPIC "$examples/sgemm.c" -I"$include" $(pkg-config --cflags gemmtune) \
        $(pkg-config --define-variable=libdir="$scratch/only_static" --libs --static gemmtune) "$gpu" -o "$scratch/plugin.so"
}
run "$scratch/own_static" "a program with the static library and an SQLite of its own"

consume() {
    cmake -S "$examples" -B "$scratch/consumer" -DCMAKE_PREFIX_PATH="$scratch/usr" -DCUDA_DRIVER="$gpu" \
        -DCUDA_RUNTIME="$cudart" -DCUDA_INCLUDE="$include" && cmake --build "$scratch/consumer"
}
consume >"$scratch/log" 2>&1 || {
    cat "$scratch/log"
    exit 1
}
run "$scratch/consumer/sgemm" "find_package, shared"
run "$scratch/consumer/batches" "find_package, with CUDA's runtime"
run "$scratch/consumer/sgemm_static" "find_package, static"

# The installed pretuned winners are found from the installed library, wherever that is.
winners=$scratch/usr/share/gemmtune/configs/winners
mkdir -p "$winners"
echo '{"problem": "sgemm:nn:96x64x48", "gpu": "NVIDIA H200", "arch": 90, "sm_count": 132, "config": "cublas", "time_us": 3}' \
    >"$winners/only_here.jsonl"
mkdir -p "$scratch/usr/bin"
mv "$scratch/static" "$scratch/usr/bin/static" # a static program finds them beside itself
for program in shared usr/bin/static consumer/sgemm; do
    run "$scratch/$program" "$program with pretuned winners"
    grep -q 'cuBLAS won the race for this problem on this GPU, pretuned' "$scratch/out" || {
        cat "$scratch/out"
        echo "the installed winners were not found by $program"
        exit 1
    }
done
