#include "cmd_run.h"

#include "env.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { SEGMENTS_MAX = 64, SCRIPTS_MAX = 4 /* the kernel's limit, too */ };

#ifdef __aarch64__
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_X86_64
#endif

static bool is_program(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

bool program_find(const char *name, char *path, size_t room)
{
    const char *folders = env_text("PATH");
    const bool fits = snprintf(path, room, "%s", name) < (int)room;
    if (strchr(name, '/')) return fits && is_program(path);
    for (const char *at = folders ? folders : "/bin:/usr/bin"; at;) {
        const size_t length = strcspn(at, ":");
        if (snprintf(path, room, "%.*s/%s", length ? (int)length : 1, length ? at : ".", name) < (int)room &&
            is_program(path))
            return true;
        at = at[length] ? at + length + 1 : NULL;
    }
    snprintf(path, room, "%s", name);
    return false;
}

/* The system clears LD_PRELOAD where a program gets rights that its caller has not. */
static bool gets_rights(int file)
{
    struct stat info;
    if (fstat(file, &info) != 0) return false;
    if ((info.st_mode & S_ISUID) && info.st_uid != getuid()) return true;
    if ((info.st_mode & S_ISGID) && (info.st_mode & S_IXGRP) && info.st_gid != getgid()) return true;
    return getuid() != 0 && fgetxattr(file, "security.capability", NULL, 0) > 0;
}

/* The loader that a program names is that of the GNU C library: ld-linux-x86-64.so.2. */
static bool is_gnu_loader(int file, const Elf64_Phdr *interpreter)
{
    char path[PATH_MAX] = "";
    const size_t length = interpreter->p_filesz < sizeof path ? interpreter->p_filesz : sizeof path - 1;
    if (pread(file, path, length, (off_t)interpreter->p_offset) != (ssize_t)length) return true;
    return strstr(path, "/ld-linux") != NULL;
}

static enum program_fit elf_fit(int file, const Elf64_Ehdr *head, const char **why)
{
    Elf64_Phdr segments[SEGMENTS_MAX];
    if (head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_machine != OWN_MACHINE) {
        *why = "a program of another architecture";
        return PROGRAM_FAILS;
    }
    const size_t bytes = head->e_phnum * sizeof *segments;
    if (head->e_phnum > SEGMENTS_MAX || pread(file, segments, bytes, (off_t)head->e_phoff) != (ssize_t)bytes)
        return PROGRAM_FITS;
    for (int i = 0; i < head->e_phnum; i++) {
        if (segments[i].p_type != PT_INTERP) continue;
        if (is_gnu_loader(file, &segments[i])) return PROGRAM_FITS;
        *why = "a program of another C library";
        return PROGRAM_FAILS;
    }
    *why = "linked statically";
    return PROGRAM_IGNORES;
}

/* The interpreter in the first line of a script, in the same place; false: there is none. */
static bool interpreter_of(char *text)
{
    text[strcspn(text, "\n")] = '\0';
    const char *name = text + 2 + strspn(text + 2, " \t");
    const size_t length = strcspn(name, " \t");
    memmove(text, name, length);
    text[length] = '\0';
    return length > 0;
}

enum program_fit program_fit(const char *path, const char **why)
{
    union {
        Elf64_Ehdr head;
        char text[PATH_MAX];
    } start = {.text = ""};
    enum program_fit fit = PROGRAM_FITS;
    snprintf(start.text, sizeof start.text, "%s", path);
    for (int i = 0; i <= SCRIPTS_MAX; i++) {
        const int file = open(start.text, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (file < 0) return PROGRAM_FITS;
        memset(&start, 0, sizeof start);
        const ssize_t got = pread(file, &start, sizeof start.text - 1, 0);
        const bool is_elf = got >= (ssize_t)sizeof start.head && memcmp(&start, ELFMAG, SELFMAG) == 0;
        if (is_elf && gets_rights(file)) {
            *why = "set-uid or has capabilities";
            fit = PROGRAM_IGNORES;
        } else if (is_elf) fit = elf_fit(file, &start.head, why);
        close(file);
        if (is_elf || strncmp(start.text, "#!", 2) != 0 || !interpreter_of(start.text)) break;
    }
    return fit;
}
