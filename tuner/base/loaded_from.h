/* loaded_from.h — the file from which some code of this process was loaded. */
#ifndef GT_LOADED_FROM_H
#define GT_LOADED_FROM_H

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* The program or library that contains a symbol's address; "" if unknown, or too long for the room. Of a
 * program the loader knows only what it was called by, which need not be its path. */
static inline void loaded_from(const void *symbol_in_it, char *path, size_t room)
{
    Dl_info info, program;
    const void *headers;
    const unsigned long at = getauxval(AT_PHDR);
    memcpy(&headers, &at, sizeof headers);
    const int known = dladdr(symbol_in_it, &info) && info.dli_fname;
    const int is_program = known && dladdr(headers, &program) && program.dli_fbase == info.dli_fbase;
    const ssize_t length = is_program ? readlink("/proc/self/exe", path, room) : -1;
    if (length >= (ssize_t)room) path[0] = '\0';
    else if (length > 0) path[length] = '\0';
    else if (snprintf(path, room, "%s", known ? info.dli_fname : "") >= (int)room) path[0] = '\0';
}

#endif
