/* oracle_args.h — arguments of the judge's own kernels, and what its data are; read by the host (C) and by
 * oracle.cu. */
#ifndef GT_ORACLE_ARGS_H
#define GT_ORACLE_ARGS_H

#ifdef __CUDACC__
#define ORACLE_INLINE static __device__ inline
#else
#define ORACLE_INLINE static inline
#endif

typedef unsigned long long oracle_u64;

/* A batch of row-major matrices in device memory, in elements. */
struct matrices {
    float *data;
    long long rows, cols, ld, batch, stride;
};

/* What the elements of an operand are. An element depends on the seed and on where it lies, counted from the
 * first one, so that batch items that overlap agree. */
struct fill_rule {
    oracle_u64 seed;
    int range;     /* whole numbers in -range..range; 0: uniform in [-1, 1) */
    unsigned keep; /* elements whose hash is above this are 0; ~0u keeps all */
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
        return (float)((int)((bits >> 40) % (oracle_u64)values) - rule.range);
    }
    return (float)((int)(bits >> 40) - (1 << 23)) * (1.0f / (1 << 23)); /* 24 bits: exact */
}

/* A rectangle of C's elements: batch items item .. item+items-1, in each the rows row .. row+rows-1, all
 * columns. Its answers are stored compactly, item by item, row by row. */
struct piece {
    long long item, items, row, rows;
    long long offset; /* of its first answer among all answers */
};

struct partial {
    double sum, mass; /* of a*b and of |a*b| over a part of K */
};

struct reference_args {
    struct matrices a, b, c; /* stored shapes; c as it is before the call */
    struct piece piece;
    struct partial *partial; /* splits * items * rows * n */
    double *value;           /* out, at piece.offset: the right C */
    float *mass;             /* out, at piece.offset: |alpha| |A||B| + |beta C|, not rounded down */
    unsigned *largest_mass;  /* out: bits of the largest mass as a float */
    int trans_a, trans_b;
    long long k;
    int splits;
    long long k_per_split; /* multiple of 16 */
    double alpha, beta;
};

/* All zero: nothing found. */
struct finding {
    oracle_u64 wrong;     /* how many elements */
    oracle_u64 not_first; /* complement of the first one's index: of an answer, or of a word from where a scan
                             began */
    oracle_u64 hash;      /* of all elements with their places; equal bits give equal hashes */
    unsigned worst;       /* bits of the largest error / bound as a float */
};

struct compare_args {
    struct matrices c;
    struct piece piece;
    const double *value;
    const float *mass;      /* null: exactly equal is asked for */
    double slope, rounding; /* bound = slope * mass + rounding * |c| */
    struct finding *finding;
};

struct scan_args {
    struct matrices c;
    long long begin, end; /* words, counted from C's first element; begin may be negative */
    unsigned poison;      /* what every word that is no element must still be */
    struct finding *finding;
};

struct fill_args {
    struct matrices to;
    struct fill_rule rule;
};

#endif
