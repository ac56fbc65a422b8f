#include "lt_descriptor.h"

#include <pthread.h>
#include <stdlib.h>

/* More than any version has. */
enum { ATTRIBUTES = 128, WORDS = LT_DESC_WORDS, LIBRARIES = 8 };

/* A descriptor of ours. */
union desc {
    uint64_t word[WORDS];
    unsigned char byte[8 * WORDS];
};

struct places {
    const struct real_lt *real;
    bool listed;                     /* the two members below are valid */
    unsigned char bytes[ATTRIBUTES]; /* 0: the library knows no such attribute */
    uint64_t usual[ATTRIBUTES];      /* its default */

    bool found; /* those below are valid */
    uint32_t version;
    uint16_t at[ATTRIBUTES];
    size_t words;         /* of a descriptor of this version, up to its last attribute */
    uint64_t mask[WORDS]; /* the bits of all attributes that must have their defaults */
    uint64_t wanted[WORDS];
    uint64_t said[WORDS]; /* the bits of all attributes but where the bias is */

    uint64_t layout_known; /* bit i: layouts have an attribute i that we know nothing of */
    uint64_t layout_usual[8 * sizeof(uint64_t)];
    unsigned char layout_bytes[8 * sizeof(uint64_t)];
};

static _Atomic(const struct places *) known[LIBRARIES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for adding to them */

static bool is_read_elsewhere(int what)
{
    switch (what) {
    case LT_DESC_COMPUTE_TYPE:
    case LT_DESC_POINTER_MODE:
    case LT_DESC_TRANSA:
    case LT_DESC_TRANSB:
    case LT_DESC_EPILOGUE:
    case LT_DESC_BIAS_POINTER:
    case LT_DESC_BIAS_BATCH_STRIDE:
    case LT_DESC_BIAS_DATA_TYPE:
        return true;
    default:
        return false;
    }
}

/* ---- what a library knows, and where it keeps it ---- */

static bool make(const struct real_lt *real, size_t bytes, union desc *desc)
{
    *desc = (union desc){.word = {0}};
    return real->DescInit((lt_desc)(void *)desc, bytes, BLAS_COMPUTE_32F, BLAS_R_32F) == BLAS_SUCCESS;
}

/* Every descriptor begins with it. Those of programs that were built with older headers are smaller, and of
 * an older one. */
static uint32_t version_of(const void *desc)
{
    uint32_t version;
    memcpy(&version, desc, sizeof version);
    return version;
}

static bool list_attributes(struct places *p, union desc *plain)
{
    const struct real_lt *real = p->real;
    size_t bytes, written;
    if (!real->DescInit || !real->DescGet || !make(real, sizeof *plain, plain)) return false;
    for (int what = 0; what < ATTRIBUTES; what++) {
        const lt_desc desc = (lt_desc)(void *)plain;
        bytes = 0;
        if (real->DescGet(desc, what, NULL, 0, &bytes) || bytes == 0) continue;
        if (bytes > sizeof p->usual[what] || real->DescGet(desc, what, &p->usual[what], bytes, &written))
            return false;
        p->bytes[what] = (unsigned char)bytes;
    }
    return true;
}

/* Another value is stored as it is, and changes nothing else. */
static bool find_place(struct places *p, int what, const union desc *plain)
{
    union desc changed = *plain;
    const size_t bytes = p->bytes[what];
    const uint64_t other = p->usual[what] ^ 1;
    size_t at = sizeof p->version;
    if (p->real->DescSet((lt_desc)(void *)&changed, what, &other, bytes)) return false;
    while (at + bytes < sizeof changed && changed.byte[at] == plain->byte[at]) at++;
    if (memcmp(&changed.byte[at], &other, bytes) != 0) return false;
    memcpy(&changed.byte[at], &p->usual[what], bytes);
    p->at[what] = (uint16_t)at;
    return memcmp(&changed, plain, sizeof changed) == 0;
}

/* No smaller descriptor has this version. */
static bool version_tells_size(const struct places *p)
{
    union desc smaller;
    for (size_t bytes = 4; bytes < 8 * p->words; bytes += 4)
        if (make(p->real, bytes, &smaller) && version_of(&smaller) == p->version) return false;
    return true;
}

static bool find_places(struct places *p, const union desc *plain)
{
    unsigned char *const mask = (unsigned char *)p->mask;
    if (!p->real->DescSet) return false;
    p->version = version_of(plain);
    for (int what = 0; what < ATTRIBUTES; what++) {
        const size_t bytes = p->bytes[what];
        if (!bytes) continue;
        if (!find_place(p, what, plain)) return false;
        const size_t words = (p->at[what] + bytes + 7) / 8;
        if (words > p->words) p->words = words;
        if (!is_read_elsewhere(what)) memset(mask + p->at[what], 0xff, bytes);
        if (what != LT_DESC_BIAS_POINTER) memset((unsigned char *)p->said + p->at[what], 0xff, bytes);
    }
    memcpy(p->wanted, plain, sizeof p->wanted);
    return p->words > 0 && version_tells_size(p);
}

/* No version has one so far. */
static void list_layout_attributes(struct places *p)
{
    const struct real_lt *real = p->real;
    uint64_t room[WORDS] = {0};
    const lt_layout plain = (lt_layout)(void *)room;
    size_t bytes, written;
    if (!real->LayoutInit || real->LayoutInit(plain, sizeof room, BLAS_R_32F, 1, 1, 1)) return;
    for (unsigned what = LT_LAYOUT_BATCH_MODE + 1; what < 8 * sizeof p->layout_known; what++) {
        bytes = 0;
        if (real->LayoutGet(plain, (int)what, NULL, 0, &bytes) || bytes == 0) continue;
        p->layout_known |= UINT64_C(1) << what;
        if (bytes > sizeof p->layout_usual[what] ||
            real->LayoutGet(plain, (int)what, &p->layout_usual[what], bytes, &written))
            continue; /* layout_bytes is 0: none is usual */
        p->layout_bytes[what] = (unsigned char)bytes;
    }
}

static const struct places *search(const struct real_lt *real, int *free_place)
{
    for (*free_place = 0; *free_place < LIBRARIES; ++*free_place) {
        const struct places *p = atomic_load_explicit(&known[*free_place], memory_order_acquire);
        if (!p || p->real == real) return p;
    }
    return NULL;
}

/* NULL: no room. It is kept until the process ends. */
static const struct places *learn(const struct real_lt *real)
{
    union desc plain;
    int at;
    pthread_mutex_lock(&lock);
    const struct places *p = search(real, &at);
    struct places *fresh = p || at == LIBRARIES ? NULL : calloc(1, sizeof *fresh);
    if (fresh) {
        fresh->real = real;
        fresh->listed = list_attributes(fresh, &plain);
        fresh->found = fresh->listed && find_places(fresh, &plain);
        list_layout_attributes(fresh);
        atomic_store_explicit(&known[at], fresh, memory_order_release);
        p = fresh;
    }
    pthread_mutex_unlock(&lock);
    return p; /* NOLINT: kept in known */
}

static const struct places *places_of(const struct real_lt *real)
{
    int at;
    const struct places *p = search(real, &at);
    return p ? p : learn(real);
}

/* ---- one descriptor ---- */

static bool is_found(const struct places *p, const void *desc)
{
    return p && p->found && version_of(desc) == p->version;
}

bool lt_desc_read(const struct matmul *x, int what, void *value, size_t bytes)
{
    const struct places *p = places_of(x->real);
    size_t written;
    if (!is_found(p, x->desc)) return !x->real->DescGet(x->desc, what, value, bytes, &written);
    if (p->bytes[what] != bytes) return false;
    memcpy(value, (const char *)x->desc + p->at[what], bytes);
    return true;
}

/* Asks for each attribute. */
static bool is_usual_by_queries(const struct places *p, const struct matmul *x)
{
    for (int what = 0; what < ATTRIBUTES; what++) {
        uint64_t value = 0;
        size_t written;
        if (!p->bytes[what] || is_read_elsewhere(what)) continue;
        /* A descriptor of an older form has no such attribute. */
        if (x->real->DescGet(x->desc, what, &value, p->bytes[what], &written)) continue;
        if (value != p->usual[what]) return false;
    }
    return true;
}

bool lt_desc_is_usual(const struct matmul *x)
{
    const struct places *p = places_of(x->real);
    uint64_t different = 0, word;
    if (!p || !p->listed) return false;
    if (!is_found(p, x->desc)) return is_usual_by_queries(p, x);
    for (size_t i = 0; i < p->words; i++) {
        memcpy(&word, (const char *)x->desc + 8 * i, sizeof word);
        different |= (word ^ p->wanted[i]) & p->mask[i];
    }
    return !different;
}

bool lt_layout_is_usual(const struct real_lt *real, lt_layout layout)
{
    const struct places *p = places_of(real);
    if (!p) return false;
    for (uint64_t left = p->layout_known; left; left &= left - 1) {
        const int what = __builtin_ctzll(left);
        uint64_t value = 0;
        size_t written;
        if (!p->layout_bytes[what] ||
            real->LayoutGet(layout, what, &value, p->layout_bytes[what], &written) ||
            value != p->layout_usual[what])
            return false;
    }
    return true;
}

size_t lt_desc_words(const struct matmul *x, uint64_t words[LT_DESC_WORDS])
{
    const struct places *p = places_of(x->real);
    if (!is_found(p, x->desc) || p->bytes[LT_DESC_BIAS_POINTER] != sizeof(void *)) return 0;
    memcpy(words, x->desc, p->words * sizeof *words);
    for (size_t i = 0; i < p->words; i++) words[i] &= p->said[i];
    return p->words;
}

const void *lt_desc_bias(const struct matmul *x)
{
    const void *bias = NULL;
    lt_desc_read(x, LT_DESC_BIAS_POINTER, &bias, sizeof bias);
    return bias;
}
