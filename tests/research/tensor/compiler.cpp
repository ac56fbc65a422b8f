/* SPDX-License-Identifier: MIT */
#include "compiler.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nvrtc.h>
#include <sstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

/* The wgmma instruction of 64 x 16 by 16 x width, sums in the quads from Q on. */
std::string wgmma_text(int width)
{
    std::ostringstream s;
    const int sums = width / 2;
    s << "#if BF16\n#define OPERANDS \"bf16.bf16\"\n#else\n#define OPERANDS \"f16.f16\"\n#endif\n"
      << "template <int Q> DEVICE void multiply_add(float (&d)[QUADS][4], unsigned long long a, unsigned "
         "long long b)\n"
      << "{\n    asm volatile(\"wgmma.mma_async.sync.aligned.m64n" << width << "k16.f32.\" OPERANDS \" {";
    for (int i = 0; i < sums; i++) s << (i ? ", %" : "%") << i;
    s << "}, %" << sums << ", %" << sums + 1 << ", 1, 1, 1, %" << sums + 2 << ", %" << sums + 3
      << ";\"\n        : ";
    for (int i = 0; i < sums; i++) s << (i ? ", " : "") << "\"+f\"(d[Q + " << i / 4 << "][" << i % 4 << "])";
    s << "\n        : \"l\"(a), \"l\"(b), \"n\"(LEFT_ALONG_K ? 0 : 1), \"n\"(RIGHT_ALONG_K ? 0 : 1));\n}\n";
    return s.str();
}

void compile_one(const kernel_source &source, const std::string &here, const std::string &place,
                 const std::string &arch)
{
    const std::string text = read_file(here + "/" + source.file), common = read_file(here + "/tensor16.cuh");
    const std::string instruction = source.width ? wgmma_text(source.width) : "";
    const char *headers[] = {common.c_str(), instruction.c_str()}, *names[] = {"tensor16.cuh", "wgmma.inc"};
    nvrtcProgram program;
    if (nvrtcCreateProgram(&program, text.c_str(), source.file.c_str(), 2, headers, names)) return;
    std::vector<std::string> options = source.options;
    options.insert(options.end(), {"-arch=" + arch, "-std=c++17", "--ptxas-options=-v", "-default-device"});
    std::vector<const char *> list;
    list.reserve(options.size());
    for (const std::string &o : options) list.push_back(o.c_str());
    const nvrtcResult result = nvrtcCompileProgram(program, static_cast<int>(list.size()), list.data());
    size_t size = 0;
    nvrtcGetProgramLogSize(program, &size);
    std::string log(size, '\0');
    nvrtcGetProgramLog(program, &log[0]);
    std::ofstream(place + ".log") << source.key() << "\n" << log.c_str();
    if (result) return;
    nvrtcGetCUBINSize(program, &size);
    std::string cubin(size, '\0');
    nvrtcGetCUBIN(program, &cubin[0]);
    std::ofstream(place + ".part", std::ios::binary).write(cubin.data(), static_cast<std::streamsize>(size));
    rename((place + ".part").c_str(), (place + ".cubin").c_str());
}

} // namespace

std::string read_file(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    std::ostringstream all;
    all << file.rdbuf();
    return all.str();
}

std::string kernel_source::key() const
{
    std::string s = file;
    for (const std::string &o : options) s += " " + o;
    return s;
}

kernel_source source_of(const config &c, const problem &p)
{
    return {c.wgmma ? "wgmma16.cu" : "tensor_mma.cu", macros(c, p), c.wgmma ? (c.swap ? c.bm : c.bn) : 0};
}

std::map<std::string, std::string> compile_all(const std::vector<kernel_source> &sources,
                                               const std::string &here, const std::string &folder,
                                               const std::string &arch, int jobs)
{
    std::map<std::string, std::string> found;
    std::map<std::string, std::string> places; /* of each distinct kernel */
    mkdir(folder.c_str(), 0777);
    int running = 0;
    for (const kernel_source &source : sources) {
        if (!places.emplace(source.key(), folder + "/" + std::to_string(places.size())).second) continue;
        if (running == jobs) {
            wait(nullptr);
            running--;
        }
        const pid_t child = fork();
        if (child == 0) {
            compile_one(source, here, places[source.key()], arch);
            _exit(0);
        }
        if (child > 0) running++;
    }
    while (wait(nullptr) > 0) {
    }
    for (const auto &place : places) {
        const std::string log = read_file(place.second + ".log"), cubin = read_file(place.second + ".cubin");
        if (cubin.empty()) fprintf(stderr, "not compiled: %s\n%s\n", place.first.c_str(), log.c_str());
        else found[place.first] = cubin;
        if (log.find("(C75") != std::string::npos) fprintf(stderr, "serialised: %s\n", log.c_str());
        const size_t spills = log.find(" bytes spill stores");
        if (spills != std::string::npos && log.compare(spills - 2, 2, " 0") != 0)
            fprintf(stderr, "spills: %s\n", log.c_str());
    }
    return found;
}
