#include "machine_code.h"

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { INSTRUCTION = 16, NO_SCOREBOARD = 7 };

enum {
    SYNCS_EXCHANGE = 0x5b2, /* mbarrier.init */
    SYNCS_ARRIVE = 0x9a7,   /* mbarrier.arrive */
    SYNCS_PHASE = 0x5a7,    /* mbarrier.try_wait */
    BARRIER = 0xb1d,        /* bar.sync */
    NOTHING = 0x918,        /* __syncwarp() of a warp that is known to be complete */
    WARP_SYNC = 0x348,      /* __syncwarp() of a warp that may be divided */
    WARP_SYNC_ALL = 0x948,
    BRANCH = 0x947,
    END = 0x94d,
    STORE = 0x388, /* to shared memory */
    STORE_UNIFORM = 0x988,
    LOAD = 0x984,
    COPY = 0xfae, /* cp.async */
    BULK_COPY = 0x3ba,
    NOTHING_KNOWN = 0xfff
};

struct instruction {
    uint64_t low, high;
};

static unsigned operation(struct instruction x)
{
    return x.low & 0xfff;
}

static unsigned takes(struct instruction x)
{
    return (unsigned)(x.high >> (110 - 64)) & 7;
}

static bool waits_for(struct instruction x, unsigned scoreboard)
{
    return x.high >> (116 - 64 + scoreboard) & 1;
}

/* The section's bytes; NULL if the file is malformed. */
static const char *section(const char *elf, size_t length, const char *name, size_t *bytes)
{
    Elf64_Ehdr head;
    if (length < sizeof head) return NULL;
    memcpy(&head, elf, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_shentsize != sizeof(Elf64_Shdr) ||
        head.e_shstrndx >= head.e_shnum || head.e_shoff > length ||
        (size_t)head.e_shnum * sizeof(Elf64_Shdr) > length - head.e_shoff)
        return NULL;
    Elf64_Shdr names, x;
    memcpy(&names, elf + head.e_shoff + head.e_shstrndx * sizeof names, sizeof names);
    for (int i = 0; i < head.e_shnum; i++) {
        memcpy(&x, elf + head.e_shoff + (size_t)i * sizeof x, sizeof x);
        const size_t at = names.sh_offset + x.sh_name, end = strlen(name) + 1;
        if (at > length || end > length - at || memcmp(elf + at, name, end) != 0) continue;
        if (x.sh_offset > length || x.sh_size > length - x.sh_offset) return NULL;
        *bytes = x.sh_size;
        return elf + x.sh_offset;
    }
    return NULL;
}

static struct instruction instruction_at(const char *code, size_t at)
{
    struct instruction x;
    memcpy(&x, code + at, sizeof x);
    return x;
}

bool machine_code_inbox(const char *cubin, size_t length, struct inbox_start *start)
{
    size_t bytes = 0, at = 0;
    const char *const code = section(cubin, length, ".text.gemm", &bytes);
    *start = (struct inbox_start){0};
    if (!code) return false;
    while (at + INSTRUCTION <= bytes && operation(instruction_at(code, at)) != SYNCS_EXCHANGE)
        at += INSTRUCTION;
    if (at + INSTRUCTION > bytes) return false;
    start->init = (unsigned)at;
    const unsigned scoreboard = takes(instruction_at(code, at));
    bool branches = false;
    for (at += INSTRUCTION; at + INSTRUCTION <= bytes; at += INSTRUCTION) {
        const struct instruction x = instruction_at(code, at);
        start->waits |= scoreboard != NO_SCOREBOARD && waits_for(x, scoreboard);
        branches |= operation(x) == BRANCH;
        if (operation(x) != SYNCS_ARRIVE) continue;
        start->arrive = (unsigned)at;
        start->waits &= !branches;
        return true;
    }
    return false;
}

/* ---- harmless pairs ---- */

struct code {
    const char *bytes;
    size_t length;
};

/* A conditional exit is skipped. */
static unsigned operation_at(struct code code, size_t at)
{
    const struct instruction x = instruction_at(code.bytes, at);
    const bool always = (x.low >> 12 & 0xf) == 7;
    return operation(x) == END && !always ? NOTHING_KNOWN : operation(x);
}

static bool is_among(unsigned operation, const unsigned *set)
{
    for (; *set; set++)
        if (*set == operation) return true;
    return false;
}

/* The first instruction after `at` that is in `set`; the code's length if there is none. */
static size_t following(struct code code, size_t at, const unsigned *set)
{
    do at += INSTRUCTION;
    while (at < code.length && !is_among(operation_at(code, at), set));
    return at;
}

/* Whether a wait for an mbarrier precedes it, with no other barrier between. */
static bool behind_wait(struct code code, size_t at)
{
    static const unsigned set[] = {SYNCS_PHASE, BARRIER, END, 0};
    while (at > 0) {
        at -= INSTRUCTION;
        if (is_among(operation_at(code, at), set)) return operation_at(code, at) == SYNCS_PHASE;
    }
    return false;
}

/* Whether the lanes synchronise afterwards and one of them arrives, with no store between. */
static bool before_arrival(struct code code, size_t at)
{
    static const unsigned meeting[] = {NOTHING, SYNCS_ARRIVE, BARRIER, END, 0};
    static const unsigned arrival[] = {SYNCS_ARRIVE, STORE, STORE_UNIFORM, BARRIER, END, 0};
    const size_t met = following(code, at, meeting);
    if (met >= code.length || operation_at(code, met) != NOTHING) return false;
    const size_t arrived = following(code, met, arrival);
    return arrived < code.length && operation_at(code, arrived) == SYNCS_ARRIVE;
}

static bool is_write(struct code code, enum harmless kind, size_t at)
{
    const struct instruction x = instruction_at(code.bytes, at);
    switch (operation(x)) {
    case STORE:
    case STORE_UNIFORM:
        return (kind == LANE_STORES || kind == LANE_BULK) && before_arrival(code, at);
    case COPY:
        return kind == LANE_COPIES && behind_wait(code, at);
    case BULK_COPY:
        return kind == LANE_BULK && behind_wait(code, at);
    default:
        return false;
    }
}

static bool is_read(struct code code, size_t at)
{
    return operation(instruction_at(code.bytes, at)) == LOAD && behind_wait(code, at);
}

/* Whether lanes that may be apart meet somewhere for an arrival. */
static bool meets_divided(struct code code)
{
    static const unsigned after[] = {SYNCS_ARRIVE, STORE, STORE_UNIFORM, BARRIER, END, 0};
    for (size_t at = 0; at < code.length; at += INSTRUCTION) {
        if (operation_at(code, at) != WARP_SYNC && operation_at(code, at) != WARP_SYNC_ALL) continue;
        const size_t next = following(code, at, after);
        if (next < code.length && operation_at(code, next) == SYNCS_ARRIVE) return true;
    }
    return false;
}

const char *machine_code_harmless(const char *cubin, size_t length, enum harmless kind, struct places *places)
{
    struct code code = {0};
    *places = (struct places){0};
    code.bytes = section(cubin, length, ".text.gemm", &code.length);
    if (!code.bytes || code.length % INSTRUCTION) return "this is no cubin with a kernel gemm";
    if (meets_divided(code))
        return "the assembler does not know that warps are whole where one lane arrives for all";
    places->writes = malloc(code.length);
    places->reads = malloc(code.length);
    if (!places->writes || !places->reads) return "out of memory";
    for (size_t at = 0; at < code.length; at += INSTRUCTION) {
        if (is_write(code, kind, at)) places->writes[places->write_count++] = (unsigned)at;
        if (is_read(code, at)) places->reads[places->read_count++] = (unsigned)at;
    }
    return places->write_count && places->read_count ? NULL : "the kernel has no such writes and reads";
}
