# A wrong space: which there are; or the line and the reason.
space=$SOURCES/configs/spaces/simt.conf
t tune --shape 64x64x64 --gpu h200 --space nosuch.conf
t tune --shape 64x64x64 --gpu h200 --space nosuch
mkdir none
t tune --shape 64x64x64 --gpu h200 --space ./none
printf '[nosuch]\nBM = 1 ; reason\n' >template.conf
t tune --shape 64x64x64 --gpu h200 --space template.conf
sed 's/^BM *=.*/BM = 64 many ; reason/' "$space" >value.conf
t tune --shape 64x64x64 --gpu h200 --space value.conf
sed 's/^BM *=.*/BM = 1000000 ; reason/' "$space" >range.conf
t tune --shape 64x64x64 --gpu h200 --space range.conf
grep -v '^BM *=' "$space" >missing.conf
t tune --shape 64x64x64 --gpu h200 --space missing.conf
echo 'NOSUCH = 1 ; reason' | cat "$space" - >unknown.conf
t tune --shape 64x64x64 --gpu h200 --space unknown.conf
