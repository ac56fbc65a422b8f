/* SPDX-License-Identifier: MIT */
#include "tensor_gpu.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime_api.h>

namespace
{

const size_t OPERANDS = static_cast<size_t>(3) << 30, WIDE = static_cast<size_t>(1) << 30,
             SCRATCH = static_cast<size_t>(512) << 20, WORKSPACE = static_cast<size_t>(256) << 20,
             ROTATION = static_cast<size_t>(160) << 20;
const int SETS_MOST = 400, LAUNCHES_MOST = 600;

/* As the kernels have them. */
struct tensor_args {
    CUdeviceptr a, b, c, workspace, arrivals;
    long long lda, ldb, ldc;
    int m, n, k;
    float alpha, beta;
};
struct comparison {
    float worst;
    unsigned untouched;
    unsigned long long sum;
};
struct repack_args {
    CUdeviceptr from, to;
    long long pitch, padded;
    int lines, width;
};

CUdeviceptr allocate(size_t bytes)
{
    CUdeviceptr p = 0;
    MUST(cuMemAlloc(&p, bytes));
    return p;
}

size_t round_up(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}
long padded(long width)
{
    return (width + 63) / 64 * 64;
} /* lines of repacked operands begin at 128 bytes */

unsigned short to_16_bits(float x, bool bf16)
{
    unsigned u;
    memcpy(&u, &x, sizeof u);
    if (bf16) return static_cast<unsigned short>(u >> 16);
    const int exponent = static_cast<int>(u >> 23 & 255) - 112;
    const unsigned sign = u >> 16 & 0x8000;
    return static_cast<unsigned short>(
        exponent <= 0 ? sign : sign | static_cast<unsigned>(exponent) << 10 | (u >> 13 & 1023));
}

void fill(CUdeviceptr to, size_t bytes, bool bf16, unsigned seed)
{
    const size_t count = static_cast<size_t>(1) << 26;
    static std::vector<unsigned short> some(count);
    for (unsigned short &x : some) {
        seed = seed * 1664525u + 1013904223u;
        x = to_16_bits(static_cast<float>(seed >> 8) * (1.0f / 8388608.0f) - 1.0f, bf16);
    }
    for (size_t at = 0; at < bytes; at += count * 2)
        MUST(cuMemcpyHtoD(to + at, some.data(), std::min(count * 2, bytes - at)));
}

} // namespace

void must(int error, const char *call, const char *file, int line)
{
    if (error == 0) return;
    fprintf(stderr, "tensor_bench: %s:%d: %s: error %d\n", file, line, call, error);
    exit(1);
}

kernel_source support_source(bool bf16, bool c_f32)
{
    return {"support.cu", {bf16 ? "-DBF16=1" : "-DBF16=0", c_f32 ? "-DC_F32=1" : "-DC_F32=0"}, 0};
}

gpu::gpu(const std::map<std::string, std::string> &cubins, const std::string &) : code(cubins)
{
    MUST(cuInit(0));
    CUdevice device;
    CUcontext context;
    MUST(cuDeviceGet(&device, 0));
    MUST(cuDevicePrimaryCtxRetain(&context, device));
    MUST(cuCtxSetCurrent(context));
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    MUST(cuEventCreate(&begin_event, CU_EVENT_DEFAULT));
    MUST(cuEventCreate(&end_event, CU_EVENT_DEFAULT));
    MUST(cublasCreate(&blas));
    MUST(cublasLtCreate(&lt));
    a = allocate(OPERANDS);
    b = allocate(OPERANDS);
    c = allocate(OPERANDS);
    packed_a = allocate(SCRATCH);
    packed_b = allocate(SCRATCH);
    work = allocate(WORKSPACE);
    sums = allocate(SCRATCH);
    arrivals = allocate(4 << 20);
    wide_a = allocate(WIDE);
    wide_b = allocate(WIDE);
    reference = allocate(WIDE);
    compared = allocate(sizeof(comparison));
    MUST(cuMemsetD32(arrivals, 0, 1 << 20));
    MUST(cublasSetStream(blas, stream));
    MUST(cublasSetWorkspace(blas, reinterpret_cast<void *>(work), WORKSPACE));
    for (int bf16 = 0; bf16 < 2; bf16++) {
        MUST(cuModuleLoadData(&support[bf16], code.at(support_source(bf16, false).key()).data()));
        MUST(cuModuleLoadData(&support_f32[bf16], code.at(support_source(bf16, true).key()).data()));
    }
}

std::string gpu::description() const
{
    char name[100];
    int driver = 0, runtime = 0;
    MUST(cuDeviceGetName(name, sizeof name, 0));
    MUST(cuDriverGetVersion(&driver));
    MUST(cudaRuntimeGetVersion(&runtime));
    return std::string(name) + ", CUDA of the driver " + std::to_string(driver) + ", runtime " +
           std::to_string(runtime) + ", cublasLt " + std::to_string(cublasLtGetVersion());
}

CUdeviceptr gpu::operand(CUdeviceptr base, size_t bytes, int set) const
{
    return base + bytes * static_cast<size_t>(set) + static_cast<size_t>(now.offset) * 2;
}

void gpu::start(const problem &p)
{
    static int filled = -1;
    if (filled != p.bf16) {
        fill(a, OPERANDS, p.bf16, 1);
        fill(b, OPERANDS, p.bf16, 77);
        filled = p.bf16;
    }
    now = p;
    const auto bytes = [&](long lines, long pitch, int element) {
        return round_up(static_cast<size_t>(lines * pitch + p.offset) * static_cast<size_t>(element));
    };
    bytes_a = bytes(p.lines_a(), p.lda, 2);
    bytes_b = bytes(p.lines_b(), p.ldb, 2);
    bytes_c = bytes(p.m, p.ldc, p.c_bytes());
    const size_t most = std::max({bytes_a, bytes_b, bytes_c});
    if (most > OPERANDS || bytes_a * 2 > WIDE || bytes_b * 2 > WIDE ||
        static_cast<size_t>(p.m * p.n) * 4 > WIDE) {
        fprintf(stderr, "tensor_bench: %s: larger than the buffers\n", p.text.c_str());
        exit(2);
    }
    sets = std::min(static_cast<int>(ROTATION / (bytes_a + bytes_b + bytes_c)) + 2, SETS_MOST);
    sets = std::min(sets, static_cast<int>(OPERANDS / most));

    const cudaDataType type = p.bf16 ? CUDA_R_16BF : CUDA_R_16F, type_c = p.c_f32 ? CUDA_R_32F : type;
    const cublasOperation_t transposed = CUBLAS_OP_T;
    MUST(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    if (p.trans_b)
        MUST(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                            sizeof transposed));
    if (p.trans_a)
        MUST(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSB, &transposed,
                                            sizeof transposed));
    const auto size = [](long x) { return static_cast<uint64_t>(x); };
    MUST(cublasLtMatrixLayoutCreate(&layout_a, type, size(p.width_a()), size(p.lines_a()), p.lda));
    MUST(cublasLtMatrixLayoutCreate(&layout_b, type, size(p.width_b()), size(p.lines_b()), p.ldb));
    MUST(cublasLtMatrixLayoutCreate(&layout_c, type_c, size(p.n), size(p.m), p.ldc));
    cublasLtMatmulPreference_t preference;
    MUST(cublasLtMatmulPreferenceCreate(&preference));
    MUST(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                              &WORKSPACE, sizeof WORKSPACE));
    const auto least_alignment = [&](cublasLtMatmulPreferenceAttributes_t which, long element) {
        const uint32_t bytes_of = static_cast<uint32_t>(p.offset == 0 ? 256 : element);
        MUST(cublasLtMatmulPreferenceSetAttribute(preference, which, &bytes_of, sizeof bytes_of));
    };
    least_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 2);
    least_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 2);
    least_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, p.c_bytes());
    least_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, p.c_bytes());
    heuristics.assign(200, {});
    int found = 0;
    cublasLtMatmulAlgoGetHeuristic(lt, operation, layout_b, layout_a, layout_c, layout_c, preference, 200,
                                   heuristics.data(), &found);
    heuristics.resize(static_cast<size_t>(found));
    MUST(cublasLtMatmulPreferenceDestroy(preference));
    make_reference();
}

void gpu::end()
{
    MUST(cuStreamSynchronize(stream));
    MUST(cublasLtMatrixLayoutDestroy(layout_a));
    MUST(cublasLtMatrixLayoutDestroy(layout_b));
    MUST(cublasLtMatrixLayoutDestroy(layout_c));
    MUST(cublasLtMatmulDescDestroy(operation));
}

bool gpu::launch_kernel(CUfunction f, unsigned blocks, unsigned threads, unsigned shared, unsigned cluster,
                        bool dependent, void **arguments, bool cooperative)
{
    CUlaunchAttribute attributes[3] = {};
    CUlaunchConfig how = {};
    how.gridDimX = blocks;
    how.gridDimY = how.gridDimZ = 1;
    how.blockDimX = threads;
    how.blockDimY = how.blockDimZ = 1;
    how.sharedMemBytes = shared;
    how.hStream = stream;
    how.attrs = attributes;
    if (cluster > 1) {
        attributes[how.numAttrs].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attributes[how.numAttrs].value.clusterDim.x = cluster;
        attributes[how.numAttrs].value.clusterDim.y = attributes[how.numAttrs].value.clusterDim.z = 1;
        how.numAttrs++;
    }
    if (dependent) {
        attributes[how.numAttrs].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        attributes[how.numAttrs].value.programmaticStreamSerializationAllowed = 1;
        how.numAttrs++;
    }
    if (cooperative) {
        attributes[how.numAttrs].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        attributes[how.numAttrs].value.cooperative = 1;
        how.numAttrs++;
    }
    return cuLaunchKernelEx(&how, f, arguments, nullptr) == CUDA_SUCCESS;
}

/* Of the operands of set 0, in FP32 by cublasSgemm without tensor cores. */
void gpu::make_reference()
{
    const problem &p = now;
    CUfunction widen;
    MUST(cuModuleGetFunction(&widen, support[p.bf16], "widen"));
    const auto wide = [&](CUdeviceptr to, CUdeviceptr from, long count) {
        long long elements = count;
        void *arguments[] = {&to, &from, &elements};
        if (!launch_kernel(widen, 1024, 256, 0, 1, false, arguments)) MUST(1);
    };
    wide(wide_a, operand(a, bytes_a, 0), p.lines_a() * p.lda);
    wide(wide_b, operand(b, bytes_b, 0), p.lines_b() * p.ldb);
    float c_before = p.beta * 1.5f;
    unsigned bits;
    memcpy(&bits, &c_before, sizeof bits);
    MUST(cuMemsetD32Async(reference, bits, static_cast<size_t>(p.m * p.n), stream));
    const float one = 1;
    MUST(cublasSetMathMode(blas, CUBLAS_PEDANTIC_MATH));
    MUST(cublasSgemm(blas, p.trans_b ? CUBLAS_OP_T : CUBLAS_OP_N, p.trans_a ? CUBLAS_OP_T : CUBLAS_OP_N,
                     static_cast<int>(p.n), static_cast<int>(p.m), static_cast<int>(p.k), &p.alpha,
                     reinterpret_cast<const float *>(wide_b), static_cast<int>(p.ldb),
                     reinterpret_cast<const float *>(wide_a), static_cast<int>(p.lda), &one,
                     reinterpret_cast<float *>(reference), static_cast<int>(p.n)));
    MUST(cublasSetMathMode(blas, CUBLAS_DEFAULT_MATH));
    MUST(cuStreamSynchronize(stream));
}

bool gpu::prepare(const config &what, runner *r)
{
    const kernel_source source = source_of(what, now);
    const std::string key = source.key();
    r->what = what;
    r->function = nullptr;
    const auto known = loaded.find(key);
    if (known != loaded.end()) {
        r->function = known->second;
    } else if (code.count(key)) {
        CUmodule module;
        MUST(cuModuleLoadData(&module, code[key].data()));
        MUST(cuModuleGetFunction(&r->function, module, "gemm"));
        MUST(cuFuncSetAttribute(r->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                what.shared_bytes()));
        if (what.split > 8 && what.in_cluster())
            MUST(cuFuncSetAttribute(r->function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
        loaded[key] = r->function;
    }
    r->blocks = static_cast<unsigned>(what.blocks(now));
    r->threads = static_cast<unsigned>(what.threads());
    r->shared = static_cast<unsigned>(what.shared_bytes());
    r->cluster = what.in_cluster() ? static_cast<unsigned>(what.split) : 1;
    r->cooperative = what.split > 1 && what.reduce == 2;
    const long largest = std::max(what.repacks_a(now) ? now.lines_a() * padded(now.width_a()) : 0,
                                  what.repacks_b(now) ? now.lines_b() * padded(now.width_b()) : 0);
    if (static_cast<size_t>(largest) * 2 > SCRATCH) return false;
    return r->function != nullptr;
}

/* `lines` x `width` elements, boxes of 64 by box_lines. */
CUtensorMap gpu::map_of(CUdeviceptr base, long lines, long width, long pitch, int box_lines) const
{
    CUtensorMap map;
    const cuuint64_t extents[2] = {static_cast<cuuint64_t>(width), static_cast<cuuint64_t>(lines)},
                     strides[1] = {static_cast<cuuint64_t>(pitch) * 2};
    const cuuint32_t box[2] = {64, static_cast<cuuint32_t>(box_lines)}, steps[2] = {1, 1};
    MUST(cuTensorMapEncodeTiled(
        &map, now.bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2,
        reinterpret_cast<void *>(base), extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
        CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    return map;
}

/* The operands that need it; the other one has no lines here. */
void gpu::repack(const config &what, int set)
{
    CUfunction f;
    MUST(cuModuleGetFunction(&f, support[now.bf16], "repack"));
    const auto of = [&](CUdeviceptr from, CUdeviceptr to, long lines, long width, long pitch) {
        return repack_args{from, to, pitch, padded(width), static_cast<int>(lines), static_cast<int>(width)};
    };
    const long lines_a = what.repacks_a(now) ? now.lines_a() : 0,
               lines_b = what.repacks_b(now) ? now.lines_b() : 0;
    repack_args first = of(operand(a, bytes_a, set), packed_a, lines_a, now.width_a(), now.lda);
    repack_args second = of(operand(b, bytes_b, set), packed_b, lines_b, now.width_b(), now.ldb);
    const long pieces = std::max(lines_a * ((padded(now.width_a()) + 255) / 256),
                                 lines_b * ((padded(now.width_b()) + 255) / 256));
    const unsigned blocks =
        static_cast<unsigned>(std::min((pieces + 7) / 8, 132L * 8)) * 2; /* 8 warps each */
    void *arguments[] = {&first, &second};
    if (!launch_kernel(f, blocks, 256, 0, 1, false, arguments)) MUST(1);
}

bool gpu::run(const runner &r, int set, bool dependent)
{
    const config &what = r.what;
    tensor_args args = {operand(a, bytes_a, set),
                        operand(b, bytes_b, set),
                        c + bytes_c * static_cast<size_t>(set) +
                            static_cast<size_t>(now.offset * now.c_bytes()),
                        sums,
                        arrivals,
                        now.lda,
                        now.ldb,
                        now.ldc,
                        static_cast<int>(now.m),
                        static_cast<int>(now.n),
                        static_cast<int>(now.k),
                        now.alpha,
                        now.beta};
    if (what.repacks_a(now) || what.repacks_b(now)) {
        repack(what, set);
        dependent = true; /* on the kernel that repacks */
    }
    if (what.repacks_a(now)) {
        args.a = packed_a;
        args.lda = padded(now.width_a());
    }
    if (what.repacks_b(now)) {
        args.b = packed_b;
        args.ldb = padded(now.width_b());
    }
    if (!what.wgmma) {
        void *arguments[] = {&args};
        return launch_kernel(r.function, r.blocks, r.threads, r.shared, r.cluster, dependent, arguments,
                             r.cooperative);
    }
    CUtensorMap map_a = map_of(args.a, now.lines_a(), now.width_a(), args.lda, now.trans_a ? 64 : what.bm);
    CUtensorMap map_b = map_of(args.b, now.lines_b(), now.width_b(), args.ldb, now.trans_b ? what.bn : 64);
    void *arguments[] = {what.swap ? &map_b : &map_a, what.swap ? &map_a : &map_b, &args};
    return launch_kernel(r.function, r.blocks, r.threads, r.shared, r.cluster, dependent, arguments,
                         r.cooperative);
}

bool gpu::run_default(int set)
{
    const problem &p = now;
    const cudaDataType type = p.bf16 ? CUDA_R_16BF : CUDA_R_16F;
    return cublasGemmEx(blas, p.trans_b ? CUBLAS_OP_T : CUBLAS_OP_N, p.trans_a ? CUBLAS_OP_T : CUBLAS_OP_N,
                        static_cast<int>(p.n), static_cast<int>(p.m), static_cast<int>(p.k), &p.alpha,
                        reinterpret_cast<void *>(operand(b, bytes_b, set)), type, static_cast<int>(p.ldb),
                        reinterpret_cast<void *>(operand(a, bytes_a, set)), type, static_cast<int>(p.lda),
                        &p.beta,
                        reinterpret_cast<void *>(c + bytes_c * static_cast<size_t>(set) +
                                                 static_cast<size_t>(p.offset * p.c_bytes())),
                        p.c_f32 ? CUDA_R_32F : type, static_cast<int>(p.ldc), CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS;
}

bool gpu::run_lt(int algorithm, int set)
{
    void *const to = reinterpret_cast<void *>(c + bytes_c * static_cast<size_t>(set) +
                                              static_cast<size_t>(now.offset * now.c_bytes()));
    return cublasLtMatmul(lt, operation, &now.alpha, reinterpret_cast<void *>(operand(b, bytes_b, set)),
                          layout_b, reinterpret_cast<void *>(operand(a, bytes_a, set)), layout_a, &now.beta,
                          to, layout_c, to, layout_c, &heuristics[static_cast<size_t>(algorithm)].algo,
                          reinterpret_cast<void *>(work), WORKSPACE, stream) == CUBLAS_STATUS_SUCCESS;
}

std::string gpu::algorithm_text(int algorithm) const
{
    if (algorithm < 0) return "none";
    const auto of = [&](cublasLtMatmulAlgoConfigAttributes_t which) {
        int value = -1;
        size_t written;
        cublasLtMatmulAlgoConfigGetAttribute(&heuristics[static_cast<size_t>(algorithm)].algo, which, &value,
                                             sizeof value, &written);
        return std::to_string(value);
    };
    return "algorithm " + of(CUBLASLT_ALGO_CONFIG_ID) + " tile " + of(CUBLASLT_ALGO_CONFIG_TILE_ID) +
           " split-K " + of(CUBLASLT_ALGO_CONFIG_SPLITK_NUM) + " reduction scheme " +
           of(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
}

/* Two runs over C that is poisoned (NaN), or 1.5 if it is read; the padding between its lines must stay. */
verdict gpu::judge(const launch &go)
{
    const problem &p = now;
    unsigned poison = p.c_f32 ? 0x7fc01234 : p.bf16 ? 0x7fb1 : 0x7e11;
    if (p.beta != 0) poison = p.c_f32 ? 0x3fc00000 : p.bf16 ? 0x3fc0 : 0x3e00;
    CUfunction compare;
    MUST(cuModuleGetFunction(&compare, p.c_f32 ? support_f32[p.bf16] : support[p.bf16], "compare"));
    const size_t count = static_cast<size_t>(p.m * p.ldc);
    const CUdeviceptr to = c + static_cast<size_t>(p.offset * p.c_bytes());
    verdict v;
    unsigned long long sums_of[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        if (p.c_f32) MUST(cuMemsetD32Async(to, poison, count, stream));
        else MUST(cuMemsetD16Async(to, static_cast<unsigned short>(poison), count, stream));
        if (!go(0)) {
            v.worst = 1e30f;
            return v;
        }
        MUST(cuMemsetD32Async(compared, 0, sizeof(comparison) / 4, stream));
        int m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
        long long ldc = p.ldc;
        float scale = std::max(1.0f, p.alpha < 0 ? -p.alpha : p.alpha);
        CUdeviceptr from = to;
        void *arguments[] = {&compared, &from, &reference, &m, &n, &ldc, &k, &scale, &poison};
        if (!launch_kernel(compare, 1024, 256, 0, 1, false, arguments)) MUST(1);
        comparison result;
        MUST(cuStreamSynchronize(stream));
        MUST(cuMemcpyDtoH(&result, compared, sizeof result));
        v.worst = std::max(v.worst, result.worst);
        v.edges = v.edges && result.untouched == 0;
        sums_of[i] = result.sum;
    }
    v.repeatable = sums_of[0] == sums_of[1];
    return v;
}

int gpu::count_for(double us, double milliseconds) const
{
    return std::min(std::max({static_cast<int>(milliseconds * 1e3 / us), sets, 4}), LAUNCHES_MOST);
}

CUgraphExec gpu::capture(const launch &go, int count)
{
    CUgraph graph;
    CUgraphExec ready = nullptr;
    bool launched = true;
    MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (int i = 0; i < count && launched; i++) launched = go(i % sets);
    const CUresult ended = cuStreamEndCapture(stream, &graph);
    if (!launched || ended) return nullptr;
    size_t edges = 0;
    MUST(cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
    std::vector<CUgraphNode> from(edges), to(edges);
    std::vector<CUgraphEdgeData> kinds(edges);
    if (edges) MUST(cuGraphGetEdges(graph, from.data(), to.data(), kinds.data(), &edges));
    overlapping = std::any_of(kinds.begin(), kinds.end(), [](const CUgraphEdgeData &kind) {
        return kind.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    });
    if (cuGraphInstantiate(&ready, graph, 0)) ready = nullptr;
    MUST(cuGraphDestroy(graph));
    return ready;
}

double gpu::replay_us(CUgraphExec graph, int count)
{
    float milliseconds = 0;
    MUST(cuEventRecord(begin_event, stream));
    MUST(cuGraphLaunch(graph, stream));
    MUST(cuEventRecord(end_event, stream));
    MUST(cuEventSynchronize(end_event));
    MUST(cuEventElapsedTime(&milliseconds, begin_event, end_event));
    return static_cast<double>(milliseconds) * 1e3 / count;
}

double gpu::quick_us(const launch &go, double guess_us, double milliseconds, int repeats)
{
    const int count = count_for(guess_us, milliseconds);
    CUgraphExec graph = capture(go, count);
    if (!graph) return -1;
    replay_us(graph, count);
    std::vector<double> times;
    times.reserve(static_cast<size_t>(repeats));
    for (int i = 0; i < repeats; i++) times.push_back(replay_us(graph, count));
    MUST(cuGraphExecDestroy(graph));
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

/* How many clusters of a size fit on the GPU at once, with one block a SM. */
void gpu::print_clusters()
{
    CUfunction f;
    MUST(cuModuleGetFunction(&f, support[0], "nothing"));
    MUST(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 200 << 10));
    MUST(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    printf("clusters at once, one block a SM:");
    for (unsigned size = 1; size <= 16; size++) {
        CUlaunchAttribute attribute = {};
        CUlaunchConfig how = {};
        how.gridDimX = size * 132;
        how.gridDimY = how.gridDimZ = how.blockDimY = how.blockDimZ = 1;
        how.blockDimX = 128;
        how.sharedMemBytes = 200 << 10;
        how.attrs = &attribute;
        how.numAttrs = 1;
        attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attribute.value.clusterDim.x = size;
        attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
        int count = 0;
        if (cuOccupancyMaxActiveClusters(&count, f, &how)) count = -1;
        printf(" %u: %d", size, count);
    }
    printf("\n");
}

double gpu::empty_us(unsigned blocks, unsigned threads, unsigned cluster, unsigned shared, bool dependent)
{
    CUfunction f;
    int unused = 0;
    void *arguments[] = {&unused};
    MUST(cuModuleGetFunction(&f, support[0], "nothing"));
    MUST(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 200 << 10));
    if (cluster > 8) MUST(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    sets = 1;
    return quick_us(
        [&](int) { return launch_kernel(f, blocks, threads, shared, cluster, dependent, arguments); }, 2, 0.8,
        5);
}
