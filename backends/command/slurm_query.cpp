// SPDX-License-Identifier: Apache-2.0
#include "backends/command/slurm_query.hpp"

#include <cstdlib>

#include "backends/command/command_transport.hpp"
#include "backends/posix/child.hpp"
#include "backends/posix/short_run.hpp"
#include "backends/process/programs.hpp"

namespace train {

std::optional<std::string> ask_slurm_for_job(const std::string& id, milliseconds limit) {
  // Thousands of nodes, each with its CPUs and GPUs.
  constexpr std::size_t longest_answer = 16u << 20;
  const char* path = std::getenv("PATH");
  const auto program = find_program("scontrol", path != nullptr ? path : "", "/");
  if (!program) return std::nullopt;
  const auto job = run_shortly({.program = *program,
                                .arguments = {"scontrol", "show", "job", "-d", "-o", id},
                                .environment = environment_for("srun", environment_texts())},
                               limit, longest_answer);
  return job ? std::optional(*job) : std::nullopt;
}

}  // namespace train
