/* likely.h — the name that a person meant who typed one that does not exist. */
#ifndef GT_LIKELY_H
#define GT_LIKELY_H

struct likely {
    const char *word; /* as typed */
    const char *best; /* the nearest name so far; NULL: none is near */
    int distance;
};

/* Compares one of the names that exist. Case does not count; a name that is the word itself
 * is none that was meant. name must outlive the struct. */
void likely_offer(struct likely *likely, const char *name);

#define LIKELY_TEXT_MAX 96
/* "; did you mean 'NAME'?", or "" if no name is near. Returns text. */
const char *likely_text(const struct likely *likely, char text[LIKELY_TEXT_MAX]);

#endif
