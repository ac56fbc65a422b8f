/* unseen.c — a program that `tune run` started and that ends without a call that a tuned kernel could have
 * answered: one line says why. Other programs, those that it started among them, end in silence.
 */
#include "env.h"
#include "print.h"
#include "stub.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SECTIONS_MAX = 512, SECTION_BYTES_MAX = 64 << 20 };

/* A part of a file, with a NUL behind it; NULL: it has no such part. */
static char *part_of(int file, uint64_t offset, uint64_t bytes)
{
    char *part = bytes && bytes <= SECTION_BYTES_MAX ? malloc(bytes + 1) : NULL;
    if (part && pread(file, part, bytes, (off_t)offset) != (ssize_t)bytes) {
        free(part);
        return NULL;
    }
    if (part) part[bytes] = '\0';
    return part;
}

static bool defines_cublas(int file, const ElfW(Shdr) * table, const ElfW(Shdr) * text)
{
    char *symbols = part_of(file, table->sh_offset, table->sh_size);
    char *names = part_of(file, text->sh_offset, text->sh_size);
    bool found = false;
    for (size_t i = 0; symbols && names && i < table->sh_size / sizeof(ElfW(Sym)) && !found; i++) {
        ElfW(Sym) symbol;
        memcpy(&symbol, symbols + i * sizeof symbol, sizeof symbol);
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= text->sh_size) continue;
        const char *name = names + symbol.st_name;
        found = strcmp(name, "cublasCreate_v2") == 0 || strcmp(name, "cublasLtCreate") == 0;
    }
    free(names);
    free(symbols);
    return found;
}

/* Without symbols, cuBLAS is known by a variable that it alone asks for. */
static bool has_its_text(int file, const ElfW(Shdr) * section)
{
    static const char sign[] = "CUBLAS_LOGDEST_DBG";
    char *text = part_of(file, section->sh_offset, section->sh_size);
    const bool found = text && memmem(text, section->sh_size, sign, sizeof sign);
    free(text);
    return found;
}

/* True if cuBLAS is linked into the file. */
static bool contains_cublas(int file)
{
    ElfW(Ehdr) head;
    ElfW(Shdr) sections[SECTIONS_MAX];
    if (pread(file, &head, sizeof head, 0) != (ssize_t)sizeof head || head.e_shnum > SECTIONS_MAX ||
        head.e_shentsize != sizeof *sections)
        return false;
    const ssize_t bytes = (ssize_t)(head.e_shnum * sizeof *sections);
    if (pread(file, sections, (size_t)bytes, (off_t)head.e_shoff) != bytes) return false;
    bool found = false;
    for (int i = 0; i < head.e_shnum && !found; i++) {
        const ElfW(Shdr) *s = &sections[i];
        const bool symbols = s->sh_type == SHT_SYMTAB || s->sh_type == SHT_DYNSYM;
        if (symbols && s->sh_link < head.e_shnum) found = defines_cublas(file, s, &sections[s->sh_link]);
        else if (s->sh_type == SHT_PROGBITS && !(s->sh_flags & (SHF_WRITE | SHF_EXECINSTR)))
            found = has_its_text(file, s);
    }
    return found;
}

struct seen {
    const void *stub;            /* its functions have cuBLAS's names */
    const char *loaded, *inside; /* files: a cuBLAS; something with a cuBLAS in it */
};

static int look_at(struct dl_phdr_info *info, size_t size, void *self)
{
    struct seen *seen = self;
    const char *path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
    const char *slash = strrchr(path, '/');
    (void)size;
    if (strncmp(slash ? slash + 1 : path, "libcublas", strlen("libcublas")) == 0) {
        seen->loaded = path;
        return 1;
    }
    const bool known = seen->inside || info->dlpi_addr == (uintptr_t)seen->stub;
    const int file = known ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    if (contains_cublas(file)) seen->inside = info->dlpi_name[0] ? path : program_invocation_name;
    close(file);
    return 0;
}

static bool has_started_others(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_CHILDREN, &usage) == 0 && usage.ru_maxrss > 0;
}

static void say_why(void *nothing)
{
    struct seen seen = {.loaded = NULL};
    Dl_info own;
    (void)nothing;
    if (dladdr(&stub_engine_found, &own)) seen.stub = own.dli_fbase;
    dl_iterate_phdr(look_at, &seen);
    print_line(stderr, "gemmtune: no product of %s could be answered: %s%s", program_invocation_short_name,
               seen.loaded   ? "none came here, though it has loaded "
               : seen.inside ? "cuBLAS is linked statically into "
                             : "it has loaded no cuBLAS",
               seen.loaded            ? seen.loaded
               : seen.inside          ? seen.inside
               : has_started_others() ? " itself; the programs that it has started are served, too"
                                      : "");
}

/* The thread that ends the program may have little room. */
__attribute__((destructor)) static void end(void)
{
    const char *run = env_text("GEMMTUNE_RUN");
    if (run && strtol(run, NULL, 10) == getpid() && !atomic_load(&stub_engine_found) &&
        !env_is_on("GEMMTUNE_QUIET"))
        stack_room_run(&stub_room, say_why, NULL);
}
