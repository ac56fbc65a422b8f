# Files that are written: a device and a FIFO are written through, a symbolic link is followed, a limit leaves nothing.
head -40 "$SOURCES/configs/winners/h200.jsonl" >some.jsonl
tune import some.jsonl --db my.db >/dev/null
if mknod device c 1 3 2>/dev/null && sh -c ': >device' 2>/dev/null; then
    tune export --csv --db my.db -o device
    mkdir null && mknod null/h200.h c 1 3
    tune export --header null/h200.h --db my.db 2>/dev/null
    ls -l device null/h200.h | cut -c1
    rm -r null device
else
    printf 'c\nc\n' # no devices may be made here
fi
mkfifo fifo
timeout 60 cat fifo >got &
t timeout 60 tune export --csv --db my.db -o fifo
wait $!
t sh -c 'test -p fifo && wc -l <got'
mkdir sub
ln -s sub/real.csv link.csv
t tune export --csv --db my.db -o link.csv
t tune export --csv --db my.db -o link.csv
t sh -c 'test -L link.csv && wc -l <sub/real.csv'
tune export --csv --db my.db -o /dev/stdout | wc -l
t sh -c 'ulimit -f 1; tune export --header limited.h --db my.db'
t ls -A . sub
