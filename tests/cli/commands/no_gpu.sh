# A driver that is not there, is not a driver, or NVRTC that is not there.
t tune --shape 64x64x64 --budget 5s
echo 'not a library' >library
GEMMTUNE_LIBCUDA=$PWD/library
t tune --shape 64x64x64 --budget 5s
export GEMMTUNE_LIBNVRTC="$SCRATCH/no-nvrtc"
t tune --shape 64x64x64 --gpu h200 --budget 5s
