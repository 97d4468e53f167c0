// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace train {

/// Whether Slurm puts one host before another when it sorts them: numbers in names count as
/// numbers.
bool slurm_sorts_before(std::string_view left, std::string_view right);

/// A host set in Slurm's grammar, which has ranges and no steps: "n[0-2,4]".
std::string slurm_host_set(const std::vector<std::string>& names);

/// A job name that a directive can hold: letters, digits, `.`, `_` and `-`, at most 64.
std::string slurm_job_name(std::string_view name);

}  // namespace train
