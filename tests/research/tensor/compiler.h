/* SPDX-License-Identifier: MIT */
/* compiler.h — NVRTC in child processes, one a core: a crash of the compiler loses one kernel. Call before
 * CUDA is initialised.
 */
#ifndef COMPILER_H
#define COMPILER_H

#include "problems.h"

#include <map>

/* A kernel to be compiled: the source's name and its macros. */
struct kernel_source {
    std::string file;
    std::vector<std::string> options;
    int width; /* of the wgmma instruction, 0 without */

    std::string key() const;
};

struct kernel_source source_of(const config &c, const problem &p);

/* Cubins by key, missing where compilation failed; logs (registers, spills, warnings) go to FOLDER/KEY.log.
 */
std::map<std::string, std::string> compile_all(const std::vector<kernel_source> &sources,
                                               const std::string &here, const std::string &folder,
                                               const std::string &arch, int jobs);

std::string read_file(const std::string &path);

#endif
