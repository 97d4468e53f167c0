// SPDX-License-Identifier: Apache-2.0
#include "backends/command/slurm_query.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "backends/posix/child.hpp"
#include "backends/posix/short_run.hpp"
#include "backends/process/programs.hpp"

namespace train {

std::vector<std::string> environment_for_slurm(std::vector<std::string> environment) {
  constexpr std::string_view needed = "SLURM_CONF=";
  constexpr std::array<std::string_view, 6> dropped{"SLURM_",
                                                    "SRUN_",
                                                    "CUDA_VISIBLE_DEVICES=",
                                                    "ROCR_VISIBLE_DEVICES=",
                                                    "GPU_DEVICE_ORDINAL=",
                                                    "ZE_AFFINITY_MASK="};
  std::erase_if(environment, [&](const std::string& entry) {
    return !entry.starts_with(needed) &&
           std::any_of(dropped.begin(), dropped.end(),
                       [&](std::string_view prefix) { return entry.starts_with(prefix); });
  });
  return environment;
}

std::optional<std::string> ask_slurm_for_job(const std::string& id, milliseconds limit) {
  // Thousands of nodes, each with its CPUs and GPUs.
  constexpr std::size_t longest_answer = 16u << 20;
  const char* path = std::getenv("PATH");
  const auto program = find_program("scontrol", path != nullptr ? path : "", "/");
  if (!program) return std::nullopt;
  const auto job = run_shortly({.program = *program,
                                .arguments = {"scontrol", "show", "job", "-d", "-o", id},
                                .environment = environment_for_slurm(environment_texts())},
                               limit, longest_answer);
  return job ? std::optional(*job) : std::nullopt;
}

}  // namespace train
