/* SPDX-License-Identifier: MIT */
#include "problems.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

namespace
{

const int SMS = 132, SHARED_LIMIT = 232448;

long divide_up(long a, long b)
{
    return (a + b - 1) / b;
}

int alignment(long elements, long offset, int bytes)
{
    for (int a = 16; a > bytes; a /= 2)
        if (elements * bytes % a == 0 && offset * bytes % a == 0) return a;
    return bytes;
}

[[noreturn]] void refuse(const std::string &line, const char *why)
{
    fprintf(stderr, "tensor_bench: %s: %s\n", line.c_str(), why);
    exit(2);
}

bool copies_fit(const config &c, int extent, bool along_k, int align)
{
    const int unit = align == 2 ? 2 : align / 2, line = along_k ? c.bk : extent;
    return line % unit == 0 && c.threads() % (line / unit) == 0;
}

} // namespace

double problem::bytes() const
{
    return 2.0 * static_cast<double>(m * k + k * n) + static_cast<double>(m * n * c_bytes());
}

double problem::floor_us() const
{
    return std::max({1.6, flop() / 800e6, bytes() / 3.0e6});
}
int problem::align_a() const
{
    return alignment(lda, offset, 2);
}
int problem::align_b() const
{
    return alignment(ldb, offset, 2);
}
int problem::align_c() const
{
    return alignment(ldc, offset, c_bytes());
}

problem parse_problem(const std::string &line)
{
    problem p;
    p.text = line;
    std::istringstream parts(line);
    std::string type, op, size, option;
    std::getline(parts, type, ':');
    std::getline(parts, op, ':');
    std::getline(parts, size, ':');
    if (type != "hgemm" && type != "bf16gemm") refuse(line, "the type must be hgemm or bf16gemm");
    if (op.size() != 2 || op.find_first_not_of("nt") != std::string::npos)
        refuse(line, "the op must be nn, nt, tn or tt");
    if (sscanf(size.c_str(), "%ldx%ldx%ld", &p.m, &p.n, &p.k) != 3) refuse(line, "the size must be MxNxK");
    p.bf16 = type == "bf16gemm";
    p.trans_a = op[0] == 't';
    p.trans_b = op[1] == 't';
    long pad = 0;
    while (std::getline(parts, option, ':')) {
        const size_t is = option.find('=');
        const std::string name = option.substr(0, is),
                          value = is == std::string::npos ? "" : option.substr(is + 1);
        if (name == "pad") pad = atol(value.c_str());
        else if (name == "offset") p.offset = atol(value.c_str());
        else if (name == "alpha") p.alpha = strtof(value.c_str(), nullptr);
        else if (name == "beta") p.beta = strtof(value.c_str(), nullptr);
        else if (name == "c") p.c_f32 = value == "f32";
        else refuse(line, "options are pad, offset, alpha, beta and c");
    }
    p.lda = p.width_a() + pad;
    p.ldb = p.width_b() + pad;
    p.ldc = p.n + pad;
    return p;
}

std::vector<problem> read_problems(const std::string &path)
{
    std::vector<problem> all;
    std::ifstream file(path);
    if (!file) refuse(path, "cannot be read");
    for (std::string line; std::getline(file, line);)
        if (!line.empty() && line[0] != '#') all.push_back(parse_problem(line));
    return all;
}

std::string config::text() const
{
    char s[200];
    snprintf(s, sizeof s,
             "%s%s BM=%d BN=%d BK=%d %s%s STAGES=%d SPLIT_K=%d REDUCE=%d GROUP=%d SWAP=%d EPILOGUE=%d",
             pack ? "pack+" : "", wgmma ? "wgmma" : "mma", bm, bn, bk,
             (wgmma ? "CONSUMERS=" + std::to_string(consumers)
                    : "WM=" + std::to_string(wm) + " WN=" + std::to_string(wn))
                 .c_str(),
             warps_k > 1 ? (" WARPS_K=" + std::to_string(warps_k)).c_str() : "", stages, split, reduce, group,
             swap, epilogue);
    return s;
}

int config::threads() const
{
    return wgmma ? 128 * consumers + 32 : 32 * (bm / wm) * (bn / wn) * warps_k;
}
int config::stage_bytes() const
{
    return (bm + bn) * bk * 2;
}

int config::shared_bytes() const
{
    const int sums = split > 1 || warps_k > 1 ? warps_k * bm * bn * 4 : 0,
              parts = in_cluster() ? bm * bn * 4 : 0;
    const int ring = std::max(stages * stage_bytes(), sums) + (wgmma ? 1024 + 16 * stages + 64 : 16);
    return std::max(ring + parts, epilogue ? bm * (bn * 2 + 16) : 0);
}

long config::blocks(const problem &p) const
{
    return divide_up(p.m, bm) * divide_up(p.n, bn) * split;
}

bool legal(const config &c)
{
    if (c.shared_bytes() + 1024 * (c.reduce == 1 || c.reduce == 2) > SHARED_LIMIT ||
        c.bm * c.bn / 4 % c.split != 0 || (c.split == 1 && c.reduce))
        return false;
    if (c.in_cluster() && c.split > 16) return false;
    if (c.epilogue && (c.split > 1 || c.warps_k > 1 || c.swap)) return false;
    if (c.wgmma) {
        const int left = c.swap ? c.bn : c.bm, right = c.swap ? c.bm : c.bn;
        return left % (64 * c.consumers) == 0 && left <= 256 && left / c.consumers <= 128 && right <= 256 &&
               left / c.consumers * right <= 128 * 128 + 64 * 128;
    }
    if (c.bm % c.wm || c.bn % c.wn || c.bk % (16 * c.warps_k)) return false;
    const int left = c.swap ? c.wn : c.wm, right = c.swap ? c.wm : c.wn;
    if (left % 16 || (right != 8 && right % 16)) return false;
    const int registers = left * right / 32 + 2 * (left / 16 * 4 + right / 8 * 2) + 40;
    return c.threads() >= 64 && c.threads() <= 512 && registers <= 250 && registers * c.threads() <= 65536;
}

bool fits(const config &c, const problem &p)
{
    const bool along_a = !p.trans_a, along_b = p.trans_b;
    const int align_a = c.pack ? 16 : p.align_a(), align_b = c.pack ? 16 : p.align_b();
    const long tiles = divide_up(p.k, c.bk), each = divide_up(tiles, c.split);
    if (c.pack && std::min(p.align_a(), p.align_b()) == 16) return false;
    if (c.split > tiles || (c.stages > each + 1 && c.stages > c.fewest_stages)) return false;
    if (c.epilogue && p.c_f32) return false;
    if ((c.reduce == 1 || c.reduce == 2) && c.blocks(p) * c.bm * c.bn * 4 > 512L << 20) return false;
    if (c.wgmma) {
        const bool across_right = c.swap ? p.trans_a : !p.trans_b;
        return align_a == 16 && align_b == 16 && !(across_right && (c.swap ? c.bm : c.bn) % 64);
    }
    return copies_fit(c, c.bm, along_a, align_a) && copies_fit(c, c.bn, along_b, align_b);
}

double estimate_us(const config &c, const problem &p)
{
    const double blocks = static_cast<double>(c.blocks(p));
    const double k = static_cast<double>(divide_up(divide_up(p.k, c.bk), c.split) * c.bk);
    const int room =
        std::max(1, std::min(SHARED_LIMIT / (c.shared_bytes() + 1024), 2048 / (c.threads() + 64)));
    /* An H100's GPCs are of unequal size: so many clusters fit. */
    const int clusters = !c.in_cluster() ? SMS / c.split
                         : c.split == 2  ? 66
                         : c.split <= 4  ? 30
                         : c.split <= 8  ? 15
                                         : 7;
    const int sms = c.in_cluster() ? clusters * c.split : SMS;
    const double waves = static_cast<double>(divide_up(c.blocks(p), static_cast<long>(sms) * room)) * room;
    if (c.reduce == 2 && c.split > 1 && waves > room) return 1e9; /* not all at once */
    const double busy = std::min(blocks, static_cast<double>(sms));
    const double rate =
        (c.wgmma ? 5.0e6 : 3.2e6) / (c.bm * c.bn <= 64 * 64 ? 1.6 : 1.0); /* flop a us and SM */
    const double turns = std::max(blocks / sms, waves > room ? waves : 1.0);
    const double compute = 2.0 * c.bm * c.bn * k * turns / rate;
    const double l2 = turns * (c.bm + c.bn) * k * 2 / 85e3;
    const double memory = p.bytes() / (3.0e6 * std::min(1.0, busy / 100));
    const double meeting = c.split == 1 ? 0 : c.reduce == 1 ? 1.5 + 0.1 * c.split : c.reduce == 2 ? 1.5 : 0.8;
    const bool scattered = !c.epilogue && c.split == 1 && c.warps_k == 1 && !c.swap && !p.c_f32;
    return 2.0 + std::max({compute, l2, memory}) + meeting + (scattered ? p.bytes() / 6e6 : 0) +
           (c.pack ? 2 : 0);
}

std::vector<config> read_configs(const std::string &path)
{
    std::vector<config> all;
    std::ifstream file(path);
    if (!file) refuse(path, "cannot be read");
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line[0] == '#') continue;
        std::istringstream words(line);
        std::string family, word;
        words >> family;
        config first;
        first.wgmma = family == "wgmma";
        std::vector<config> some = {first};
        int fewest = 99;
        while (words >> word) {
            const std::string name = word.substr(0, word.find('='));
            const std::map<std::string, int config::*> members = {{"BM", &config::bm},
                                                                  {"BN", &config::bn},
                                                                  {"BK", &config::bk},
                                                                  {"WM", &config::wm},
                                                                  {"WN", &config::wn},
                                                                  {"CONSUMERS", &config::consumers},
                                                                  {"STAGES", &config::stages},
                                                                  {"SPLIT_K", &config::split},
                                                                  {"REDUCE", &config::reduce},
                                                                  {"WARPS_K", &config::warps_k},
                                                                  {"GROUP", &config::group},
                                                                  {"SWAP", &config::swap},
                                                                  {"EPILOGUE", &config::epilogue},
                                                                  {"PACK", &config::pack}};
            const auto member = members.find(name);
            if (member == members.end()) refuse(line, ("unknown parameter " + name).c_str());
            std::istringstream values(word.substr(word.find('=') + 1));
            std::vector<config> more;
            for (std::string value; std::getline(values, value, ',');)
                for (config c : some) {
                    c.*member->second = atoi(value.c_str());
                    more.push_back(c);
                    if (name == "STAGES") fewest = std::min(fewest, c.stages);
                }
            some = more;
        }
        for (config &c : some) {
            c.fewest_stages = std::min(fewest, c.stages);
            const auto same = [&](const config &other) { return other.text() == c.text(); };
            if (legal(c) && std::none_of(all.begin(), all.end(), same)) all.push_back(c);
        }
    }
    return all;
}

std::vector<config> candidates(const std::vector<config> &all, const problem &p, size_t most)
{
    std::vector<config> some;
    for (const config &c : all)
        if (fits(c, p)) some.push_back(c);
    const auto faster = [&](const config &a, const config &b) {
        return estimate_us(a, p) < estimate_us(b, p);
    };
    std::stable_sort(some.begin(), some.end(), faster);
    if (some.size() > most) some.resize(most);
    return some;
}

std::vector<std::string> macros(const config &c, const problem &p)
{
    const auto define = [](const char *name, int value) {
        return "-D" + std::string(name) + "=" + std::to_string(value);
    };
    std::vector<std::string> all = {
        define("BF16", p.bf16),
        define("C_F32", p.c_f32),
        define("TRANS_A", p.trans_a),
        define("TRANS_B", p.trans_b),
        define("ALIGN_C", p.align_c()),
        define("PDL", 1),
        define("BM", c.bm),
        define("BN", c.bn),
        define("BK", c.bk),
        define("STAGES", c.stages),
        define("SPLIT_K", c.split),
        define("REDUCE", c.reduce),
        define("GROUP", c.group),
        define("SWAP", c.swap),
        define("EPILOGUE", c.epilogue),
    };
    if (c.wgmma) {
        all.push_back(define("CONSUMERS", c.consumers));
    } else {
        all.push_back(define("WM", c.wm));
        all.push_back(define("WN", c.wn));
        all.push_back(define("WARPS_K", c.warps_k));
        all.push_back(define("ALIGN_A", c.pack ? 16 : p.align_a()));
        all.push_back(define("ALIGN_B", c.pack ? 16 : p.align_b()));
    }
    return all;
}
