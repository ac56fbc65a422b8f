# One writer a database: the second is told who the first is, readers are not disturbed; killed, the first loses nothing
# that it had finished, and the same command goes on from there.
job="tune --shape 512x512x512 --shape sgemm:nt:768x768x768 --shape 1000x1000x1000 --gpu h200 --budget 90s --db my.db"
$job >first 2>&1 </dev/null &
first=$!
for i in $(seq 100); do
    if [ -s my.db ]; then break; fi
    sleep 0.1
done
sleep 4
t tune --shape 64x64x64 --gpu h200 --budget 5s --db my.db
t sh -c 'tune verify --db my.db >/dev/null'
kill -9 $first
wait $first || true
t sh -c 'tune verify --db my.db >/dev/null'
t tune --shape 512x512x512 --gpu h200 --budget 60s --db my.db
t sh -c 'tune verify --db my.db >/dev/null'
