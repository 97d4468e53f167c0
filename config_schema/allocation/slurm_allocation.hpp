// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "config_schema/allocation/scheduler_allocation.hpp"
#include "config_schema/hosts/host_set.hpp"

namespace train {

/// Reads numbers in Slurm's compressed form: `8(x3),4` is 8 8 8 4. At most `max_hosts` of them,
/// each from 1 to 65,536.
tl::expected<std::vector<int>, HostSetError> read_slurm_counts(std::string_view text);

/// Reads a number of GPUs as Slurm's options take it: `4`, `a100:4`, `a100:2,v100:2` (all of them).
/// `type` is empty unless exactly one is named.
struct SlurmGpus {
  int count = 0;
  std::string type;
};
tl::expected<SlurmGpus, HostSetError> read_slurm_gpus(std::string_view text);

/// The GPUs of generic resources as Slurm writes them: `gpu:a100:2(IDX:0-1),gpu:1,tpu:4`; only
/// those of this type, in any case, if one is given. Their type counts if all have it.
SlurmGpus gpus_of_gres(std::string_view gres, std::string_view type = {});
/// The types that are named there, as they are written.
std::vector<std::string> gpu_types_of_gres(std::string_view gres);
/// These GPUs are the slots of the host.
void give_gpus(const SlurmGpus& gpus, Host& host);
/// It has none for this job, whatever the machine has.
void give_no_gpus(Host& host);

/// The words that start a step of one process on a host of a job. Each is needed:
/// without
/// `--overlap` the step waits for all others, without `--propagate` it gets the limits of this
/// process. Ranks are bound to CPUs by their agent. Where messages are to arrive that do not end
/// with a newline, `--unbuffered` is needed, too. Source: srun(1), and trials.
std::vector<std::string> slurm_step_words(const std::string& job, const std::string& host);

/// The hosts of the Slurm job that this environment belongs to: `SLURM_JOB_NODELIST` (older:
/// `SLURM_NODELIST`), of a heterogeneous job those of all its components.
///
/// Slots are the GPUs of the job where it says how many each node has: `SLURM_GPUS_PER_NODE`,
/// `SLURM_GPUS_PER_TASK` times the tasks there, `SLURM_GPUS` if it can only be shared out evenly,
/// `SLURM_GPUS_ON_NODE` or `SLURM_JOB_GPUS` (what `--gres=gpu:N` leaves: as many on every node).
/// Else the tasks: `SLURM_TASKS_PER_NODE`, `SLURM_NTASKS_PER_NODE`. Else, and inside a job step,
/// whose tasks are not the job's, `SLURM_JOB_CPUS_PER_NODE` by `SLURM_CPUS_PER_TASK`. The CPUs of
/// the job are those of the host. On a node of a job without GPUs, slots are no GPUs, whatever the
/// nodes have: those are for other jobs. Source: sbatch(1), "OUTPUT ENVIRONMENT VARIABLES".
///
/// `Host::command` is that of a job step on the host, with `srun`, if the id of the job is known.
Result<HostInventory> read_slurm_allocation(const EnvironmentMap& environment);

/// The id of the job whose steps the command of this host starts; empty: it starts none.
std::string slurm_job_of(const Host& host);

/// Whether these hosts of a Slurm job may have GPUs of which its variables say nothing, or not how
/// many each host has: `salloc --gres=gpu:2` on a submitting host, `--gpus=7` on three nodes.
bool may_have_more_gpus(const HostInventory& hosts);

/// Settles that by what `scontrol show job -d -o` says of the job: words like `Nodes=n[1-2]` and
/// then `GRES=gpu:a100:2(IDX:0-1)`. What is not understood there is passed over.
void settle_gpus(std::string_view job, HostInventory& hosts);

}  // namespace train
