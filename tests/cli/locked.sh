# One writer a database: the second is told who the first is; readers are not disturbed; killed, it loses nothing.
tune --shape 512x512x512 --gpu h200 --budget 60s --db my.db >first 2>&1 </dev/null &
first=$!
for i in $(seq 100); do
    if [ -s my.db ] && tune query --db my.db >/dev/null 2>&1; then break; fi
    sleep 0.2
done
sleep 4
t tune --shape 64x64x64 --gpu h200 --budget 5s --db my.db
kill -9 $first
wait $first || true
t tune verify --db my.db
code=0
tune --shape 512x512x512 --gpu h200 --budget 8s --db my.db >second 2>progress </dev/null || code=$?
echo "exit code $code"
t tune verify --db my.db
