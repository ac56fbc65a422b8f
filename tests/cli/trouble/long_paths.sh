# Paths beyond every limit: a sentence that says so, however long, and nothing left behind.
LONG=$(printf 'folder%.0s/' $(seq 1000))x
NAME=$(printf 'name%.0s' $(seq 100))
ends() { # COMMAND...: whether its sentence ends with what is wrong, and its code
    code=0
    "$@" >out 2>err </dev/null || code=$?
    tail -n 1 err | tail -c 200 | grep -qE 'too long|of 1 to [0-9]+ characters' && echo "$1 $2 $code" || tail -c 300 err
    rm -f out err
}
ends tune --suite "$LONG"
ends tune --suite "$NAME"
ends tune --from-capture "$LONG"
ends tune --shape 4x4x4 --gpu h200 --space "$LONG"
ends tune --shape 4x4x4 --gpu h200 --space "$NAME"
ends tune --shape 4x4x4 --gpu h200 --db "$LONG"
ends tune --shape 4x4x4 --gpu h200 --cache "$LONG" --db "$SCRATCH/a.db"
ends tune import "$LONG"
ends tune bench --suite "$LONG"
ends tune ladder --suite "$LONG"
export GEMMTUNE_DB="$SCRATCH/w.db"
tune import "$SOURCES/configs/winners/h200.jsonl" >out
ends tune export --csv -o "$LONG"
ends tune export --header "$LONG.h"
ends tune export --header "$NAME.h"
t ls
