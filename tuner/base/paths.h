/* paths.h — where the files are that ship with the program, and those of its user. */
#ifndef GT_PATHS_H
#define GT_PATHS_H

#include "status.h"
#include <stdbool.h>
#include <stddef.h>

/* What nobody names is used only if it is trusted (trusted.h). */

/* Folder `configs`: GEMMTUNE_CONFIGS, else PREFIX/share/gemmtune/configs beside the installed program, or
 * `configs` in its folder, as in the folder of a build. what = "spaces", "gpus", "suites" or "" for the
 * folder itself. Errors: E_IO with the folders that were tried. */
enum status paths_configs(const char *what, char *path, size_t room);

/* One of our libraries: in the folder of the running program, in the library folder beside it, or in
 * runtime/dropin of the build folder. Errors: E_IO with the folders that were tried, or how it is built. */
enum status paths_library(const char *file, char *path, size_t room);

/* $CHOSEN as it is, else REST in $XDG/gemmtune, else in ~/HOME_PART/gemmtune. As the XDG specification says,
 * a relative $XDG is ignored. Errors: E_IO (there is no home), E_INPUT (it is too long). */
enum status paths_user(const char *chosen, const char *xdg, const char *home_part, const char *rest,
                       char *path, size_t room);

/* Creates the folders of a file, accessible to this user only. *made: length of the path of the first new
 * one, 0 if all existed. Returns 0, or an errno: then none is left. */
int paths_make_folders(const char *path, size_t *made);
/* The same, but as accessible as the user's umask lets new folders be: for files that others shall read. */
int paths_make_open_folders(const char *path, size_t *made);
/* The same for a file that may be the user's own, or be for all users (the system's database): private inside
 * the user's home and XDG folders, elsewhere by the umask. */
int paths_make_usual_folders(const char *path, size_t *made);
void paths_remove_folders(const char *path, size_t made); /* removes empty ones only */

#endif
