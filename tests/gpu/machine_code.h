/* machine_code.h — what orders two instructions in sm_90's machine code, which tools that watch memory alone
 * do not see.
 *
 * An instruction is 16 bytes. The lowest 12 bits say what it does; bits 105 to 125 are for the scheduler:
 * which of six scoreboards is taken until the instruction has done its work (3 bits from bit 110; 7: none),
 * and which ones must be free before it starts (6 bits from bit 116).
 */
#ifndef GT_MACHINE_CODE_H
#define GT_MACHINE_CODE_H

#include <stdbool.h>
#include <stddef.h>

/* A kernel that sends sums around its cluster begins with thread 0: mbarrier.init, then arrive.expect_tx at
 * the same mbarrier. */
struct inbox_start {
    unsigned init, arrive; /* bytes from the kernel's start */
    bool waits; /* the second starts when the first is done: no branch lies between, and it waits for the
                   first one's scoreboard */
};

/* False: the kernel `gemm` of that cubin does not begin an mbarrier so. */
bool machine_code_inbox(const char *cubin, size_t length, struct inbox_start *start);

/* Pairs of a write and a read of shared memory that racecheck reports though they do no harm
 * (docs/kernels.md, "What racecheck says"). */
enum harmless {
    LANE_STORES, /* stores of a warp for which one lane arrives at an mbarrier, and reads behind a wait */
    LANE_COPIES, /* asynchronous copies behind a wait, and reads of a warp for which one lane arrives */
    LANE_BULK,   /* stores and bulk copies likewise */
    HARMLESS_COUNT
};

struct places {
    unsigned *writes, *reads; /* bytes from the kernel's start, ascending; free() both */
    size_t write_count, read_count;
};

/* Which instructions of the kernel `gemm` such a pair may consist of. NULL, or why that cannot be said of
 * this cubin: a warp may be divided where its lanes should meet, or there are no such instructions. */
const char *machine_code_harmless(const char *cubin, size_t length, enum harmless kind,
                                  struct places *places);

#endif
