#!/bin/sh
# launch_text.sh SOURCE PLAN WALK: our own code that launches plans, as exported headers contain it: without our includes, under
# names of theirs, static, and with the driver's functions called directly. PLAN gets what a plan is, WALK how it is launched.
set -eu
cd "$1"
rename() {
    sed -s -e '/^#include "/d
/^\/\* [a-z_]*\.h —/,/^ \*\/$/d
/^ *int64_t maps_/d
/launcher_enqueue_own/d
/^ *struct kernel_parameters own;/d
s/launcher_put_maps/launcher_encode/
s/\bcuda\.\([A-Z]\)/cu\1/g
s/\bstruct launch_plan\b/struct gt_winner_plan/g
s/\b\(launch_\|launcher_\|kernel_launch\b\|tensor_view\b\)/gt_\1/g
s/\bstruct launch\b/struct gt_launch/g
s/\benum element\b/enum gt_element/g
s/\benum operand\b/enum gt_winner_operand/g
s/\bOPERAND\(_\|S\b\)/GT_WINNER_OPERAND\1/g
s/\b\(LAUNCH_\|TENSOR_RANK_MAX\b\|ELEMENT_\)/GT_\1/g
s/^\(void\|bool\|CUresult\) gt_launch/static inline &/' "$@"
}
{
    sed -n '/^enum element {/p' tuner/gemm/gemm_type.h | rename
    sed -n '/^enum operand {/,/^};/p' tuner/gemm/operand.h | rename
    rename tuner/kernel/launch_plan.h tools/export/launch_lengths.h
} >"$2"
{
    rename tuner/kernel/launch_walk.h tuner/kernel/launch_walk.c
    sed -n '/^static inline CUresult launcher_enqueue_plain/,/^}/p' tuner/gpu/launcher.h | rename
    rename tuner/gpu/launcher.c
} >"$3"
