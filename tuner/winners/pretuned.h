/* pretuned.h — winners that ship with the library, as text: JSON lines, described in docs/winners.md.
 *
 * The file is untrusted data like any other: every value is checked, a configuration is parsed into integers,
 * and its rules are checked again for a problem before it is compiled.
 */
#ifndef GT_PRETUNED_H
#define GT_PRETUNED_H

#include "db.h"
#include <stddef.h>

#define PRETUNED_FILE_MAX (64 << 20) /* bytes; a larger file is not read */

/* The folder of the installed files: GEMMTUNE_CONFIGS/winners, else beside the library, which in the folder
 * of a build has `configs` in its own: only if it is trusted (trusted.h). E_ABSENT: none of them. */
enum status pretuned_folder(char *path, size_t room);

/* The file of machine code for an architecture (90) that ships beside the winners of this folder, which is
 * as in winner_store.h: NULL for the installed one. It need not be there.
 * E_ABSENT: no folder. */
enum status pretuned_code(const char *folder, int arch, char *path, size_t room);

/* Takes every line of the folder's *.jsonl, file by file in the order of their names. take returns E_ABSENT
 * to pass a line over; *broken counts those for which it fails otherwise, and the first is described in
 * first_broken (file, line, reason). Errors: E_IO, E_MEMORY (take's, too). */
enum status pretuned_lines(const char *folder,
                           enum status (*take)(void *self, const char *line, size_t length), void *self,
                           int64_t *broken, char *first_broken, size_t room);

/* Reads all winners for GPUs of this architecture by pretuned_lines. What was read is kept for the next
 * caller, until a file or the GPU is another. Errors: as it. */
enum status pretuned_read(const char *folder, const struct gpu *gpu,
                          void (*visit)(void *self, const struct db_brief *brief), void *self,
                          int64_t *broken, char *first_broken, size_t room);

/* Parses one line. E_ABSENT: for another architecture. Errors: E_INPUT. */
enum status pretuned_parse(const char *line, size_t length, const struct gpu *gpu, struct db_brief *brief);

#endif
