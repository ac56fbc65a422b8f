/* SPDX-License-Identifier: MIT */
/* problems.h — problems and configurations: their text, which fit together, and a rough time to leave out the
 * worst. */
#ifndef PROBLEMS_H
#define PROBLEMS_H

#include <string>
#include <vector>

/* TYPE:OP:MxNxK[:pad=P][:offset=E][:alpha=X][:beta=X][:c=f32], row-major. TYPE is hgemm or bf16gemm; OP two
 * letters of n and t. pad: elements added to each leading dimension; offset: elements by which the operands
 * begin later. */
struct problem {
    std::string text;
    bool bf16 = false, c_f32 = false, trans_a = false, trans_b = false;
    long m = 0, n = 0, k = 0, lda = 0, ldb = 0, ldc = 0, offset = 0;
    float alpha = 1, beta = 0;

    int c_bytes() const { return c_f32 ? 4 : 2; }
    long lines_a() const { return trans_a ? k : m; }
    long lines_b() const { return trans_b ? n : k; }
    long width_a() const { return trans_a ? m : k; }
    long width_b() const { return trans_b ? k : n; }
    double flop() const
    {
        return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    }
    double bytes() const;
    double floor_us() const; /* 800 TFLOPS, 3.0 TB/s, 1.6 us a launch */
    int align_a() const;     /* 16, 8, 4 or 2 bytes */
    int align_b() const;
    int align_c() const;
};

struct config {
    bool wgmma = false;
    int bm = 0, bn = 0, bk = 64, wm = 0, wn = 0, consumers = 1, stages = 4, split = 1, reduce = 0,
        warps_k = 1, group = 8, swap = 0, epilogue = 0, pack = 0;
    int fewest_stages = 2; /* of its line in the file: more than the tiles of k are of no use */

    bool in_cluster() const { return split > 1 && (reduce == 0 || reduce == 3); }
    /* PACK 1: operands that 16-byte copies cannot read are repacked before. */
    bool repacks_a(const problem &p) const { return pack && p.align_a() < 16; }
    bool repacks_b(const problem &p) const { return pack && p.align_b() < 16; }
    std::string text() const;
    int threads() const;
    int stage_bytes() const;
    int shared_bytes() const;
    long blocks(const problem &p) const;
};

struct problem parse_problem(const std::string &line);
std::vector<problem> read_problems(const std::string &path);

/* A line is "mma" or "wgmma" and NAME=VALUE,VALUE... ; the product of all values, less what no problem can
 * use. */
std::vector<config> read_configs(const std::string &path);

bool legal(const config &c);
bool fits(const config &c, const problem &p);
double estimate_us(const config &c, const problem &p);

/* The most promising configurations for a problem, at most `most`. */
std::vector<config> candidates(const std::vector<config> &all, const problem &p, size_t most);

/* Macros of the kernel's compilation. Equal text, equal kernel. */
std::vector<std::string> macros(const config &c, const problem &p);

#endif
