#include "utf8.h"

#include <string.h>

size_t utf8_length(const char *text)
{
    static const struct {
        unsigned char first_low, first_high, second_low, second_high, length;
    } forms[] = {{0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
                 {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
                 {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    const unsigned char *at = (const unsigned char *)text;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (at[0] < forms[i].first_low || at[0] > forms[i].first_high) continue;
        if (forms[i].length > 1 && (at[1] < forms[i].second_low || at[1] > forms[i].second_high)) return 0;
        for (size_t j = 2; j < forms[i].length; j++)
            if (at[j] < 0x80 || at[j] > 0xbf) return 0;
        return forms[i].length;
    }
    return 0;
}

bool utf8_valid(const char *text)
{
    size_t length;
    while ((length = utf8_length(text)) > 0) text += length;
    return *text == '\0';
}

void utf8_copy(char *valid, size_t room, const char *text)
{
    size_t used = 0;
    while (*text) {
        const size_t length = utf8_length(text), kept = length ? length : 3;
        if (kept >= room - used) break;
        memcpy(valid + used, length ? text : "\xef\xbf\xbd", kept);
        used += kept;
        text += length ? length : 1;
    }
    valid[used] = '\0';
}
