#!/bin/sh
# option.sh SOURCE FOLDER: -DGT_EXTRA_FAMILIES adds the family in FOLDER, copied to somewhere else, to the library of
# templates, and its space file to what is installed.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -r "$2" "$scratch/toy"
cmake -S "$1" -B "$scratch/build" -DGT_EXTRA_FAMILIES="$scratch/toy" -DBUILD_TESTING=OFF -DCMAKE_BUILD_TYPE=Debug \
    >"$scratch/log" 2>&1 &&
    cmake --build "$scratch/build" --target gt_templates --parallel 2 >>"$scratch/log" 2>&1 || {
    cat "$scratch/log"
    exit 1
}
table=$scratch/build/kernel_templates/template_table_gt_templates.c
grep -q '&template_tall,' "$table" && grep -q '&template_toy,' "$table" && grep -q "\"$scratch/toy\"" "$table" || {
    cat "$table"
    echo "the table lacks the toy"
    exit 1
}
nm "$scratch/build/kernel_templates/libgt_templates.a" | grep -q ' R text_toy_cu' || {
    echo "the text of the toy is not embedded"
    exit 1
}
grep -q "$scratch/toy/toy.conf" "$scratch/build/kernel_templates/cmake_install.cmake" || {
    echo "its space file is not installed"
    exit 1
}
