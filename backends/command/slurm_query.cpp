// SPDX-License-Identifier: Apache-2.0
#include "backends/command/slurm_query.hpp"

#include <fmt/format.h>

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
  constexpr std::array<std::string_view, 9> dropped{"SLURM_",
                                                    "SRUN_",
                                                    "SQUEUE_",
                                                    "SINFO_",
                                                    "SCANCEL_",
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

Result<ProgramCall> slurm_call(const std::vector<std::string>& words) {
  const char* path = std::getenv("PATH");
  const auto program = find_program(words.front(), path != nullptr ? path : "", "/");
  if (!program)
    return fail(ErrorClass::missing,
                fmt::format("there is no '{}' here: {}", words.front(),
                            program.error().diagnostics.front().message),
                "run this on a machine from which jobs are submitted to Slurm");
  return ProgramCall{.program = *program,
                     .arguments = words,
                     .environment = environment_for_slurm(environment_texts())};
}

Result<std::string> ask_slurm(const std::vector<std::string>& words, milliseconds limit,
                              SlurmAnswer answer) {
  // Thousands of nodes, each with its CPUs and GPUs.
  constexpr std::size_t longest_answer = 16u << 20;
  auto call = slurm_call(words);
  if (!call) return tl::make_unexpected(call.error());
  if (answer == SlurmAnswer::words) {
    call->program = "/bin/sh";
    call->arguments.insert(call->arguments.begin(), {"sh", "-c", "\"$@\" 2>&1; exit 0", "sh"});
  }
  auto answered = run_shortly(*call, limit, longest_answer);
  if (!answered) return tl::make_unexpected(with_context(answered.error(), words.front()));
  return answered;
}

std::optional<std::string> ask_slurm_for_job(const std::string& id, milliseconds limit) {
  const auto job = ask_slurm({"scontrol", "show", "job", "-d", "-o", id}, limit);
  return job ? std::optional(*job) : std::nullopt;
}

}  // namespace train
