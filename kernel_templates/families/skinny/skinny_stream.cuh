/* SPDX-License-Identifier: MIT */
/* skinny_stream.cuh — a lane's part of the streamed operand: its columns and k, and the loads of its
 * fragments from global memory to registers. */
#ifndef GT_SKINNY_STREAM_CUH
#define GT_SKINNY_STREAM_CUH

/* Vectors that make up a lane's TX columns where the operand is contiguous across k. They are LANES_X vectors
 * apart. */
#define PIECES (STREAM_ALONG_K ? 1 : TX / VX)

struct place {
    int warp_x, warp_k, warp_r, lane_x, lane_k;
};

/* Neighbouring lanes lie along the direction that is contiguous in memory. */
static __device__ __forceinline__ struct place place_of(int thread)
{
    const int lane = thread % 32, warp = thread / 32;
    struct place p;
    p.lane_x = STREAM_ALONG_K ? lane / LANES_K : lane % LANES_X;
    p.lane_k = STREAM_ALONG_K ? lane % LANES_K : lane / LANES_X;
    p.warp_k = warp % WARPS_K;
    p.warp_x = warp / WARPS_K % WARPS_X;
    p.warp_r = warp / (WARPS_K * WARPS_X);
    return p;
}

/* A lane's first column within the tile: of a piece where the operand runs across k, of all TX neighbours
 * where it runs along k. */
static __device__ __forceinline__ int column_of(const struct place &place, int piece)
{
    if (STREAM_ALONG_K) return (place.warp_x * LANES_X + place.lane_x) * TX;
    return ((place.warp_x * PIECES + piece) * LANES_X + place.lane_x) * VX;
}

/* Data that several warps read should stay in L1 until the last of them has read it. */
static __device__ __forceinline__ void load_streamed(float *v, const float *from, bool valid)
{
    if constexpr (WARPS_R > 1) load_global<VX>(v, from, valid);
    else load_stream<VX>(v, from, valid);
}

/* K_LANE k of TX columns. Across k: consecutive k. Along k: VX consecutive k, the next ones LANES_K * VX
 * further on. */
struct fragment {
    float value[K_LANE * TX];

    __device__ __forceinline__ float at(int k, int x) const
    {
        return value[STREAM_ALONG_K ? x * K_LANE + k : k * TX + x];
    }
};

struct stream {
    const float *from[STREAM_ALONG_K ? TX : PIECES];
    long long ld;
    int k; /* of this lane within a step */

    __device__ __forceinline__ void start(const struct view &view, const struct place &place)
    {
        ld = view.stream_ld;
        k = place.warp_k * LANES_K * K_LANE + place.lane_k * (STREAM_ALONG_K ? VX : K_LANE);
        /* Columns beyond the edge read the elements at the edge, and are not stored. */
        if constexpr (STREAM_ALONG_K) {
#pragma unroll
            for (int x = 0; x < TX; x++) {
                const int column = view.first_column + column_of(place, 0) + x;
                const int inside = column < view.columns ? column : view.columns - 1;
                from[x] = view.stream + inside * ld + view.begin + k;
            }
        } else {
#pragma unroll
            for (int p = 0; p < PIECES; p++) {
                const int column = view.first_column + column_of(place, p);
                const int inside = column < view.columns ? column : view.columns - VX;
                from[p] = view.stream + inside + (view.begin + (long long)k) * ld;
            }
        }
    }

    /* Fetches a step's fragment and advances. If not `valid`, nothing is read. GUARD is for a step of only
     * `count` k: the rest is zero. */
    template <bool GUARD> __device__ __forceinline__ void fetch(struct fragment &f, bool valid, int count)
    {
        if constexpr (GUARD)
#pragma unroll
            for (int i = 0; i < K_LANE * TX; i++) f.value[i] = 0.0f;
        if constexpr (STREAM_ALONG_K) {
#pragma unroll
            for (int x = 0; x < TX; x++) {
#pragma unroll
                for (int i = 0; i < K_LANE; i += VX)
                    load_streamed(f.value + x * K_LANE + i, from[x] + i * LANES_K,
                                  GUARD ? k + i * LANES_K < count : valid);
                from[x] += GUARD ? count : STEP_K;
            }
        } else {
            const long long on = (GUARD ? count : STEP_K) * ld;
#pragma unroll
            for (int i = 0; i < K_LANE; i++)
#pragma unroll
                for (int p = 0; p < PIECES; p++)
                    load_streamed(f.value + i * TX + p * VX, from[p] + i * ld, GUARD ? k + i < count : valid);
#pragma unroll
            for (int p = 0; p < PIECES; p++) from[p] += on;
        }
    }
};

#endif
