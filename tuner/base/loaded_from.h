/* loaded_from.h — the file from which some code of this process was loaded. */
#ifndef GT_LOADED_FROM_H
#define GT_LOADED_FROM_H

#include <dlfcn.h>
#include <stdio.h>

/* The program or library that contains a symbol's address; "" if unknown, or too long for the room. */
static inline void loaded_from(const void *symbol_in_it, char *path, size_t room)
{
    Dl_info info;
    const int known = dladdr(symbol_in_it, &info) && info.dli_fname;
    if (snprintf(path, room, "%s", known ? info.dli_fname : "") >= (int)room) path[0] = '\0';
}

#endif
