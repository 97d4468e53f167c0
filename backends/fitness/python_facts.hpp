// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/fitness/host_fitness.hpp"

namespace train {

/// Whether a program of this path is a Python by its name: "python", "python3.11".
bool is_python(const std::string& program);

/// What this Python and its packages are, as it says itself under a limit of 10 s; nothing is
/// imported that may take a GPU.
PythonFacts python_facts(const std::string& program, const std::vector<std::string>& environment);

/// The NCCL that a program of the job's loads: of a Python the one of its packages or of its
/// environment (conda), found under the same limit; else "libnccl.so.2", which the system finds.
std::string find_nccl(const std::string& program, const std::vector<std::string>& environment);

}  // namespace train
