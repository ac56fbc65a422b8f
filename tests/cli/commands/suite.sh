# The public suite in one command (tools/suite.sh), with children that invent times and other lists of problems.
FAKE=$(dirname "$(readlink -f "$(command -v tune)")")/tests/fake_child
[ -x "$FAKE" ] || skip "tests/fake_child is not built"
export GEMMTUNE_EXE=$FAKE
suite=$SOURCES/tools/suite.sh
cat >small <<END
#!/bin/sh
# A small space: enumerating the shipped one takes the sanitizers long.
[ "\$1" = bench ] && exec tune "\$@"
exec tune "\$@" --space "$SOURCES/tests/fake/space.conf" --max-trials 4
END
chmod +x small
printf '256x256x256\n4096x4096x4096\n' >suite.txt
printf 'sgemm:nt:4096x4096x4096\n16x16x1000000\n' >beyond.txt
export TUNE=$PWD/small SUITE=$PWD/suite.txt BEYOND=$PWD/beyond.txt BEYOND_BUDGET=2h
"$suite" 2>usage || echo "exit $?"
grep -c '^suite.sh FOLDER' usage
"$suite" results 2h 2>said
grep '^== ' said
[ -s results/search.csv.log ] && [ -s results/search.csv ] && [ -s results/stream.csv ] && [ -s results/suite.db ] && echo kept
t "$suite" results 2h
SUITE=$PWD/nosuch.txt "$suite" other 2h >shown 2>said || echo "exit $?"
tail -n 1 said
tail -n 1 other/search.csv.log
ls other
