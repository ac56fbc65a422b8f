# One clear sentence and a documented exit code for each mistake, and nothing is written.
t tune --shape 12x --gpu h200
t tune --shape 12x13 --gpu h200
t tune --shape -1x5x5 --gpu h200
t tune --shape 99999999999x1x1 --gpu h200
t tune --shape 4096x4096x4096x4096 --gpu h200
t tune --shape sgemm:xx:4x4x4 --gpu h200
t tune --shape zgemm:nn:4x4x4 --gpu h200
t tune --shape sgemm:nn:4x4x4:lda=1 --gpu h200
t tune --shape 4x4x4 --op xx --gpu h200
t tune --shape 4x4x4 --type zgemm --gpu h200
t tune --shape 4x4x4 --gpu nosuch
t tune --shape 4x4x4 --gpu h200 --strategy nosuch
t tune --shape 4x4x4 --gpu h200 --strategy ils
t tune --shape 4x4x4 --gpu h200 --budget soon
t tune --shape 4x4x4 --gpu h200 --budget 0s
t tune --shape 4x4x4 --gpu h200 --max-trials 0
t tune --shape 4x4x4 --gpu h200 --workspace 64Q
GEMMTUNE_WORKSPACE=-1M t tune --shape 4x4x4 --gpu nosuch
t tune --shape 4x4x4 --gpus 0,0
t tune --shape 4x4x4 --gpu h200 --format xml
t tune --shape 4x4x4 --gpu h200 --nosuch
t tune --gpu h200
t tune --suite nosuch.txt --gpu h200
printf '4x4x4\n# fine\n\n12x\n' >suite.txt
t tune --suite suite.txt --gpu h200
t ls
# A type that no kernel of ours computes on the GPU, which is not here.
t tune --shape hgemm:nn:4x4x4 --gpu t4 --db lt.db
