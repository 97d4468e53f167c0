// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/fitness/host_fitness.hpp"

namespace train {

/// Whether the name of this program is that of a Python: "python", "python3.11".
bool is_python(const std::string& program);

/// The versions of this Python and its packages, found by running it with a limit of 10 s. Imports
/// nothing that may use a GPU.
PythonFacts python_facts(const std::string& program, const std::vector<std::string>& environment);

/// The NCCL library that a program of the job loads: for a Python the one of its packages or of its
/// environment (conda), found with the same limit; else "libnccl.so.2", to be found by the dynamic
/// linker.
std::string find_nccl(const std::string& program, const std::vector<std::string>& environment);

}  // namespace train
