/* launch_block.h — the layout of a template's argument block, for launchers without our code, such as those
 * of exported headers.
 */
#ifndef GT_LAUNCH_BLOCK_H
#define GT_LAUNCH_BLOCK_H

#include <stdint.h>

/* Values that can be passed to a kernel: pointers, integers, and two floats (alpha and beta). Those from
 * VALUE_SOURCE on are for an epilogue. */
enum launch_value {
    VALUE_A,
    VALUE_B,
    VALUE_C,
    VALUE_WORKSPACE,
    VALUE_LDA,
    VALUE_LDB,
    VALUE_LDC,
    VALUE_STRIDE_A,
    VALUE_STRIDE_B,
    VALUE_STRIDE_C,
    VALUE_M,
    VALUE_N,
    VALUE_K,
    VALUE_SPLITS,
    VALUE_K_PER_SPLIT,
    VALUE_GROUP,
    VALUE_COUNTERS,
    VALUE_ALPHA,
    VALUE_BETA,
    VALUE_SOURCE, /* C as it is read */
    VALUE_BIAS,
    VALUE_STRIDE_BIAS,
    LAUNCH_VALUES
};

struct launch_field {
    uint16_t offset, bytes; /* bytes: 4 or 8; 0: not passed */
};

/* Bytes that belong to no field are 0. */
struct launch_block {
    uint16_t bytes;          /* without an epilogue */
    uint16_t epilogue_bytes; /* with one; 0: not described */
    struct launch_field field[LAUNCH_VALUES];
};

#endif
