/* SPDX-License-Identifier: MIT */
/* tensor_gpu.h — the GPU's side of the measuring program: operands in rotation, launches of our kernels and
 * of cuBLAS, the comparison with an FP32 reference, and times of launches in a captured graph.
 */
#ifndef TENSOR_GPU_H
#define TENSOR_GPU_H

#include "compiler.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda.h>
#include <functional>

/* Ends the program if a call of the driver, the runtime or cuBLAS failed. */
#define MUST(call) must(static_cast<int>(call), #call, __FILE__, __LINE__)
void must(int error, const char *call, const char *file, int line);

struct verdict {
    float worst = 0; /* error over its bound */
    bool edges = true, repeatable = true;

    bool right() const { return worst <= 1 && edges && repeatable; }
};

/* A configuration, ready to be launched for a problem. */
struct runner {
    CUfunction function = nullptr;
    config what;
    unsigned blocks = 0, threads = 0, shared = 0, cluster = 1;
    bool cooperative = false;
};

using launch = std::function<bool(int set)>; /* false: refused */

class gpu
{
  public:
    gpu(const std::map<std::string, std::string> &cubins, const std::string &here);

    std::string description() const;
    void start(const problem &p); /* operands, reference, library's descriptors */
    void end();

    bool prepare(const config &c, runner *r); /* false: not compiled, or refused by the driver */
    bool run(const runner &r, int set, bool dependent);
    bool run_default(int set);
    bool run_lt(int algorithm, int set);
    int algorithms() const { return static_cast<int>(heuristics.size()); }

    std::string algorithm_text(int algorithm) const;

    verdict judge(const launch &go);

    /* Graphs of `count` launches over the rotation; whether the last captured one has programmatic dependent
     * launches. */
    CUgraphExec capture(const launch &go, int count);
    bool overlaps() const { return overlapping; }
    int count_for(double us, double milliseconds) const;
    double replay_us(CUgraphExec graph, int count);
    double quick_us(const launch &go, double guess_us, double milliseconds, int repeats);
    void print_clusters();
    double empty_us(unsigned blocks, unsigned threads, unsigned cluster, unsigned shared, bool dependent);

  private:
    CUdeviceptr operand(CUdeviceptr base, size_t bytes, int set) const;
    CUtensorMap map_of(CUdeviceptr base, long lines, long width, long pitch, int box_lines) const;
    bool launch_kernel(CUfunction f, unsigned blocks, unsigned threads, unsigned shared, unsigned cluster,
                       bool dependent, void **arguments, bool cooperative = false);
    void repack(const config &what, int set);
    void make_reference();

    problem now;
    int sets = 1;
    bool overlapping = false;
    size_t bytes_a = 0, bytes_b = 0, bytes_c = 0;
    CUdeviceptr a = 0, b = 0, c = 0, packed_a = 0, packed_b = 0, work = 0, sums = 0, arrivals = 0, wide_a = 0,
                wide_b = 0, reference = 0, compared = 0;
    CUstream stream = nullptr;
    CUevent begin_event = nullptr, end_event = nullptr;
    cublasHandle_t blas = nullptr;
    cublasLtHandle_t lt = nullptr;
    cublasLtMatmulDesc_t operation = nullptr;
    cublasLtMatrixLayout_t layout_a = nullptr, layout_b = nullptr, layout_c = nullptr;
    std::vector<cublasLtMatmulHeuristicResult_t> heuristics;
    std::map<std::string, std::string> code;
    std::map<std::string, CUfunction> loaded;
    CUmodule support[2] = {nullptr, nullptr}; /* FP16, BF16, C of that type */
    CUmodule support_f32[2] = {nullptr, nullptr};
};

struct kernel_source support_source(bool bf16, bool c_f32);

#endif
