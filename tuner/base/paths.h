/* paths.h — where the files are that ship with the program. */
#ifndef GT_PATHS_H
#define GT_PATHS_H

#include "status.h"
#include <stddef.h>

/* Folder `configs`: GEMMTUNE_CONFIGS, else PREFIX/share/gemmtune/configs beside the installed program, else
 * the source tree that this program was built from. what = "spaces", "gpus", "suites" or "" for the folder
 * itself. Errors: E_IO with the folders that were tried. */
enum status paths_configs(const char *what, char *path, size_t room);

#endif
