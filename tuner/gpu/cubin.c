/* cubin.c — a cubin is an ELF file of 64 bits. A section ".nv.info.ENTRY" lists attributes: format and
 * number, a byte each, and two bytes, which are the value or, of format 4, how many bytes of it follow.
 * cuobjdump -elf shows them: EIATTR_MAX_THREADS is 5, three numbers. */
#include "cubin.h"

#include <elf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define SIZED_FORMAT       4
#define EIATTR_MAX_THREADS 5

struct bytes {
    const unsigned char *at;
    size_t size;
};

/* A part of them; none if it is not whole. */
static struct bytes part(struct bytes from, uint64_t offset, uint64_t size)
{
    if (offset > from.size || size > from.size - offset) return (struct bytes){NULL, 0};
    return (struct bytes){from.at + offset, (size_t)size};
}

static bool read_at(struct bytes from, uint64_t offset, void *to, size_t size)
{
    const struct bytes p = part(from, offset, size);
    if (p.at) memcpy(to, p.at, size);
    return p.at != NULL;
}

static struct bytes section(struct bytes file, const char *name)
{
    Elf64_Ehdr header;
    Elf64_Shdr names, s;
    const size_t length = strlen(name) + 1;
    if (!read_at(file, 0, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof s ||
        header.e_shoff > file.size ||
        !read_at(file, header.e_shoff + header.e_shstrndx * sizeof s, &names, sizeof names))
        return (struct bytes){NULL, 0};
    const struct bytes all_names = part(file, names.sh_offset, names.sh_size);
    for (size_t i = 0; i < header.e_shnum && read_at(file, header.e_shoff + i * sizeof s, &s, sizeof s);
         i++) {
        const struct bytes its = part(all_names, s.sh_name, length);
        if (its.at && memcmp(its.at, name, length) == 0) return part(file, s.sh_offset, s.sh_size);
    }
    return (struct bytes){NULL, 0};
}

int cubin_most_threads(const void *bytes, size_t size, const char *entry)
{
    char name[128];
    snprintf(name, sizeof name, ".nv.info.%.100s", entry);
    const struct bytes info = section((struct bytes){bytes, size}, name);
    unsigned char head[4];
    for (uint64_t at = 0; read_at(info, at, head, sizeof head); at += sizeof head) {
        uint32_t threads[3];
        const unsigned value = head[2] | (unsigned)head[3] << 8;
        if (head[0] != SIZED_FORMAT) continue;
        if (head[1] == EIATTR_MAX_THREADS && value == sizeof threads &&
            read_at(info, at + sizeof head, threads, sizeof threads)) {
            const uint64_t all = (uint64_t)threads[0] * threads[1];
            return all <= 1 << 16 && all * threads[2] <= INT_MAX ? (int)(all * threads[2]) : 0;
        }
        at += value;
    }
    return 0;
}
