/* oracle.cu — the judge's own kernels: operands from a seed, the right C in FP64, and how far a C is from it.
 *
 * Plain on purpose: they judge every other kernel, so they must be right by reading. Nothing here is shared
 * with the kernel templates. All are grid-stride: any grid serves any size.
 *
 *   fill         elements from a seed
 *   reference    partial sums of A*B and |A||B|, one tile of 64 x 64 a block, splits of K over the grid's y
 *   finish       adds the splits, applies alpha and beta
 *   compare      |c - value| against its bound
 *   fingerprint  a hash of all elements
 *   untouched    guard bands and padding still hold the poison
 */
#include "oracle_args.h"

namespace
{

enum { TILE = 64, DEPTH = 16, SIDE = 16, EACH = TILE / SIDE, THREADS = SIDE * SIDE };

/* Visit every element: a warp takes a stretch of up to 1024 columns of one row at a time. */
template <typename Visit>
__device__ void each_element(long long batch, long long rows, long long cols, Visit visit)
{
    const long long stretch = 1024;
    long long stretches = (cols + stretch - 1) / stretch;
    long long warps = (long long)gridDim.x * (blockDim.x / 32);
    for (long long w = (long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
         w < batch * rows * stretches; w += warps) {
        long long line = w / stretches, from = (w - line * stretches) * stretch;
        long long item = line / rows, row = line - item * rows;
        long long to = from + stretch < cols ? from + stretch : cols;
        for (long long col = from + threadIdx.x % 32; col < to; col += 32) visit(item, row, col);
    }
}

__device__ bool is_finite(double x)
{
    return x - x == 0.0;
}

union both {
    float number;
    unsigned bits;
};

/* Non-negative floats are ordered as their bits are, infinity above all. */
__device__ unsigned bits_of(float x)
{
    union both both;
    both.number = x;
    return both.bits;
}

__device__ float infinity()
{
    union both both;
    both.bits = 0x7f800000;
    return both.number;
}

/* to[kk][i] = the element (first + i, k + kk) of an operand whose depth runs along its rows or down its
 * columns; 0 beyond its ends. Neighbouring threads read neighbouring words in both cases. */
__device__ void load_tile(double (*to)[TILE + 1], const float *from, long long ld, bool depth_in_row,
                          long long first, long long end, long long k, long long k_end)
{
    for (int n = threadIdx.x; n < TILE * DEPTH; n += THREADS) {
        int kk = depth_in_row ? n % DEPTH : n / TILE;
        int i = depth_in_row ? n / DEPTH : n % TILE;
        bool inside = first + i < end && k + kk < k_end;
        long long at = depth_in_row ? (first + i) * ld + k + kk : (k + kk) * ld + first + i;
        to[kk][i] = inside ? (double)from[at] : 0.0;
    }
}

/* Add to `total` what the threads of a block found, one atomic operation a block and kind. */
__device__ void merge(struct finding *total, const struct finding &mine)
{
    __shared__ struct finding all[THREADS];
    all[threadIdx.x] = mine;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half) {
            struct finding &x = all[threadIdx.x];
            const struct finding &y = all[threadIdx.x + half];
            x.wrong += y.wrong;
            x.hash += y.hash;
            if (y.not_first > x.not_first) x.not_first = y.not_first;
            if (y.worst > x.worst) x.worst = y.worst;
        }
        __syncthreads();
    }
    if (threadIdx.x != 0) return;
    atomicAdd(&total->hash, all[0].hash);
    atomicMax(&total->worst, all[0].worst);
    if (all[0].wrong == 0) return;
    atomicAdd(&total->wrong, all[0].wrong);
    atomicMax(&total->not_first, all[0].not_first);
}

} // namespace

extern "C" __global__ void __launch_bounds__(256) fill(struct fill_args p)
{
    each_element(p.to.batch, p.to.rows, p.to.cols, [&](long long item, long long row, long long col) {
        long long at = item * p.to.stride + row * p.to.ld + col;
        p.to.data[at] = oracle_value(p.rule, (oracle_u64)at);
    });
}

/* Grid: x = tiles of the piece, y = splits of K, z = batch items. */
extern "C" __global__ void __launch_bounds__(256) reference(struct reference_args p)
{
    __shared__ double a[DEPTH][TILE + 1], b[DEPTH][TILE + 1];
    long long n = p.c.cols, tiles_n = (n + TILE - 1) / TILE;
    long long row0 = p.piece.row + blockIdx.x / tiles_n * TILE, row_end = p.piece.row + p.piece.rows;
    long long col0 = blockIdx.x % tiles_n * TILE;
    long long k_begin = blockIdx.y * p.k_per_split;
    long long k_end = k_begin + p.k_per_split < p.k ? k_begin + p.k_per_split : p.k;
    int ty = threadIdx.x / SIDE, tx = threadIdx.x % SIDE;

    for (long long z = blockIdx.z; z < p.piece.items; z += gridDim.z) {
        const float *item_a = p.a.data + (p.piece.item + z) * p.a.stride;
        const float *item_b = p.b.data + (p.piece.item + z) * p.b.stride;
        double sum[EACH][EACH] = {}, mass[EACH][EACH] = {};
        for (long long k = k_begin; k < k_end; k += DEPTH) {
            load_tile(a, item_a, p.a.ld, !p.trans_a, row0, row_end, k, k_end);
            load_tile(b, item_b, p.b.ld, p.trans_b, col0, n, k, k_end);
            __syncthreads();
#pragma unroll 4
            for (int kk = 0; kk < DEPTH; kk++)
#pragma unroll
                for (int i = 0; i < EACH; i++)
#pragma unroll
                    for (int j = 0; j < EACH; j++) {
                        double x = a[kk][ty + i * SIDE], y = b[kk][tx + j * SIDE];
                        sum[i][j] += x * y;
                        mass[i][j] += fabs(x) * fabs(y);
                    }
            __syncthreads();
        }
        struct partial *out = p.partial + (blockIdx.y * p.piece.items + z) * p.piece.rows * n;
        for (int i = 0; i < EACH; i++)
            for (int j = 0; j < EACH; j++) {
                long long row = row0 + ty + i * SIDE, col = col0 + tx + j * SIDE;
                if (row < row_end && col < n) out[(row - p.piece.row) * n + col] = {sum[i][j], mass[i][j]};
            }
    }
}

extern "C" __global__ void __launch_bounds__(256) finish(struct reference_args p)
{
    long long n = p.c.cols, elements = p.piece.items * p.piece.rows * n;
    struct finding mine = {};
    each_element(p.piece.items, p.piece.rows, n, [&](long long z, long long r, long long col) {
        long long at = (z * p.piece.rows + r) * n + col;
        double value = 0, mass = 0;
        if (p.alpha != 0 && p.k > 0) { /* else A and B are not looked at */
            for (int s = 0; s < p.splits; s++) {
                value += p.partial[s * elements + at].sum;
                mass += p.partial[s * elements + at].mass;
            }
            value *= p.alpha;
            mass *= fabs(p.alpha);
        }
        if (p.beta != 0) { /* else C is not looked at */
            double c = p.c.data[(p.piece.item + z) * p.c.stride + (p.piece.row + r) * p.c.ld + col] * p.beta;
            value += c;
            mass += fabs(c);
        }
        float rounded = (float)(mass * 1.0000002); /* never below mass */
        p.value[p.piece.offset + at] = value;
        p.mass[p.piece.offset + at] = rounded;
        if (bits_of(rounded) > mine.worst) mine.worst = bits_of(rounded);
    });
    atomicMax(p.largest_mass, mine.worst);
}

namespace
{

/* How far c is from what is wanted, in units of what is allowed: at most 1 is right. */
__device__ float judged(double got, double want, double allowed)
{
    if (got == want || (got != got && want != want)) return 0.0f;
    if (!is_finite(got) || !is_finite(want)) return infinity();
    double error = fabs(got - want);
    if (allowed <= 0) return infinity();
    float ratio = (float)(error / allowed);
    return error > allowed && ratio <= 1.0f ? 1.0000002f : ratio;
}

} // namespace

extern "C" __global__ void __launch_bounds__(256) compare(struct compare_args p)
{
    long long n = p.c.cols;
    struct finding mine = {};
    each_element(p.piece.items, p.piece.rows, n, [&](long long z, long long r, long long col) {
        long long at = p.piece.offset + (z * p.piece.rows + r) * n + col;
        double got = p.c.data[(p.piece.item + z) * p.c.stride + (p.piece.row + r) * p.c.ld + col];
        double allowed = p.mass ? p.slope * p.mass[at] + p.rounding * fabs(got) : 0.0;
        float ratio = judged(got, p.value[at], allowed);
        if (bits_of(ratio) > mine.worst) mine.worst = bits_of(ratio);
        if (ratio > 1.0f) {
            mine.wrong++;
            if (~(oracle_u64)at > mine.not_first) mine.not_first = ~(oracle_u64)at;
        }
    });
    merge(p.finding, mine);
}

/* A sum of mixed (place, bits) pairs: the order in which threads add does not matter. */
extern "C" __global__ void __launch_bounds__(256) fingerprint(struct scan_args p)
{
    struct finding mine = {};
    each_element(p.c.batch, p.c.rows, p.c.cols, [&](long long item, long long row, long long col) {
        long long at = item * p.c.stride + row * p.c.ld + col;
        mine.hash += oracle_mix(oracle_mix((oracle_u64)at + 1) ^ bits_of(p.c.data[at]));
    });
    merge(p.finding, mine);
}

extern "C" __global__ void __launch_bounds__(256) untouched(struct scan_args p)
{
    struct finding mine = {};
    long long threads = (long long)gridDim.x * blockDim.x;
    for (long long at = p.begin + (long long)blockIdx.x * blockDim.x + threadIdx.x; at < p.end;
         at += threads) {
        long long item = at >= 0 && p.c.batch > 1 && p.c.stride > 0 ? at / p.c.stride : 0;
        long long row = (at - item * p.c.stride) / p.c.ld, col = (at - item * p.c.stride) % p.c.ld;
        bool element = at >= 0 && item < p.c.batch && row < p.c.rows && col < p.c.cols;
        if (element || bits_of(p.c.data[at]) == p.poison) continue;
        mine.wrong++;
        oracle_u64 not_here = ~(oracle_u64)(at - p.begin);
        if (not_here > mine.not_first) mine.not_first = not_here;
    }
    merge(p.finding, mine);
}
