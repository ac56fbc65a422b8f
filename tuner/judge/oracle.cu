/* oracle.cu — the judge's own kernels: operands from a seed, the right C in FP64, and how far a C is from it.
 *
 * Plain on purpose: they judge every other kernel, so they must be right by reading. Nothing here is shared
 * with the kernel templates. All are grid-stride: any grid serves any size. Loops that are not unrolled are
 * kept so because the compiler would take longer than they do: a run starts with compiling this file.
 *
 *   fill         elements from a seed
 *   addresses    arrays of the addresses of batch items
 *   rewrite      what a kernel before the product does to A: reads it and writes it
 *   reference    partial sums of A*B and |A||B|, one tile of 64 x 64 per block, splits of K over the grid's y
 *   in_order     C in FP32, by FFMA in the order of k: what an accuracy class is compared with
 *   finish       adds the splits, applies alpha and beta
 *   epilogue     adds the bias, applies the activation
 *   compare      |c - value| against its bound, and against |A||B| and the largest value
 *   fingerprint  a hash of all elements
 *   untouched    guard bands and padding still hold the poison
 */
#include "oracle_args.h"

/* The types of A, B and C are macros (oracle_build.c defines them), so that the inner loop has no branch on
 * them. */
#ifndef ORACLE_A
#define ORACLE_A ORACLE_F32
#define ORACLE_B ORACLE_F32
#define ORACLE_C ORACLE_F32
#endif

/* Which parts are compiled: 1 operands and the end of a reference, 2 its sums, 4 the verdict. They take about
 * as long each (oracle_build.h). */
#ifndef ORACLE_PARTS
#define ORACLE_PARTS 7
#endif

namespace
{

enum { TILE = 64, DEPTH = 16, SIDE = 16, EACH = TILE / SIDE, THREADS = SIDE * SIDE };

/* Visits every element: a warp takes up to 1024 columns of one row at a time. */
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

__device__ float infinity()
{
    return oracle_number(0x7f800000u);
}

template <int ELEMENT> __device__ double element_of(const struct matrices &x, long long at)
{
    return (double)oracle_widened(ELEMENT, oracle_load(ELEMENT, x.data, at));
}

/* Non-negative floats have the same order as their bits; infinity is the largest. */
__device__ void keep_largest(unsigned &largest, float x)
{
    if (oracle_bits(x) > largest) largest = oracle_bits(x);
}

/* to[kk][i] = the element (first + i, k + kk) of an operand whose k lies along its rows or its columns; 0
 * beyond its edges. Neighbouring threads read neighbouring words in both cases. */
template <int ELEMENT>
__device__ void load_tile(double (*to)[TILE + 1], const struct matrices &from, long long item,
                          bool depth_in_row, long long first, long long end, long long k, long long k_end)
{
    for (int n = threadIdx.x; n < TILE * DEPTH; n += THREADS) {
        int kk = depth_in_row ? n % DEPTH : n / TILE;
        int i = depth_in_row ? n / DEPTH : n % TILE;
        bool inside = first + i < end && k + kk < k_end;
        long long at = depth_in_row ? (first + i) * from.ld + k + kk : (k + kk) * from.ld + first + i;
        to[kk][i] = inside ? element_of<ELEMENT>(from, item * from.stride + at) : 0.0;
    }
}

/* Adds the findings of a block's threads to `total`, with one atomic operation per block and kind. */
__device__ void merge(struct finding *total, const struct finding &mine)
{
    __shared__ struct finding all[THREADS];
    all[threadIdx.x] = mine;
    __syncthreads();
#pragma unroll 1
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half) {
            struct finding &x = all[threadIdx.x];
            const struct finding &y = all[threadIdx.x + half];
            x.wrong += y.wrong;
            x.hash += y.hash;
            if (y.not_first > x.not_first) x.not_first = y.not_first;
            if (y.worst > x.worst) x.worst = y.worst;
            if (y.componentwise > x.componentwise) x.componentwise = y.componentwise;
            if (y.largest > x.largest) x.largest = y.largest;
            x.squares += y.squares;
        }
        __syncthreads();
    }
    if (threadIdx.x != 0) return;
    atomicAdd(&total->hash, all[0].hash);
    atomicMax(&total->worst, all[0].worst);
    atomicMax(&total->componentwise, all[0].componentwise);
    atomicMax(&total->largest, all[0].largest);
    if (all[0].squares != 0) atomicAdd(&total->squares, all[0].squares);
    if (all[0].wrong == 0) return;
    atomicAdd(&total->wrong, all[0].wrong);
    atomicMax(&total->not_first, all[0].not_first);
}

} // namespace

#if ORACLE_PARTS & 1

extern "C" __global__ void __launch_bounds__(256) fill(struct fill_args p)
{
    each_element(p.to.batch, p.to.rows, p.to.cols, [&](long long item, long long row, long long col) {
        long long at = item * p.to.stride + row * p.to.ld + col;
        float value = oracle_thinned(p.thinning, row, col)
                          ? 0.0f
                          : oracle_element(p.rule, (oracle_u64)at, row, col, p.to.ld);
        oracle_store(p.to.element, p.to.data, at, oracle_rounded(p.to.element, value));
    });
}

extern "C" __global__ void __launch_bounds__(256) addresses(struct addresses_args p)
{
    const long long threads = (long long)gridDim.x * blockDim.x;
    const long long bytes = p.of.stride * (p.of.element == ORACLE_F32 ? 4 : 2);
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < p.of.batch; i += threads)
        p.to[i] = (oracle_u64)p.of.data + (oracle_u64)((i * p.step + p.first) % p.of.batch * bytes);
}

/* Each thread reads four words before it writes them, so that memory is busy. */
extern "C" __global__ void __launch_bounds__(256) rewrite(struct rewrite_args p)
{
    const long long threads = (long long)gridDim.x * blockDim.x;
#pragma unroll 1
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < p.count; at += 4 * threads) {
        oracle_u64 word[4];
        for (int i = 0; i < 4; i++)
            if (at + i * threads < p.count) word[i] = p.words[at + i * threads] ^ p.nothing;
        for (int i = 0; i < 4; i++)
            if (at + i * threads < p.count) p.words[at + i * threads] = word[i];
    }
}

#endif
#if ORACLE_PARTS & 2

/* Grid: x = tiles of the piece, y = splits of K, z = batch items. */
extern "C" __global__ void __launch_bounds__(256) reference(struct reference_args p)
{
    __shared__ double a[DEPTH][TILE + 1], b[DEPTH][TILE + 1];
    long long n = p.piece.cols, tiles_n = (n + TILE - 1) / TILE;
    long long row0 = p.piece.row + blockIdx.x / tiles_n * TILE, row_end = p.piece.row + p.piece.rows;
    long long col0 = p.piece.col + blockIdx.x % tiles_n * TILE, col_end = p.piece.col + n;
    long long k_begin = blockIdx.y * p.k_per_split;
    long long k_end = k_begin + p.k_per_split < p.k ? k_begin + p.k_per_split : p.k;
    int ty = threadIdx.x / SIDE, tx = threadIdx.x % SIDE;

    for (long long z = blockIdx.z; z < p.piece.items; z += gridDim.z) {
        const long long item = p.piece.item + z;
        double sum[EACH][EACH] = {}, mass[EACH][EACH] = {};
        for (long long k = k_begin; k < k_end; k += DEPTH) {
            load_tile<ORACLE_A>(a, p.a, item, !p.trans_a, row0, row_end, k, k_end);
            load_tile<ORACLE_B>(b, p.b, item, p.trans_b, col0, col_end, k, k_end);
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
                if (row < row_end && col < col_end)
                    out[(row - p.piece.row) * n + col - p.piece.col] = {sum[i][j], mass[i][j]};
            }
    }
}

#endif
#if ORACLE_PARTS & 1

extern "C" __global__ void __launch_bounds__(256) finish(struct reference_args p)
{
    long long n = p.piece.cols, elements = p.piece.items * p.piece.rows * n;
    struct finding mine = {};
    each_element(p.piece.items, p.piece.rows, n, [&](long long z, long long r, long long col) {
        long long at = (z * p.piece.rows + r) * n + col;
        double value = 0, mass = 0;
        if (p.alpha != 0 && p.k > 0) { /* else A and B are not read */
            for (int s = 0; s < p.splits; s++) {
                value += p.partial[s * elements + at].sum;
                mass += p.partial[s * elements + at].mass;
            }
            value *= p.alpha;
            mass *= fabs(p.alpha);
        }
        if (p.beta != 0) { /* else C is not read */
            double c = element_of<ORACLE_C>(p.c, (p.piece.item + z) * p.c.stride +
                                                     (p.piece.row + r) * p.c.ld + p.piece.col + col) *
                       p.beta;
            value += c;
            mass += fabs(c);
        }
        float rounded = (float)(mass * 1.0000002); /* never below mass */
        p.value[p.piece.offset + at] = value;
        p.mass[p.piece.offset + at] = rounded;
        keep_largest(mine.worst, rounded);
        if (is_finite(value)) keep_largest(mine.largest, (float)fabs(value));
    });
    atomicMax(p.largest_mass, mine.worst);
    atomicMax(p.largest_value, mine.largest);
}

namespace
{

/* NaN and infinity pass as the formulas say: GELU of minus infinity is NaN. */
__device__ double activated(int activation, double x)
{
    const double root = 0.79788456080286535588; /* sqrt(2 / pi) */
    if (activation == ORACLE_ACTIVATION_RELU) return x < 0 ? 0 : x;
    if (activation == ORACLE_ACTIVATION_GELU) return x / (1 + exp(-2 * root * (x + 0.044715 * x * x * x)));
    return x;
}

} // namespace

extern "C" __global__ void __launch_bounds__(256) epilogue(struct epilogue_args p)
{
    struct finding mine = {};
    long long n = p.piece.cols;
    each_element(p.piece.items, p.piece.rows, n, [&](long long z, long long r, long long col) {
        long long at = p.piece.offset + (z * p.piece.rows + r) * n + col;
        double x = p.value[at], mass = p.mass[at];
        if (p.bias_is != ORACLE_BIAS_NONE) {
            long long which = p.bias_is == ORACLE_BIAS_ROW ? p.piece.row + r : p.piece.col + col;
            const struct matrices &biases = p.at[OPERAND_BIAS];
            const long long place = (p.piece.item + z) * biases.stride + which;
            double bias = oracle_widened(biases.element, oracle_load(biases.element, biases.data, place));
            x += bias;
            mass += fabs(bias);
        }
        float rounded = (float)(mass * 1.0000002); /* never below mass */
        keep_largest(mine.worst, rounded);
        double value = activated(p.activation, x);
        p.value[at] = value;
        /* A finite answer to an infinite x, as ReLU has, must be met as exactly as any. */
        p.mass[at] = !is_finite(x) ? 0 : p.mass_of_x ? (float)(fabs(x) * 1.0000002) : rounded;
        if (is_finite(value)) keep_largest(mine.largest, (float)fabs(value));
    });
    atomicMax(p.largest_mass, mine.worst);
    atomicMax(p.largest_value, mine.largest);
}

extern "C" __global__ void __launch_bounds__(256) in_order(struct in_order_args p)
{
    const struct matrices &of_a = p.at[OPERAND_A], &of_b = p.at[OPERAND_B], &c = p.at[OPERAND_C];
    const float *bias = (const float *)p.at[OPERAND_BIAS].data;
    each_element(c.batch, c.rows, c.cols, [&](long long item, long long row, long long col) {
        const float *a = (const float *)of_a.data + item * of_a.stride + (p.trans_a ? row : row * of_a.ld);
        const float *b = (const float *)of_b.data + item * of_b.stride + (p.trans_b ? col * of_b.ld : col);
        const long long step_a = p.trans_a ? of_a.ld : 1, step_b = p.trans_b ? 1 : of_b.ld;
        float sum = 0.0f;
#pragma unroll 4
        for (long long k = 0; k < p.k; k++) sum = fmaf(a[k * step_a], b[k * step_b], sum);
        float x = p.alpha * sum;
        if (p.bias_is != ORACLE_BIAS_NONE) x += bias[p.bias_is == ORACLE_BIAS_ROW ? row : col];
        ((float *)c.data)[item * c.stride + row * c.ld + col] = (float)activated(p.activation, (double)x);
    });
}

#endif
#if ORACLE_PARTS & 4

namespace
{

/* The error of c relative to the allowed one: at most 1 is right. */
__device__ float judged(double got, double want, double allowed)
{
    if (got == want || (got != got && want != want)) return 0.0f;
    if (!is_finite(got) || !is_finite(want)) return infinity();
    double error = fabs(got - want);
    if (allowed <= 0) return infinity();
    float ratio = (float)(error / allowed);
    return error > allowed && ratio <= 1.0f ? 1.0000002f : ratio;
}

/* Records the error of c, independent of the allowed one. */
__device__ void measure(struct finding &mine, double got, double want, double mass)
{
    if (got == want || (got != got && want != want)) return;
    const bool known = is_finite(got) && is_finite(want);
    const double error = known ? fabs(got - want) : (double)infinity();
    keep_largest(mine.largest, (float)error);
    keep_largest(mine.componentwise, known && mass > 0 ? (float)(error / mass) : infinity());
    mine.squares += error * error;
}

} // namespace

extern "C" __global__ void __launch_bounds__(256) compare(struct compare_args p)
{
    long long n = p.piece.cols;
    struct finding mine = {};
    each_element(p.piece.items, p.piece.rows, n, [&](long long z, long long r, long long col) {
        long long at = p.piece.offset + (z * p.piece.rows + r) * n + col;
        double got = element_of<ORACLE_C>(p.c, (p.piece.item + z) * p.c.stride + (p.piece.row + r) * p.c.ld +
                                                   p.piece.col + col);
        double allowed = p.mass ? p.slope * p.mass[at] + p.rounding * fabs(got) : 0.0;
        float ratio = judged(got, p.value[at], allowed);
        keep_largest(mine.worst, ratio);
        if (p.mass) measure(mine, got, p.value[at], p.mass[at]);
        if (ratio > 1.0f) {
            mine.wrong++;
            if (~(oracle_u64)at > mine.not_first) mine.not_first = ~(oracle_u64)at;
        }
    });
    merge(p.finding, mine);
}

/* A sum over hashes of (position, bits): the order in which threads add does not matter. */
extern "C" __global__ void __launch_bounds__(256) fingerprint(struct scan_args p)
{
    struct finding mine = {};
    each_element(p.c.batch, p.c.rows, p.c.cols, [&](long long item, long long row, long long col) {
        long long at = item * p.c.stride + row * p.c.ld + col;
        mine.hash += oracle_mix(oracle_mix((oracle_u64)at + 1) ^ oracle_load(p.c.element, p.c.data, at));
    });
    merge(p.finding, mine);
}

extern "C" __global__ void __launch_bounds__(256) untouched(struct scan_args p)
{
    struct finding mine = {};
    long long threads = (long long)gridDim.x * blockDim.x;
#pragma unroll 1
    for (long long at = p.begin + (long long)blockIdx.x * blockDim.x + threadIdx.x; at < p.end;
         at += threads) {
        long long item = at >= 0 && p.c.batch > 1 && p.c.stride > 0 ? at / p.c.stride : 0;
        long long row = (at - item * p.c.stride) / p.c.ld, col = (at - item * p.c.stride) % p.c.ld;
        bool element = at >= 0 && item < p.c.batch && row < p.c.rows && col < p.c.cols;
        if (element || oracle_load(p.c.element, p.c.data, at) == p.poison) continue;
        mine.wrong++;
        oracle_u64 not_here = ~(oracle_u64)(at - p.begin);
        if (not_here > mine.not_first) mine.not_first = not_here;
    }
    merge(p.finding, mine);
}

#endif
