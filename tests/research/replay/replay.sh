# Strategies on recorded spaces; what the strategy itself took differs from run to run.
data=$SOURCES/tests/data
space() { # NAME ENTRIES: a cache file of Kernel Tuner
    echo "{\"device_name\": \"D\", \"kernel_name\": \"K\", \"problem_size\": [1], \"tune_params_keys\": [\"A\", \"B\"], \"cache\": {$2}}" >"$1"
}
t replay "$data/kernel_tuner_cache.json" "$data/kernel_tuner_t4.json" --seeds 5 --strategy random,gp,exhaustive
t replay "$data/kernel_tuner_cache.json" --seeds 2 --strategy exhaustive --pending 1,4 --format csv
t replay "$data/kernel_tuner_cache.json" --seeds 1 --strategy random --max-trials 1 --format csv
head -c 9000 "$data/kernel_tuner_cache.json" >cut.json
t replay cut.json --seeds 1 --strategy gp --format csv

space one.json '"1,1": {"A": 1, "B": 1, "time": 3.5}'
t replay one.json --strategy random,gp --format csv
space failures.json '"1,1": {"A": 1, "B": 1, "time": "RuntimeFailedConfig"}, "2,1": {"A": 2, "B": 1, "__error__": "CompilationFailedConfig"}'
t replay failures.json
space zero.json '"1,1": {"A": 1, "B": 1, "time": 0}, "2,1": {"A": 2, "B": 1, "time": 2}, "3,1": {"A": 3, "B": 1, "time": "InvalidConfig"}'
t replay zero.json --strategy random,gp --format csv
space none.json '"1,1": {"A": 1, "B": 1, "time": 0}'
t replay none.json
space nan.json '"1,1": {"A": 1, "B": 1, "time": NaN}'
t replay nan.json
space again.json '"first": {"A": 1, "B": 1, "time": 5}, "second": {"A": 1, "B": 1, "time": 3}, "third": {"A": "x", "B": null, "time": 4}'
t replay again.json --strategy random --format csv
python3 -c "print('{\"cache\": {' + ', '.join('\"%d\": {%s, \"time\": 1}' % (i, ', '.join('\"p%d\": %d' % (p, p == i) for p in range(40))) for i in range(40)) + '}}')" >wide.json
t replay wide.json

t replay "$SOURCES/tests/fuzz/seeds/import/trials.json" --seeds 1 --strategy gp --format csv

t replay
t replay nowhere.json
t replay replay.sh "$SOURCES/LICENSE"
t replay one.json --strategy nosuch
t replay one.json --seeds 0
t replay one.json --pending 1,x
t replay one.json --seeds 1 --seeds 2
t sh -c 'replay --help | head -3'
t replay "$SOURCES/tests/data/kernel_tuner_cache.json" --seeds 1 --strategy exhaustive --at 24 --noise 1 --format csv
t replay one.json --noise 99
t replay "$data/kernel_tuner_cache.json" --seeds 1 --strategy exhaustive --jobs 4 --format csv
t replay one.json --jobs 0
t replay one.json --jobs 4 --at 2

# What one file teaches another.
t replay one.json --from-trials 3
t replay one.json --from nowhere.json
t replay one.json --from failures.json
t replay one.json --seeds 2 --strategy random --from one.json --format csv
t replay "$data/kernel_tuner_cache.json" --order --format csv
t replay "$data/kernel_tuner_cache.json" --order --from "$data/clblast_rtx2080ti.json.gz" --from-trials 60 --format csv
t replay "$data/h200_square.json.gz" --order --from "$data/h200_nt.json.gz" --format csv
t replay "$data/h200_square.json.gz" --order --from "$data/h200_skinny.json.gz" --format csv

# Times that are none, and a file that ends in the middle of its compression.
space negative.json '"1,1": {"A": 1, "B": 1, "time": -2}, "2,1": {"A": 2, "B": 1, "time": 2}'
t replay negative.json --seeds 1 --strategy random --format csv
space negatives.json '"1,1": {"A": 1, "B": 1, "time": -2}, "2,1": {"A": 2, "B": 1, "time": -0.0}'
t replay negatives.json
space huge.json '"1,1": {"A": 1, "B": 1, "time": 1e999}'
t replay huge.json
space text.json '"1,1": {"A": 1, "B": 1, "time": "NaN"}, "2,1": {"A": 2, "B": 1, "time": 2}'
t replay text.json --seeds 1 --strategy random --format csv
head -c 20000 "$data/h200_square.json.gz" >cut.json.gz
t sh -c 'replay cut.json.gz --seeds 1 --strategy random --format csv 2>&1 | tail -1'
head -c 100 "$data/h200_square.json.gz" >stump.json.gz
t replay stump.json.gz
head -c 10 "$data/h200_square.json.gz" >header.json.gz
t replay header.json.gz
