# The ladder without a GPU: its compiler's figures, and its answers to wrong command lines.
t tune ladder --shape 64x64x64 --compile-only --gpu h200
t tune ladder --shape sgemm:tt:64x64x64 --shape sgemm:nt:8x8x8 --rung warptiled --compile-only --gpu t4 --format csv
tune ladder --shape 64x64x64 --compile-only --gpu h200 --format json >rungs.json
t python3 -c 'import json; print([r["rung"] for r in json.load(open("rungs.json"))])'
t tune ladder --shape 64x64x64
t tune ladder
t tune ladder --shape 12x
t tune ladder --shape 64x64x64 --rung nosuch
t tune ladder --shape 64x64x64 --compile-only --gpu nosuch
t tune ladder --shape 64x64x64 --gpu h200
t tune ladder --shape 64x64x64 --plot ladder.jpg
t tune ladder --shape 64x64x64 --plot ladder.svg --compile-only
t tune ladder --suite nosuch.txt
t tune ladder --shape 64x64x64 --format xml
t ls
