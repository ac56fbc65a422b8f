#include "machine_code.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

enum { INSTRUCTION = 16, SYNCS_EXCHANGE = 0x5b2, SYNCS_ARRIVE = 0x9a7, BRANCH = 0x947, NO_SCOREBOARD = 7 };

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

/* The section's bytes, or NULL if the file is not what it should be. */
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
