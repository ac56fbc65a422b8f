# A signal that ends tune export ends the compilers that it started, and a limit on files is a sentence.
head -40 "$SOURCES/configs/winners/h200.jsonl" >some.jsonl
tune import some.jsonl --db my.db >/dev/null
t sh -c 'ulimit -f 60; exec tune --shape 64x64x64 --gpu h200 --budget 5s --db limited.db'
t ls
export GEMMTUNE_CACHE="$PWD/cache"
code=0
tune export --db my.db --header small.h --with-kernels --shape 256x256x256 2>noise || code=$?
if [ $code = 6 ]; then skip "no NVRTC"; fi
tune export --db my.db --header all.h --with-kernels 2>noise &
parent=$!
children=
for i in $(seq 600); do
    children=$(cat /proc/$parent/task/$parent/children)
    if [ -n "$children" ]; then break; fi
    kill -0 $parent 2>/dev/null || break
    sleep 0.05
done
kill -TERM $parent
wait $parent 2>/dev/null || echo "ended with $?"
alive() {
    for child in $children; do
        case $(ps -o stat= -p $child 2>/dev/null) in '' | Z*) ;; *) return 0 ;; esac
    done
    return 1
}
for i in $(seq 100); do
    if ! alive; then break; fi
    sleep 0.1
done
alive && echo "a child lives on"
t sh -c 'ls -A . | grep -v noise'
