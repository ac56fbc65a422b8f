#!/bin/bash
# test_tune_run.sh TUNE CUBLAS_FOLDER [OUT]: programs under `tune run`, on a GPU: one that opens cuBLAS by path
# (opened_cublas.py), in each way of opening, and PyTorch if PYTHON has it. Their results are the same with and without
# tuned kernels, since they are exact; LEARN=60s is how long is tuned. The last lines are a table; 1: something failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
tune=$1 folder=$2 out=${3:-$(mktemp -d)}
mkdir -p "$out" && out=$(cd "$out" && pwd)
python=${PYTHON:-python3} learn=${LEARN:-60s} failed=0
export GEMMTUNE_DB=$out/run.db GEMMTUNE_CACHE=$out/cache
cd "$out" || exit 1

# program NAME LIMIT OPTIONS... -- WORDS...: under tune run; its exit code
program() {
    name=$1 limit=$2
    shift 2
    timeout "$limit" "$tune" run "$@" >"$name.out" 2>"$name.err"
}
ok() { printf '%-58s %s\n' "$1" ok | tee -a table; }
bad() {
    printf '%-58s %s\n' "$1" "FAILED: $2" | tee -a table
    failed=1
}
# The problems and sums of two runs are the same.
same() {
    if [ -s "$1.out" ] && cmp -s <(awk '{ print $1, $2, $4 }' "$1.out") <(awk '{ print $1, $2, $4 }' "$2.out"); then ok "$3: same results"; else bad "$3" "see $2.out, $2.err"; fi
}
served() {
    total=$(grep -oE '[1-9][0-9]* of [0-9]+ calls of products.*went to tuned kernels' "$1.err" | tail -n 1)
    if [ -n "$total" ]; then ok "$2: ${total%% went*}"; else bad "$2" "no call was answered: $1.err"; fi
}

: >table
program off 60 --off -- "$python" "$here/opened_cublas.py" "$folder" || bad off "$?"
program learn 240 --learn "$learn" --capture seen.txt -- "$python" "$here/opened_cublas.py" "$folder" || bad learn "$?"
same off learn "opened by path, learning"
cat seen.txt
tail -n 3 learn.err
program path 60 --log -- "$python" "$here/opened_cublas.py" "$folder" || bad path "$?"
same off path "opened by path"
served path "opened by path"
program deep 60 --log -- "$python" "$here/opened_cublas.py" "$folder" --deepbind || bad deep "$?"
same off deep "opened with RTLD_DEEPBIND"
served deep "opened with RTLD_DEEPBIND"
LD_LIBRARY_PATH=$folder program name 60 --log -- "$python" "$here/opened_cublas.py" "$folder" --name || bad name "$?"
same off name "opened by name"
served name "opened by name"
mkdir -p copy
cp -L "$folder"/libcublas.so.1[23] copy/
program copies 60 -- "$python" "$here/opened_cublas.py" "$folder" --twice "$(ls "$out"/copy/libcublas.so.*)" || bad copies "$?"
if grep -q 'another copy' copies.err && [ "$(grep -c the-copy copies.out)" = 4 ] &&
    cmp -s <(awk '$1 == "cublasSgemm" { print $2, $4 }' copies.out) <(awk '$1 == "the-copy" { print $2, $4 }' copies.out); then
    ok "two copies of cuBLAS"
else
    bad "two copies of cuBLAS" "see copies.err"
fi
program killed 20 -- "$python" -c 'import os; os.kill(os.getpid(), 9)'
if [ $? = 137 ]; then ok "killed: 137"; else bad killed "not 137"; fi
echo garbage >garbage.db
program garbage 60 --db garbage.db -- "$python" "$here/opened_cublas.py" "$folder" || bad garbage "$?"
same off garbage "a damaged database"

if "$python" -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
    cat >linear.py <<'END'
import time, torch
torch.backends.cuda.matmul.allow_tf32 = False
torch.manual_seed(1)
for m, n, k in ((512, 768, 3072), (64, 4096, 1024), (1000, 1000, 1000)):
    a = torch.randint(-3, 4, (m, k), device="cuda").float()
    layer = torch.nn.Linear(k, n, device="cuda")
    with torch.no_grad():
        layer.weight.copy_(torch.randint(-2, 3, (n, k), device="cuda"))
        layer.bias.copy_(torch.randint(-2, 3, (n,), device="cuda"))
        for name, f in (("mm", lambda: a @ layer.weight.t()), ("linear", lambda: layer(a))):
            for _ in range(20): c = f()
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(300): c = f()
            torch.cuda.synchronize()
            us = (time.perf_counter() - start) / 300 * 1e6
            weights = torch.arange(c.numel(), device="cuda", dtype=torch.float64).reshape(c.shape) % 1013 + 1
            print(f"torch-{name} {m}x{n}x{k} {us:.2f} {int((c.double() * weights).sum())}")
END
    program torch_off 90 --off -- "$python" linear.py || bad torch_off "$?"
    program torch_learn 300 --learn "$learn" -- "$python" linear.py || bad torch_learn "$?"
    same torch_off torch_learn "PyTorch, learning"
    tail -n 2 torch_learn.err
    program torch 90 --log -- "$python" linear.py || bad torch "$?"
    same torch_off torch PyTorch
    served torch PyTorch
    cat >graph.py <<'END'
import torch
torch.backends.cuda.matmul.allow_tf32 = False
a, b = torch.ones(304, 208, device="cuda"), torch.ones(208, 400, device="cuda")
stream = torch.cuda.Stream()
with torch.cuda.stream(stream):
    for _ in range(10): c = a @ b
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    c = a @ b
    c = a @ b
for _ in range(100): graph.replay()
torch.cuda.synchronize()
print(float(c.sum()))
END
    program graph 90 --capture graph.txt -- "$python" graph.py || bad graph "$?"
    if grep -q '^sgemm:[nt]*:[0-9]*x[0-9]*x208.* count=210 ' graph.txt; then ok "a graph that runs 100 times"; else bad "a graph that runs 100 times" "$(tail -n 1 graph.txt)"; fi
    cat graph.err
    "$python" -c 'import torch; print(torch.__version__)' && pr -mt -w 120 torch_off.out torch.out
fi

# cuBLAS that is linked statically, if the toolkit has it.
if [ -f "$folder/libcublas_static.a" ] && command -v nvcc >/dev/null; then
    cat >inside.c <<'END'
#include <cublas_v2.h>
int main(void)
{
    cublasHandle_t handle;
    return cublasCreate(&handle);
}
END
    if timeout 200 nvcc -o inside inside.c -lcublas_static -lcublasLt_static -lculibos >nvcc.out 2>&1; then
        for file in inside stripped; do
            [ $file = stripped ] && strip -o stripped inside
            program $file 60 -- "$out/$file"
            if grep -q 'linked statically' $file.err; then ok "cuBLAS inside, $file"; else bad "cuBLAS inside, $file" "see $file.err"; fi
        done
    fi
    rm -f inside stripped
fi
echo "without and with, microseconds:"
paste <(awk '{ print $1, $2, $3 }' off.out) <(awk '{ print $3 }' path.out)
cat table
exit $failed
