/* cubin.c — a cubin is an ELF file of 64 bits. A section ".nv.info.ENTRY" lists attributes: format and
 * number, a byte each, and two bytes, which are the value or, of format 4, how many bytes of it follow.
 * cuobjdump -elf shows them: EIATTR_MAX_THREADS is 5, three numbers; EIATTR_KPARAM_INFO, 23,
 * is of one parameter: a number, ordinal and offset of two bytes each, and bits of which the upper 14 are its
 * size. */
#include "cubin.h"

#include <elf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define SIZED_FORMAT       4
#define EIATTR_MAX_THREADS 5
#define EIATTR_KPARAM_INFO 23

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

/* The names of the sections, and the sections: false, this is no such file. */
static bool open_file(struct bytes file, Elf64_Ehdr *header, struct bytes *names)
{
    Elf64_Shdr s;
    if (!read_at(file, 0, header, sizeof *header) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof s ||
        header->e_shoff > file.size ||
        !read_at(file, header->e_shoff + header->e_shstrndx * sizeof s, &s, sizeof s))
        return false;
    *names = part(file, s.sh_offset, s.sh_size);
    return true;
}

/* The next section from number *i on whose name begins so; *rest: how it goes on, in `names`. */
static bool next_section(struct bytes file, const char *begins, size_t *i, struct bytes *contents,
                         struct bytes *rest)
{
    Elf64_Ehdr header;
    Elf64_Shdr s;
    struct bytes names;
    const size_t length = strlen(begins);
    if (!open_file(file, &header, &names)) return false;
    for (; *i < header.e_shnum && read_at(file, header.e_shoff + *i * sizeof s, &s, sizeof s); ++*i) {
        const struct bytes its = part(names, s.sh_name, length);
        if (!its.at || memcmp(its.at, begins, length) != 0) continue;
        const struct bytes tail = part(names, s.sh_name + length, names.size - s.sh_name - length);
        const unsigned char *const end = tail.at ? memchr(tail.at, 0, tail.size) : NULL;
        if (!end) continue;
        *rest = (struct bytes){tail.at, (size_t)(end - tail.at)};
        *contents = part(file, s.sh_offset, s.sh_size);
        ++*i;
        return true;
    }
    return false;
}

#define INFO ".nv.info."

static struct bytes info_of(struct bytes file, const char *entry)
{
    struct bytes contents, rest;
    for (size_t i = 0; next_section(file, INFO, &i, &contents, &rest);)
        if (rest.size == strlen(entry) && memcmp(rest.at, entry, rest.size) == 0) return contents;
    return (struct bytes){NULL, 0};
}

/* An attribute of this number and size from *at on; false: there are no more. */
static bool next_attribute(struct bytes info, int number, size_t size, uint64_t *at, void *value)
{
    unsigned char head[4];
    while (read_at(info, *at, head, sizeof head)) {
        const uint64_t begin = *at + sizeof head;
        const unsigned given = head[2] | (unsigned)head[3] << 8;
        *at = begin + (head[0] == SIZED_FORMAT ? given : 0);
        if (head[0] == SIZED_FORMAT && head[1] == number && given == size &&
            read_at(info, begin, value, size))
            return true;
    }
    return false;
}

int cubin_most_threads(const void *bytes, size_t size, const char *entry)
{
    const struct bytes info = info_of((struct bytes){bytes, size}, entry);
    uint32_t threads[3];
    uint64_t at = 0;
    if (!next_attribute(info, EIATTR_MAX_THREADS, sizeof threads, &at, threads)) return 0;
    const uint64_t all = (uint64_t)threads[0] * threads[1];
    return all <= 1 << 16 && all * threads[2] <= INT_MAX ? (int)(all * threads[2]) : 0;
}

bool cubin_keeps_state(const void *bytes, size_t size)
{
    const struct bytes file = {bytes, size};
    Elf64_Ehdr header;
    Elf64_Shdr s;
    struct bytes names;
    static const char global[] = ".nv.global"; /* and .nv.global.init */
    if (!open_file(file, &header, &names)) return false;
    for (size_t i = 0; i < header.e_shnum && read_at(file, header.e_shoff + i * sizeof s, &s, sizeof s);
         i++) {
        const struct bytes its = part(names, s.sh_name, sizeof global - 1);
        if (its.at && memcmp(its.at, global, its.size) == 0 && s.sh_size > 0) return true;
    }
    return false;
}

int cubin_parameters(const void *bytes, size_t size, const char *symbol, uint16_t sizes[CUBIN_PARAMETERS_MAX])
{
    const struct bytes info = info_of((struct bytes){bytes, size}, symbol);
    struct {
        uint32_t index;
        uint16_t ordinal, offset;
        uint32_t bits;
    } p;
    uint64_t seen = 0, at = 0;
    int count = 0;
    if (!info.at) return -1;
    while (next_attribute(info, EIATTR_KPARAM_INFO, sizeof p, &at, &p)) {
        if (p.ordinal >= CUBIN_PARAMETERS_MAX || seen >> p.ordinal & 1) return -1;
        seen |= UINT64_C(1) << p.ordinal;
        sizes[p.ordinal] = (uint16_t)(p.bits >> 18);
        count++;
    }
    return count == 64 || seen == (UINT64_C(1) << count) - 1 ? count : -1;
}

/* ---- names of C++ ---- */

/* The next name of a mangled one, a number and so many characters, as "5naive". */
static bool next_id(const char **at, const char *end, struct bytes *id)
{
    size_t length = 0;
    const char *c = *at;
    while (c < end && *c >= '0' && *c <= '9' && length < CUBIN_SYMBOL_MAX)
        length = 10 * length + (size_t)(*c++ - '0');
    if (length == 0 || length > (size_t)(end - c)) return false;
    *id = (struct bytes){(const unsigned char *)c, length};
    *at = c + length;
    return true;
}

#define NAMES_MAX 16

/* The names of a symbol, namespaces first (Itanium C++ ABI, 5.1): _Z [L] name, or _ZN name ... E. Nameless
 * namespaces are left out. */
static int ids_of(const char *symbol, size_t length, struct bytes ids[NAMES_MAX])
{
    const char *at = symbol, *const end = symbol + length;
    int count = 0;
    if (length < 3 || memcmp(at, "_Z", 2) != 0) {
        ids[0] = (struct bytes){(const unsigned char *)symbol, length};
        return 1;
    }
    at += 2;
    const bool nested = *at == 'N';
    if (nested) at++;
    if (at < end && *at == 'L') at++;
    while (count < NAMES_MAX && next_id(&at, end, &ids[count])) {
        if (ids[count].size < 8 || memcmp(ids[count].at, "_GLOBAL_", 8) != 0) count++;
        if (!nested) break;
        if (at < end && *at == 'L') at++;
    }
    return count;
}

/* The last names of the symbol are those of "ns::sgemm". */
static bool is_called(const char *symbol, size_t length, const char *name)
{
    struct bytes ids[NAMES_MAX];
    int count = ids_of(symbol, length, ids);
    const char *end = name + strlen(name);
    for (;;) {
        const char *begin = end;
        while (begin > name && begin[-1] != ':') begin--;
        if (--count < 0 || ids[count].size != (size_t)(end - begin) ||
            memcmp(ids[count].at, begin, ids[count].size) != 0)
            return false;
        if (begin < name + 2) return true;
        end = begin - 2;
    }
}

int cubin_find(const void *bytes, size_t size, const char *name, char symbol[CUBIN_SYMBOL_MAX])
{
    struct bytes contents, its;
    int count = 0;
    for (size_t i = 0; next_section((struct bytes){bytes, size}, INFO, &i, &contents, &its);) {
        if (its.size >= CUBIN_SYMBOL_MAX || !is_called((const char *)its.at, its.size, name)) continue;
        if (count++ == 0) snprintf(symbol, CUBIN_SYMBOL_MAX, "%.*s", (int)its.size, (const char *)its.at);
    }
    return count;
}
