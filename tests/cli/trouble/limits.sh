# Too little stack and too few open files are a sentence, and what may be raised is.
head -4 "$SOURCES/configs/winners/h200.jsonl" >some.jsonl
tune import some.jsonl --db my.db >/dev/null
t sh -c 'ulimit -s 64; exec tune query --db my.db'
t sh -c 'ulimit -S -s 64; exec tune ladder --shape 64x64x64 --gpu h200 --compile-only >out 2>&1 || [ $? = 6 ]'
t sh -c 'ulimit -n 10; exec tune --shape 64x64x64 --gpu h200 --budget 5s --db few.db --jobs 2'
t sh -c 'ulimit -n 10; tune query --db my.db | wc -l'
t ls
