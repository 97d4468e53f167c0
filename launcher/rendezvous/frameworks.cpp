// SPDX-License-Identifier: Apache-2.0
#include "launcher/rendezvous/frameworks.hpp"

#include <fmt/format.h>

#include <string>

namespace train {
namespace {

constexpr const char* loopback = "127.0.0.1";

std::string host_count(const RankView& view) {
  return std::to_string(view.plan.trial.hosts.size());
}

// The address and the port of a server on rank 0's host.
void add_server(const RankView& view, const std::string& prefix, AtLaunch address,
                Variables& variables) {
  if (view.plan.trial.hosts.size() == 1)
    variables.set(prefix + "ADDR", loopback);
  else
    variables.set_at_launch(prefix + "ADDR", address);
  variables.set_at_launch(prefix + "PORT", AtLaunch::rendezvous_port);
}

void add_torch_ranks(const RankView& view, Variables& variables) {
  const std::string rank = std::to_string(view.rank.rank);
  const std::string world = std::to_string(view.plan.trial.world_size);
  const std::string node = std::to_string(view.rank.host);
  variables.set("RANK", rank);
  variables.set("WORLD_SIZE", world);
  variables.set("LOCAL_RANK", std::to_string(view.rank.local_rank));
  variables.set("LOCAL_WORLD_SIZE", std::to_string(view.host.rank_count));
  variables.set("GROUP_RANK", node);
  variables.set("GROUP_WORLD_SIZE", host_count(view));
  variables.set("NODE_RANK", node);
  variables.set("ROLE_NAME", "default");
  variables.set("ROLE_RANK", rank);
  variables.set("ROLE_WORLD_SIZE", world);
  add_server(view, "MASTER_", AtLaunch::rendezvous_address, variables);
}

void add_torch_workers(const RankView& view, Variables& variables) {
  add_torch_ranks(view, variables);
  variables.set_at_launch("TORCHELASTIC_RUN_ID", AtLaunch::task_id);
  variables.set("TORCHELASTIC_RESTART_COUNT", std::to_string(view.restarts));
  variables.set("TORCHELASTIC_MAX_RESTARTS", std::to_string(view.plan.experiment.max_restarts));
  variables.set("TORCHELASTIC_USE_AGENT_STORE", "False");
  variables.set_at_launch("TORCHELASTIC_ERROR_FILE", AtLaunch::error_file);
}

// torchrun reads its arguments from PET_*, joins address and port with a colon, makes the ranks
// itself, and copies the error of the rank that failed first to the error file.
void add_torchrun(const RankView& view, Variables& variables) {
  variables.set("PET_NNODES", host_count(view));
  variables.set("PET_NODE_RANK", std::to_string(view.rank.host));
  variables.set("PET_NPROC_PER_NODE", std::to_string(view.host.worker_count));
  add_server(view, "PET_MASTER_", AtLaunch::rendezvous_host, variables);
  variables.set_at_launch("TORCHELASTIC_ERROR_FILE", AtLaunch::error_file);
}

void add_torch(const RankView& view, Variables& variables) {
  if (view.plan.experiment.processes == Processes::per_host)
    add_torchrun(view, variables);
  else
    add_torch_workers(view, variables);
}

// DeepSpeed's own launcher counts hosts here, regardless of their sizes
// (deepspeed/launcher/launch.py).
void add_deepspeed(const RankView& view, Variables& variables) {
  add_torch(view, variables);
  variables.set("CROSS_RANK", std::to_string(view.rank.host));
  variables.set("CROSS_SIZE", host_count(view));
  variables.set("LOCAL_SIZE", std::to_string(view.host.worker_count));
}

void add_jax(const RankView& view, Variables& variables) {
  variables.set_at_launch("JAX_COORDINATOR_ADDRESS", AtLaunch::rendezvous_endpoint);
  variables.set("JAX_NUM_PROCESSES", std::to_string(view.plan.trial.world_size));
  variables.set("JAX_PROCESS_ID", std::to_string(view.rank.rank));
}

// The variables that horovodrun gives the ranks of its Gloo controller
// (horovod/runner/gloo_run.py).
void add_horovod(const RankView& view, Variables& variables) {
  variables.set("HOROVOD_HOSTNAME", view.host.host.name);
  variables.set("HOROVOD_RANK", std::to_string(view.rank.rank));
  variables.set("HOROVOD_SIZE", std::to_string(view.plan.trial.world_size));
  variables.set("HOROVOD_LOCAL_RANK", std::to_string(view.rank.local_rank));
  variables.set("HOROVOD_LOCAL_SIZE", std::to_string(view.host.rank_count));
  variables.set("HOROVOD_CROSS_RANK", std::to_string(view.rank.cross_rank));
  variables.set(
      "HOROVOD_CROSS_SIZE",
      std::to_string(view.plan.trial.cross_sizes[static_cast<std::size_t>(view.rank.local_rank)]));
  variables.set("HOROVOD_CONTROLLER", "gloo");
  variables.set("HOROVOD_CPU_OPERATIONS", "gloo");
  add_server(view, "HOROVOD_GLOO_RENDEZVOUS_", AtLaunch::rendezvous_address, variables);
  if (view.plan.experiment.auto_tune_tensor_fusion) variables.set("HOROVOD_AUTOTUNE", "1");
}

// Open MPI's node rank counts over all jobs of a host; here there is one.
void add_mpi(const RankView& view, Variables& variables) {
  const std::string rank = std::to_string(view.rank.rank);
  const std::string world = std::to_string(view.plan.trial.world_size);
  const std::string local_rank = std::to_string(view.rank.local_rank);
  variables.set("OMPI_COMM_WORLD_RANK", rank);
  variables.set("OMPI_COMM_WORLD_SIZE", world);
  variables.set("OMPI_COMM_WORLD_LOCAL_RANK", local_rank);
  variables.set("OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(view.host.rank_count));
  variables.set("OMPI_COMM_WORLD_NODE_RANK", local_rank);
  variables.set("PMI_RANK", rank);
  variables.set("PMI_SIZE", world);
}

}  // namespace

bool is_host_launcher(const ExperimentConfig& experiment) {
  if (experiment.processes != Processes::per_host) return false;
  return experiment.framework == Framework::torch || experiment.framework == Framework::deepspeed ||
         experiment.framework == Framework::none;
}

void add_rendezvous(const RankView& view, Variables& variables) {
  switch (view.plan.experiment.framework) {
    case Framework::torch:
      return add_torch(view, variables);
    case Framework::deepspeed:
      return add_deepspeed(view, variables);
    case Framework::jax:
      return add_jax(view, variables);
    case Framework::tensorflow:
      return variables.set_at_launch("TF_CONFIG", AtLaunch::tensorflow_cluster);
    case Framework::horovod:
      return add_horovod(view, variables);
    case Framework::mpi:
      return add_mpi(view, variables);
    case Framework::none:
      return;
  }
}

}  // namespace train
