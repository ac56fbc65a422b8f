#include "likely.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define LENGTH_MAX 64

static bool same(char x, char y)
{
    return tolower((unsigned char)x) == tolower((unsigned char)y);
}

static int least(int x, int y)
{
    return x < y ? x : y;
}

/* Letters to add, leave out, change or swap with the next one (optimal string alignment). */
static int distance(const char *x, const char *y)
{
    const int m = (int)strlen(x), n = (int)strlen(y);
    int row[3][LENGTH_MAX + 1]; /* of the table, with the two before it */
    for (int j = 0; j <= n; j++) row[0][j] = j;
    for (int i = 1; i <= m; i++) {
        int *now = row[i % 3];
        const int *before = row[(i + 2) % 3], *earlier = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= n; j++) {
            now[j] = least(least(before[j], now[j - 1]) + 1, before[j - 1] + !same(x[i - 1], y[j - 1]));
            if (i > 1 && j > 1 && same(x[i - 1], y[j - 2]) && same(x[i - 2], y[j - 1]))
                now[j] = least(now[j], earlier[j - 2] + 1);
        }
    }
    return row[m % 3][n];
}

void likely_offer(struct likely *likely, const char *name)
{
    if (strcmp(name, likely->word) == 0) *likely = (struct likely){.word = ""}; /* it was not mistyped */
    const size_t typed = strlen(likely->word), length = strlen(name);
    if (typed < 2 || typed > LENGTH_MAX || length > LENGTH_MAX) return;
    const bool begun = typed >= 3 && strncasecmp(name, likely->word, typed) == 0;
    const int far = begun ? 1 : distance(likely->word, name), most = typed < 6 ? 1 + (typed > 3) : 3;
    if (far > most || (likely->best && far >= likely->distance)) return;
    likely->best = name;
    likely->distance = far;
}

const char *likely_text(const struct likely *likely, char text[LIKELY_TEXT_MAX])
{
    text[0] = '\0';
    if (likely->best) snprintf(text, LIKELY_TEXT_MAX, "; did you mean '%.64s'?", likely->best);
    return text;
}
