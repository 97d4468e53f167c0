// SPDX-License-Identifier: Apache-2.0
#include "cli/request/slurm_hosts.hpp"

#include <fmt/format.h>

#include "backends/command/slurm_query.hpp"
#include "config_schema/text/duration.hpp"

namespace train {

namespace {

constexpr milliseconds answer_limit{20'000};  // a controller that is away takes 9 s

}  // namespace

bool is_for_slurm(const ExperimentConfig& experiment, const EnvironmentMap& environment) {
  // A login that Slurm has adopted has the id of a job alone.
  const bool is_in_job = find_variable(environment, "SLURM_JOB_ID") != nullptr &&
                         (find_variable(environment, "SLURM_JOB_NODELIST") != nullptr ||
                          find_variable(environment, "SLURM_NODELIST") != nullptr);
  return experiment.engine == Engine::slurm && !is_in_job;
}

Result<SlurmPartition> ask_for_partition(const ExperimentConfig& experiment,
                                         const EnvironmentMap& environment) {
  const auto nodes =
      ask_slurm({"sinfo", "--noheader", "--Node", fmt::format("--format={}", slurm_node_format)},
                answer_limit);
  if (!nodes) return tl::make_unexpected(with_context(nodes.error(), "engine: slurm"));
  PartitionWish wish{.name = experiment.resource_pool,
                     .gpu_type = experiment.slurm.gpu_type,
                     .accelerator_type = experiment.needs.accelerator_type,
                     .slots_per_node = experiment.slurm.slots_per_node,
                     .needs_slots = !experiment.needs.slots.is_zero()};
  // sbatch would take it, too.
  const std::string* named = find_variable(environment, "SBATCH_PARTITION");
  if (wish.name.empty() && named != nullptr) wish.name = *named;
  auto partition = read_slurm_partition(*nodes, wish);
  if (!partition) return partition;
  if (experiment.max_runtime && partition->limit && *experiment.max_runtime > *partition->limit)
    return fail(ErrorClass::never,
                fmt::format("max_runtime is {}, and partition {} ends jobs after {}",
                            duration_text(*experiment.max_runtime), partition->name,
                            duration_text(*partition->limit)),
                "ask for less (--max-runtime), or name another partition "
                "(--set resources.resource_pool=...)");
  return partition;
}

}  // namespace train
