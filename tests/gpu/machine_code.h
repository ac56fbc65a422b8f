/* machine_code.h — finds what orders two instructions in sm_90's machine code; tools that only watch memory
 * do not see it.
 *
 * An instruction is 16 bytes. The lowest 12 bits are the operation. Bits 105 to 125 control the scheduler:
 * the scoreboard, one of six, that is held until the instruction is complete (3 bits from bit 110; 7: none),
 * and those that must be free before it starts (6 bits from bit 116).
 */
#ifndef GT_MACHINE_CODE_H
#define GT_MACHINE_CODE_H

#include <stdbool.h>
#include <stddef.h>

/* A kernel that sends sums within its cluster begins, in thread 0, with mbarrier.init and then
 * arrive.expect_tx at the same mbarrier. */
struct inbox_start {
    unsigned init, arrive; /* bytes from the kernel's start */
    bool waits; /* the second starts when the first is done: no branch lies between, and it waits for the
                   first one's scoreboard */
};

/* Returns false if the kernel `gemm` of that cubin does not begin an mbarrier in this way. */
bool machine_code_inbox(const char *cubin, size_t length, struct inbox_start *start);

/* Pairs of a write and a read of shared memory that racecheck reports although they are harmless
 * (docs/racecheck.md). */
enum harmless {
    LANE_STORES, /* stores of a warp for which one lane arrives at an mbarrier, and reads after a wait */
    LANE_COPIES, /* asynchronous copies after a wait, and reads of a warp for which one lane arrives */
    LANE_BULK,   /* the same for stores and bulk copies */
    HARMLESS_COUNT
};

struct places {
    unsigned *writes, *reads; /* bytes from the kernel's start, ascending; free() both */
    size_t write_count, read_count;
};

/* Lists the instructions of the kernel `gemm` that may form such a pair. Returns NULL, or why this cannot be
 * determined for this cubin: a warp may be divided where its lanes should synchronise, or there are no such
 * instructions. */
const char *machine_code_harmless(const char *cubin, size_t length, enum harmless kind,
                                  struct places *places);

#endif
