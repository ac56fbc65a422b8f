/* fuzz.h — what a fuzz target is: bytes in, and a promise that must hold whatever they are.
 *
 * A target defines LLVMFuzzerTestOneInput, so that it can be linked with drive.c (any compiler, a fixed
 * number of runs) or with clang's libFuzzer (see fuzz.cmake), and says below which words its language has.
 */
#ifndef GT_FUZZ_H
#define GT_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Words that mutations put into an input; ends with NULL. */
extern const char *const fuzz_words[];

/* A broken promise ends the process: the sanitizers and the driver then show what was asked and with which
 * input. */
#define PROMISE(holds, ...)                                                                                  \
    do {                                                                                                     \
        if (!(holds)) fuzz_broken(__FILE__, __LINE__, #holds, __VA_ARGS__);                                  \
    } while (0)

_Noreturn void fuzz_broken(const char *file, int line, const char *promise, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A target calls it when an input was accepted, so that what good input promises is asked. The driver fails
 * if that never happened. */
void fuzz_accept(void);
uint64_t fuzz_accepted(void);

/* The input as a string: what follows a NUL is left out. Valid until the next call; never NULL. */
char *fuzz_text(const uint8_t *data, size_t size);

/* The input as a file that is rewritten by each call, for what reads a path. The name lasts as long as the
 * process. */
const char *fuzz_file(const uint8_t *data, size_t size);

/* A folder of this process in memory or in TMPDIR, removed with what is in it when the process ends. */
const char *fuzz_folder(void);

#endif
