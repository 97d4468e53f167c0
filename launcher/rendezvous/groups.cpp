// SPDX-License-Identifier: Apache-2.0
#include "launcher/rendezvous/groups.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace train {
namespace {

constexpr const char* loopback = "127.0.0.1";

std::string number(std::int64_t value) { return fmt::format("{}", value); }
std::string flag(bool value) { return value ? "1" : "0"; }

void add_master(const RankView& view, const std::string& prefix, Variables& variables) {
  if (view.plan.trial.hosts.size() == 1)
    variables.set(prefix + "MASTER_ADDR", loopback);
  else
    variables.set_at_launch(prefix + "MASTER_ADDR", AtLaunch::rendezvous_address);
  variables.set_at_launch(prefix + "MASTER_PORT", AtLaunch::rendezvous_port);
}

void add_torch_ranks(const RankView& view, Variables& variables) {
  const Trial& trial = view.plan.trial;
  const std::string rank = number(view.rank.rank);
  const std::string world = number(trial.world_size);
  const std::string node = number(view.rank.host);
  variables.set("RANK", rank);
  variables.set("WORLD_SIZE", world);
  variables.set("LOCAL_RANK", number(view.rank.local_rank));
  variables.set("LOCAL_WORLD_SIZE", number(view.host.rank_count));
  variables.set("GROUP_RANK", node);
  variables.set("GROUP_WORLD_SIZE", number(static_cast<std::int64_t>(trial.hosts.size())));
  variables.set("NODE_RANK", node);
  variables.set("ROLE_NAME", "default");
  variables.set("ROLE_RANK", rank);
  variables.set("ROLE_WORLD_SIZE", world);
  add_master(view, "", variables);
}

void add_torch(const RankView& view, Variables& variables) {
  add_torch_ranks(view, variables);
  variables.set_at_launch("TORCHELASTIC_RUN_ID", AtLaunch::task_id);
  variables.set("TORCHELASTIC_RESTART_COUNT", "0");
  variables.set("TORCHELASTIC_MAX_RESTARTS", number(view.plan.experiment.max_restarts));
  variables.set("TORCHELASTIC_USE_AGENT_STORE", "False");
  variables.set_at_launch("TORCHELASTIC_ERROR_FILE", AtLaunch::error_file);
}

// torchrun reads its arguments from PET_*, makes the ranks itself, and copies the error of the one
// that failed first to the error file.
void add_torchrun(const RankView& view, Variables& variables) {
  variables.set("PET_NNODES", number(static_cast<std::int64_t>(view.plan.trial.hosts.size())));
  variables.set("PET_NODE_RANK", number(view.rank.host));
  variables.set("PET_NPROC_PER_NODE", number(view.host.worker_count));
  add_master(view, "PET_", variables);
  variables.set_at_launch("TORCHELASTIC_ERROR_FILE", AtLaunch::error_file);
}

void add_jax(const RankView& view, Variables& variables) {
  variables.set_at_launch("JAX_COORDINATOR_ADDRESS", AtLaunch::rendezvous_endpoint);
  variables.set("JAX_NUM_PROCESSES", number(view.plan.trial.world_size));
  variables.set("JAX_PROCESS_ID", number(view.rank.rank));
}

void set_number(Variables& variables, const char* name, const std::optional<std::uint64_t>& value) {
  if (value) variables.set(name, fmt::format("{}", *value));
}

// The workers of a per-host process share its environment: a share is said only when it is the
// same for each of them, and where their samples begin is theirs to work out.
void add_rank_batch(const RankView& view, Variables& variables) {
  const auto workers = static_cast<std::uint64_t>(view.host.worker_count / view.host.rank_count);
  if (!view.rank.batch_size || *view.rank.batch_size % workers != 0) return;
  variables.set("TRAIN_BATCH_SIZE", fmt::format("{}", *view.rank.batch_size / workers));
  if (workers == 1) set_number(variables, "TRAIN_BATCH_OFFSET", view.rank.batch_offset);
}

void add_interface(const RankView& view, Variables& variables) {
  if (view.plan.trial.hosts.size() < 2 || view.host.host.interface.empty()) return;
  variables.set_default("NCCL_SOCKET_IFNAME", "=" + view.host.host.interface);
  variables.set_default("GLOO_SOCKET_IFNAME", view.host.host.interface);
}

// The workers of a per-host process inherit the value, so it is always one worker's.
void add_threads(const RankView& view, Variables& variables) {
  const Quantity cpus = view.plan.experiment.needs.cpus;
  if (!cpus.is_zero())
    variables.set_default("OMP_NUM_THREADS", number(std::max<std::int64_t>(1, cpus.whole())));
  else if (view.host.worker_count > 1)
    variables.set_default("OMP_NUM_THREADS", "1");
}

}  // namespace

void add_rendezvous(const RankView& view, Variables& variables) {
  const bool is_per_host = view.plan.experiment.processes == Processes::per_host;
  switch (view.plan.experiment.framework) {
    case Framework::torch:
      is_per_host ? add_torchrun(view, variables) : add_torch(view, variables);
      break;
    case Framework::jax:
      add_jax(view, variables);
      break;
    case Framework::none:
      break;
  }
}

void add_own(const RankView& view, Variables& variables) {
  const ExperimentConfig& experiment = view.plan.experiment;
  const Trial& trial = view.plan.trial;
  variables.set_at_launch("TRAIN_TASK_ID", AtLaunch::task_id);
  variables.set_at_launch("TRAIN_RUN_DIR", AtLaunch::run_directory);
  variables.set("TRAIN_TRIAL_ID", number(trial.trial));
  variables.set("TRAIN_RESTART_COUNT", "0");
  if (experiment.searched.empty())
    variables.set("TRAIN_HPARAMS", experiment.hyperparameters_json);
  else
    variables.set_at_launch("TRAIN_HPARAMS", AtLaunch::hyperparameters);
  variables.set("TRAIN_DATA", experiment.data_json);
  variables.set("TRAIN_AGGREGATION_FREQUENCY", number(experiment.aggregation_frequency));
  variables.set("TRAIN_GRADIENT_COMPRESSION", flag(experiment.gradient_compression));
  variables.set("TRAIN_AVERAGE_TRAINING_METRICS", flag(experiment.average_training_metrics));
  variables.set("TRAIN_BACKEND", std::string(to_string(trial.backend)));
  set_number(variables, "TRAIN_GLOBAL_BATCH_SIZE", trial.global_batch_size);
  set_number(variables, "TRAIN_PER_SLOT_BATCH_SIZE", trial.per_slot_batch_size);
  set_number(variables, "TRAIN_EFFECTIVE_BATCH_SIZE", trial.effective_batch_size);
  add_rank_batch(view, variables);
}

void add_defaults(const RankView& view, Variables& variables) {
  add_interface(view, variables);
  add_threads(view, variables);
  if (view.plan.experiment.framework == Framework::torch)
    variables.set_default("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
  variables.set_default("PYTHONUNBUFFERED", "1");
  variables.set_default("PYTHONFAULTHANDLER", "1");
}

}  // namespace train
