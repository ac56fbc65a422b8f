/* SPDX-License-Identifier: MIT */
/* tensor_bench.cpp — measures the 16-bit tensor-core kernels of this folder against cublasLt (README.md).
 *
 *     tensor_bench list PROBLEMS CONFIGS             the candidates of each problem
 *     tensor_bench compile PROBLEMS CONFIGS          only compiles (no GPU needed)
 *     tensor_bench check PROBLEMS CONFIGS            every configuration on every problem, no times
 *     tensor_bench race PROBLEMS CONFIGS RESULTS.csv TRIALS.csv
 *
 * Environment: TENSOR_JOBS compilers at a time (2), TENSOR_ARCH (sm_90a), TENSOR_MOST candidates a problem
 * (80), TENSOR_SECONDS after which no problem is begun (500).
 */
#include "tensor_gpu.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace
{

const int ROUNDS = 9, FINALISTS = 6, CHAINED = 3;

struct trial {
    config what;
    double us;
};

double seconds()
{
    using clock = std::chrono::steady_clock;
    static const clock::time_point begin = clock::now();
    return std::chrono::duration<double>(clock::now() - begin).count();
}

long setting(const char *name, long otherwise)
{
    const char *const value = getenv(name);
    return value ? atol(value) : otherwise;
}

double median(std::vector<double> v)
{
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

/* Contenders of the last race: graphs that are replayed in turn. */
struct contender {
    std::string name;
    launch go;
    double guess_us;
    CUgraphExec graph;
    int count;
    bool overlaps;
    std::vector<double> times;
};

void replay_in_turn(gpu &g, std::vector<contender> &all)
{
    for (contender &c : all) {
        c.count = g.count_for(c.guess_us, 2.5);
        c.graph = g.capture(c.go, c.count);
        c.overlaps = g.overlaps();
        if (c.graph) g.replay_us(c.graph, c.count);
    }
    for (int round = 0; round < ROUNDS; round++)
        for (contender &c : all)
            if (c.graph) c.times.push_back(g.replay_us(c.graph, c.count));
    for (contender &c : all)
        if (c.graph) MUST(cuGraphExecDestroy(c.graph));
}

/* The best of cublasLt's answers: its number, or -1. */
int best_algorithm(gpu &g, double guess_us, double *us)
{
    int best = -1;
    for (int i = 0; i < g.algorithms(); i++) {
        const double t = g.quick_us([&](int set) { return g.run_lt(i, set); }, guess_us, 1.5, 3);
        if (t > 0 && (best < 0 || t < *us)) {
            best = i;
            *us = t;
        }
    }
    return best;
}

void race(gpu &g, const problem &p, const std::vector<config> &configs, size_t most, FILE *results,
          FILE *trials)
{
    g.start(p);
    const launch by_default = [&](int set) { return g.run_default(set); };
    const double default_us = g.quick_us(by_default, p.floor_us() * 2, 2, 3);
    double lt_us = default_us;
    const int algorithm = best_algorithm(g, default_us, &lt_us);
    const launch by_lt = [&](int set) {
        return algorithm >= 0 ? g.run_lt(algorithm, set) : g.run_default(set);
    };
    const verdict of_lt = g.judge(by_lt);
    if (!of_lt.right())
        printf("  cublasLt's best: %.3g of the bound; %s\n", static_cast<double>(of_lt.worst),
               g.algorithm_text(algorithm).c_str());

    std::vector<trial> right;
    int wrong = 0, refused = 0;
    for (const config &c : candidates(configs, p, most)) {
        runner r;
        if (!g.prepare(c, &r)) {
            refused++;
            continue;
        }
        const launch go = [&](int set) { return g.run(r, set, false); };
        const verdict v = g.judge(go);
        if (!v.right()) {
            wrong += v.worst < 1e29f || !v.edges;
            refused += v.worst >= 1e29f;
            fprintf(trials, "%s,%s,wrong,%g,%d,%d\n", p.text.c_str(), c.text().c_str(),
                    static_cast<double>(v.worst), v.edges, v.repeatable);
            continue;
        }
        const double us = g.quick_us(go, lt_us, 0.6, 2);
        fprintf(trials, "%s,%s,%.3f,%.3g\n", p.text.c_str(), c.text().c_str(), us,
                static_cast<double>(v.worst));
        if (us > 0) right.push_back({c, us});
    }
    std::sort(right.begin(), right.end(), [](const trial &x, const trial &y) { return x.us < y.us; });
    if (right.size() > FINALISTS) right.resize(FINALISTS);

    std::vector<runner> runners(right.size());
    std::vector<contender> all;
    all.push_back({"default", by_default, default_us, nullptr, 0, false, {}});
    all.push_back({"lt", by_lt, lt_us, nullptr, 0, false, {}});
    for (size_t i = 0; i < right.size(); i++) {
        g.prepare(right[i].what, &runners[i]);
        const runner &r = runners[i];
        all.push_back({r.what.text(),
                       [&g, &r](int set) { return g.run(r, set, false); },
                       right[i].us,
                       nullptr,
                       0,
                       false,
                       {}});
    }
    for (size_t i = 0; i < std::min<size_t>(right.size(), CHAINED); i++) {
        const runner &r = runners[i];
        if (!r.what.repacks_a(p) && !r.what.repacks_b(p))
            all.push_back({"pdl " + r.what.text(),
                           [&g, &r](int set) { return g.run(r, set, true); },
                           right[i].us,
                           nullptr,
                           0,
                           false,
                           {}});
    }
    replay_in_turn(g, all);
    g.end();

    std::vector<double> us;
    for (const contender &c : all) us.push_back(c.times.empty() ? 1e9 : median(c.times));
    size_t best = 0;
    for (size_t i = 2; i < 2 + right.size(); i++)
        if (!best || us[i] < us[best]) best = i;
    const double rival = std::min(us[0], us[1]), ours = best ? us[best] : 0;
    size_t chained = 0;
    for (size_t i = 2 + right.size(); i < all.size(); i++)
        if (!chained || us[i] < us[chained]) chained = i;
    const double chained_us = chained ? us[chained] : 0;
    fprintf(results, "%s,%.3f,%.3f,%.3f,%d,%.3f,%.3f,%s,%.3f", p.text.c_str(), p.floor_us(), us[0], us[1],
            all[0].overlaps || all[1].overlaps, ours, best ? rival / ours : 0,
            best ? all[best].name.c_str() : "none", chained_us);
    for (size_t i = 2; i < 2 + std::min<size_t>(right.size(), 4); i++)
        fprintf(results, ",%s,%.3f", all[i].name.c_str(), us[i]);
    fprintf(results, "\n");
    fflush(results);
    fflush(trials);
    if (all[0].overlaps || all[1].overlaps) printf("  cuBLAS overlaps its launches here\n");
    printf("%-28s floor %8.2f default %8.2f lt %8.2f ours %8.2f ratio %.3f pdl %7.2f  %s%s  [%.0f s]\n",
           p.text.c_str(), p.floor_us(), us[0], us[1], ours, best ? rival / ours : 0, chained_us,
           best ? all[best].name.c_str() : "none",
           wrong || refused
               ? (" WRONG " + std::to_string(wrong) + " refused " + std::to_string(refused)).c_str()
               : "",
           seconds());
    fflush(stdout);
}

int check(gpu &g, const std::vector<problem> &problems, const std::vector<config> &configs, size_t most)
{
    int tried = 0, wrong = 0;
    for (const problem &p : problems) {
        g.start(p);
        const verdict d = g.judge([&](int set) { return g.run_default(set); });
        float worst = 0;
        int here = 0;
        for (const config &c : candidates(configs, p, most)) {
            runner r;
            if (!g.prepare(c, &r)) continue;
            const verdict v = g.judge([&](int set) { return g.run(r, set, false); });
            tried++;
            here++;
            worst = std::max(worst, v.worst);
            if (v.right()) continue;
            if (++wrong <= 60)
                printf("WRONG %s %s: error %.3g of the bound, edges %s, bits %s\n", p.text.c_str(),
                       c.text().c_str(), static_cast<double>(v.worst), v.edges ? "kept" : "overwritten",
                       v.repeatable ? "equal" : "differ");
        }
        printf("%-44s %3d configurations, worst %.3f of the bound (cuBLAS %.3f)\n", p.text.c_str(), here,
               static_cast<double>(worst), static_cast<double>(d.worst));
        g.end();
    }
    printf("%d checks, %d wrong\n", tried, wrong);
    return wrong != 0;
}

void floors(gpu &g)
{
    printf("empty kernels, us in a graph (blocks x threads, cluster, shared): ");
    const unsigned shapes[][4] = {
        {1, 128, 1, 0},           {132, 128, 1, 0},         {128, 128, 8, 0},
        {128, 128, 16, 0},        {128, 128, 4, 0},         {132, 128, 1, 100 << 10},
        {128, 128, 8, 100 << 10}, {128, 256, 8, 200 << 10}, {1024, 128, 1, 0}};
    for (const auto &s : shapes)
        printf("%ux%u/%u/%uK %.2f (pdl %.2f)  ", s[0], s[1], s[2], s[3] >> 10,
               g.empty_us(s[0], s[1], s[2], s[3], false), g.empty_us(s[0], s[1], s[2], s[3], true));
    printf("\n");
}

} // namespace

int main(int argc, char **argv)
{
    const std::string mode = argc > 1 ? argv[1] : "";
    if (argc != (mode == "race" ? 6 : 4) ||
        (mode != "list" && mode != "compile" && mode != "check" && mode != "race")) {
        fprintf(stderr, "usage: tensor_bench list|compile|check PROBLEMS CONFIGS\n"
                        "       tensor_bench race PROBLEMS CONFIGS RESULTS.csv TRIALS.csv\n");
        return 2;
    }
    const std::string here = getenv("TENSOR_HERE") ? getenv("TENSOR_HERE") : ".";
    const std::string folder = getenv("TENSOR_CUBINS") ? getenv("TENSOR_CUBINS") : "/tmp/tensor_cubins";
    const std::vector<problem> problems = read_problems(argv[2]);
    const std::vector<config> configs = read_configs(argv[3]);
    const size_t most = static_cast<size_t>(setting("TENSOR_MOST", 80));
    std::vector<kernel_source> sources;
    for (int i = 0; i < 4; i++) sources.push_back(support_source(i % 2, i / 2));
    size_t pairs = 0;
    for (const problem &p : problems)
        for (const config &c : candidates(configs, p, most)) {
            if (mode == "list") printf("%s,%s,%.2f\n", p.text.c_str(), c.text().c_str(), estimate_us(c, p));
            sources.push_back(source_of(c, p));
            pairs++;
        }
    if (mode == "list") return 0;
    seconds();
    const std::map<std::string, std::string> cubins =
        compile_all(sources, here, folder, getenv("TENSOR_ARCH") ? getenv("TENSOR_ARCH") : "sm_90a",
                    static_cast<int>(setting("TENSOR_JOBS", 2)));
    printf("%zu problems, %zu configurations, %zu pairs, %zu kernels compiled in %.1f s\n", problems.size(),
           configs.size(), pairs, cubins.size(), seconds());
    fflush(stdout);
    if (mode == "compile") return 0;

    gpu g(cubins, here);
    printf("%s\n", g.description().c_str());
    floors(g);
    g.print_clusters();
    if (mode == "check") return check(g, problems, configs, most);
    FILE *const results = fopen(argv[4], "w"), *const trials = fopen(argv[5], "w");
    if (!results || !trials) {
        fprintf(stderr, "tensor_bench: cannot write %s or %s\n", argv[4], argv[5]);
        return 1;
    }
    fprintf(results,
            "# "
            "%s\nproblem,floor_us,default_us,lt_best_us,cublas_overlaps,ours_us,ratio,config,ours_pdl_us,"
            "first,us,second,us,third,us,"
            "fourth,us\n",
            g.description().c_str());
    for (const problem &p : problems) {
        if (seconds() > static_cast<double>(setting("TENSOR_SECONDS", 500))) break;
        race(g, p, configs, most, results, trials);
    }
    fclose(results);
    fclose(trials);
    return 0;
}
