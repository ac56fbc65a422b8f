#include "spoil.h"

#include "stats.h"

#include <stdlib.h>
#include <string.h>

char *spoil(const char *bytes, size_t length, uint64_t *random, size_t *spoiled)
{
    static const char *const words[] = {"null",
                                        "-1",
                                        "1e999",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        "\"",
                                        "\\u0000",
                                        "\xff",
                                        "true",
                                        "NaN",
                                        "\"__error__\"",
                                        "18446744073709551616",
                                        ",",
                                        ":"};
    char *copy = malloc(2 * length + 64);
    memcpy(copy, bytes, length);
    *spoiled = length;
    for (uint64_t n = 1 + stats_random_below(random, 4); n > 0; n--) {
        const size_t at = stats_random_below(random, *spoiled);
        const char *word = words[stats_random_below(random, sizeof words / sizeof *words)];
        const size_t extra = strlen(word);
        switch (stats_random_below(random, 4)) {
        case 0:
            copy[at] = (char)stats_random_below(random, 256);
            break;
        case 1:
            memmove(copy + at + extra, copy + at, *spoiled - at);
            memcpy(copy + at, word, extra);
            *spoiled += extra;
            break;
        case 2: {
            const size_t gone = stats_random_below(random, *spoiled - at < 200 ? *spoiled - at : 200);
            memmove(copy + at, copy + at + gone, *spoiled - at - gone);
            *spoiled -= gone;
            break;
        }
        default:
            if (at + extra <= *spoiled) memcpy(copy + at, word, extra);
        }
    }
    char *exact = malloc(*spoiled + 1);
    memcpy(exact, copy, *spoiled);
    free(copy);
    return exact;
}
