/* oracle_args.h — arguments of the judge's own kernels, and what its data are; read by the host (C) and by
 * oracle.cu. */
#ifndef GT_ORACLE_ARGS_H
#define GT_ORACLE_ARGS_H

#include "operand.h"

#ifdef __CUDACC__
#define ORACLE_INLINE static __device__ inline
#else
#define ORACLE_INLINE static inline
#endif

typedef unsigned long long oracle_u64;

/* Element types, with the values of enum element (gemm_type.h). */
enum { ORACLE_F32, ORACLE_F16, ORACLE_BF16 };

/* With the values of enum epilogue_bias and enum epilogue_activation (epilogue.h). */
enum { ORACLE_BIAS_NONE, ORACLE_BIAS_COLUMN, ORACLE_BIAS_ROW };
enum { ORACLE_ACTIVATION_NONE, ORACLE_ACTIVATION_RELU, ORACLE_ACTIVATION_GELU };

/* A batch of row-major matrices in device memory, in elements. */
struct matrices {
    void *data;
    long long rows, cols, ld, batch, stride;
    int element;
};

union oracle_word {
    float number;
    unsigned bits;
};

ORACLE_INLINE unsigned oracle_bits(float x)
{
    union oracle_word word;
    word.number = x;
    return word.bits;
}

ORACLE_INLINE float oracle_number(unsigned bits)
{
    union oracle_word word;
    word.bits = bits;
    return word.number;
}

/* The nearest value of the element type, ties to even. */
ORACLE_INLINE unsigned oracle_rounded(int element, float x)
{
    const unsigned bits = oracle_bits(x), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    if (element == ORACLE_F32) return bits;
    if (size > 0x7f800000u) return sign | (element == ORACLE_F16 ? 0x7e00u : 0x7fc0u); /* NaN */
    if (element == ORACLE_BF16) return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    if (size >= 0x477ff000u) return sign | 0x7c00u; /* infinity from 65520 on */
    /* Below 2^-14 an element is a multiple of 2^-24, like a float from 0.5 to 1. */
    if (size < 0x38800000u) return sign | (oracle_bits(oracle_number(size) + 0.5f) - 0x3f000000u);
    return sign | ((size + 0xfffu + (size >> 13 & 1u) - 0x38000000u) >> 13);
}

ORACLE_INLINE float oracle_widened(int element, unsigned bits)
{
    const unsigned sign = (bits & 0x8000u) << 16, size = bits & 0x7fffu;
    if (element == ORACLE_F32) return oracle_number(bits);
    if (element == ORACLE_BF16) return oracle_number(bits << 16);
    if (size >= 0x7c00u) return oracle_number(sign | 0x7f800000u | (size & 0x3ffu) << 13);
    /* The bits are those of the number times 2^-112, also for subnormal numbers. */
    return oracle_number(sign | oracle_bits(oracle_number(size << 13) * 0x1p112f));
}

/* Elements as their bits. */
ORACLE_INLINE unsigned oracle_load(int element, const void *data, long long at)
{
    return element == ORACLE_F32 ? ((const unsigned *)data)[at] : ((const unsigned short *)data)[at];
}

ORACLE_INLINE void oracle_store(int element, void *data, long long at, unsigned bits)
{
    if (element == ORACLE_F32) ((unsigned *)data)[at] = bits;
    else ((unsigned short *)data)[at] = (unsigned short)bits;
}

/* Kinds of values that are not integers. */
enum oracle_data {
    ORACLE_UNIFORM,   /* in [-1, 1) */
    ORACLE_POSITIVE,  /* in [0, 1) */
    ORACLE_NORMAL,    /* standard deviation 1: a sum of 16 uniform values */
    ORACLE_LOGNORMAL, /* positive: powers of 2 with a normal exponent, but straight between whole ones */
    ORACLE_NEAR_ONE,  /* in [1, 1 + 2^-10) */
    ORACLE_HUGE,      /* uniform up to the largest float */
    ORACLE_TINY,      /* uniform up to 2^-30 */
    ORACLE_UP,        /* uniform, times 2^g with a g of -40 to 40 for each line along the axis */
    ORACLE_DOWN,      /* the same, times 2^-g */
    ORACLE_OUTLIERS,  /* uniform, times 2^7 in about one line of 64 along the axis */
    ORACLE_SPIKES,    /* uniform, times 2^40 in about one element of 512 */
    ORACLE_PAIRED,    /* uniform; along the axis every second element is the one before it */
    ORACLE_OPPOSED,   /* the same with the opposite sign, and smaller by 2^-12 of it */
    /* Uniform, but in about one pair of lines of 64 along the axis: */
    ORACLE_FAR_PAIRED, /* both elements are the first one times 2^40 */
    ORACLE_FAR_OPPOSED /* the second one is the first one with the opposite sign */
};

/* The direction in which neighbours are related: from row to row, or from column to column. */
enum oracle_axis { ORACLE_AXIS_ROWS, ORACLE_AXIS_COLUMNS };

/* How the elements of an operand are generated. An element depends on the seed and on its offset from the
 * first one, so that overlapping batch items agree. */
struct fill_rule {
    oracle_u64 seed;
    oracle_u64 grades; /* seed of g */
    int range;         /* integers in shift-range..shift+range; 0: the kind `data` */
    int shift;         /* of the integers */
    unsigned keep;     /* elements whose hash is above this are 0; ~0u keeps all */
    int data;          /* enum oracle_data */
    int axis;          /* enum oracle_axis */
    int unused;        /* no gaps: rules are compared byte by byte */
};

/* splitmix64 (Steele, Lea, Flood 2014). */
ORACLE_INLINE oracle_u64 oracle_mix(oracle_u64 x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

ORACLE_INLINE float oracle_value(struct fill_rule rule, oracle_u64 offset)
{
    oracle_u64 bits = oracle_mix(rule.seed + (offset + 1) * 0x9e3779b97f4a7c15ull);
    if ((unsigned)(bits & 0xffffffffu) > rule.keep) return 0.0f;
    if (rule.range > 0) {
        int values = 2 * rule.range + 1;
        return (float)((int)((bits >> 40) % (oracle_u64)values) - rule.range + rule.shift);
    }
    return (float)((int)(bits >> 40) - (1 << 23)) * (1.0f / (1 << 23)); /* 24 bits: exact */
}

/* 2^e for e of -126 to 127. */
ORACLE_INLINE float oracle_power(int e)
{
    return oracle_number((unsigned)(127 + e) << 23);
}

/* x is the uniform value of the same hash. */
ORACLE_INLINE float oracle_normal(oracle_u64 bits, float x)
{
    int sum = 0;
    for (int i = 0; i < 16; i++) {
        if (i % 4 == 0) bits = oracle_mix(bits + 0x9e3779b97f4a7c15ull);
        sum += (int)(bits >> i % 4 * 16 & 0xffffu);
    }
    return ((float)(sum - 8 * 65535) + x) * (1.0f / 75674.0f); /* 4 * 65536 / sqrt(12) */
}

/* The element at (row, col), which is at offset row * ld + col. */
ORACLE_INLINE float oracle_element(struct fill_rule rule, oracle_u64 offset, oracle_u64 row, oracle_u64 col,
                                   oracle_u64 ld)
{
    const oracle_u64 index = rule.axis == ORACLE_AXIS_ROWS ? row : col;
    const int far = rule.data >= ORACLE_FAR_PAIRED && oracle_mix(rule.grades + index / 2 + 1) % 64 == 0;
    const int paired = far || rule.data == ORACLE_PAIRED || rule.data == ORACLE_OPPOSED;
    const int second = paired && index % 2 == 1;
    if (second) offset -= rule.axis == ORACLE_AXIS_ROWS ? ld : 1;
    const float x = oracle_value(rule, offset);
    const oracle_u64 bits = oracle_mix(rule.seed + (offset + 1) * 0x9e3779b97f4a7c15ull);
    const int g = (int)(oracle_mix(rule.grades + index + 1) % 81) - 40;
    float whole, y;
    if (rule.range > 0) return x;
    switch (rule.data) {
    case ORACLE_POSITIVE:
        return (x + 1) * 0.5f;
    case ORACLE_NORMAL:
        return oracle_normal(bits, x);
    case ORACLE_LOGNORMAL:
        y = 1.5f * oracle_normal(bits, x);
        whole = (float)(int)(y + 64) - 64;
        return oracle_power((int)whole) * (1 + (y - whole));
    case ORACLE_NEAR_ONE:
        return 1 + (float)(bits >> 51) * 0x1p-23f;
    case ORACLE_HUGE:
        return x * 0x1.fffffep127f;
    case ORACLE_TINY:
        return x * 0x1p-30f;
    case ORACLE_UP:
        return x * oracle_power(g);
    case ORACLE_DOWN:
        return x * oracle_power(-g);
    case ORACLE_OUTLIERS:
        return oracle_mix(rule.grades + index + 1) % 64 == 0 ? x * 0x1p7f : x;
    case ORACLE_SPIKES:
        return oracle_mix(bits) % 512 == 0 ? x * 0x1p40f : x;
    case ORACLE_OPPOSED:
        return second ? x * 0x1p-12f - x : x;
    case ORACLE_FAR_PAIRED:
        return far ? x * 0x1p40f : x;
    case ORACLE_FAR_OPPOSED:
        return second ? -x : x;
    default:
        return x;
    }
}

/* A rectangle of C's elements: batch items item .. item+items-1, of each the rows row .. row+rows-1 and the
 * columns col .. col+cols-1. Its answers are stored compactly, item by item, row by row. */
struct piece {
    long long item, items, row, rows, col, cols;
    long long offset; /* of its first answer among all answers */
};

struct partial {
    double sum, mass; /* of a*b and of |a*b| over a part of K */
};

struct reference_args {
    struct matrices a, b, c; /* stored shapes; c as it is before the call */
    struct piece piece;
    struct partial *partial; /* splits * items * rows * cols */
    double *value;           /* out, at piece.offset: the right C */
    float *mass;             /* out, at piece.offset: |alpha| |A||B| + |beta C|, not rounded down */
    unsigned *largest_mass;  /* out: bits of the largest mass as a float */
    unsigned *largest_value; /* out: bits of the largest |value| as a float, rounded to nearest */
    int trans_a, trans_b;
    long long k;
    int splits;
    long long k_per_split; /* multiple of 16 */
    double alpha, beta;
};

/* Words of memory that are read and written again as they are. */
struct rewrite_args {
    oracle_u64 *words; /* of 8 bytes */
    long long count;
    oracle_u64 nothing; /* 0, which the compiler does not know: else it would leave the store out */
};

/* C = activation(alpha op(A) op(B) + bias), each element the sum of its products in the order of k by FFMA.
 */
struct in_order_args {
    struct matrices at[OPERANDS]; /* of one item */
    int trans_a, trans_b;
    int bias_is, activation;
    long long k;
    float alpha;
};

/* The epilogue after the product: value = activation(value + bias), for the answers of a piece. */
struct epilogue_args {
    struct piece piece;
    struct matrices at[OPERANDS]; /* the bias: one for each column of C, or for each row */
    int bias_is, activation;
    double *value;
    float *mass;   /* in and out; of the product and the bias */
    int mass_of_x; /* the mass becomes the magnitude of what the activation is applied to */
    unsigned *largest_mass, *largest_value; /* out: as in reference_args */
};

/* All zero: nothing found. */
struct finding {
    oracle_u64 wrong;     /* number of elements */
    oracle_u64 not_first; /* complement of the first one's index: of an answer, or of an element from
                             where a scan began */
    oracle_u64 hash;      /* of all elements and their positions; equal bits give equal hashes */
    unsigned worst;       /* bits of the largest error / bound as a float */
    /* Errors: bits of the largest |c - ref| / mass and of the largest |c - ref|, and the sum of their
     * squares. */
    unsigned componentwise, largest;
    double squares;
};

struct compare_args {
    struct matrices c;
    struct piece piece;
    const double *value;
    const float *mass;      /* null: exact equality is required, and errors are not measured */
    double slope, rounding; /* bound = slope * mass + rounding * |c| */
    struct finding *finding;
};

struct scan_args {
    struct matrices c;
    long long begin, end; /* elements from C's first one; begin may be negative */
    unsigned poison;      /* required content of all memory that is not an element: bits of an element */
    struct finding *finding;
};

/* Of every ninth row or column of a matrix only the first element is left; the others are 0. Nine has no
 * divisor in common with the sizes of tiles. */
enum oracle_thinning { ORACLE_KEEP_ALL, ORACLE_THIN_ROWS, ORACLE_THIN_COLUMNS };

ORACLE_INLINE int oracle_thinned(int thinning, long long row, long long col)
{
    if (thinning == ORACLE_THIN_ROWS) return row % 9 == 8 && col != 0;
    return thinning == ORACLE_THIN_COLUMNS && col % 9 == 8 && row != 0;
}

struct fill_args {
    struct matrices to;
    struct fill_rule rule;
    int thinning; /* enum oracle_thinning */
};

/* to[i] = the address of the matrix at place (step * i + first) mod batch. */
struct addresses_args {
    oracle_u64 *to;
    struct matrices of;
    long long step, first;
};

#endif
