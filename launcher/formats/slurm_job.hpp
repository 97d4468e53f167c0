// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/plan/plan.hpp"

namespace train {

/// What a job of Slurm is asked for beside what its plan needs.
struct SlurmJob {
  std::string task = {};                   ///< its id; empty: not known yet
  std::string partition = {};              ///< empty: the default one
  std::string gpu_type = {};               ///< as the cluster spells it; empty: any
  std::vector<std::string> excluded = {};  ///< nodes that are not to be used
  /// Of the node that has the least; nothing: not known.
  std::optional<std::int64_t> cpus_per_gpu = {};
  std::optional<std::chrono::minutes> limit = {};  ///< of the time of jobs there; nothing: none
};

/// What the body of a job's script does.
struct SlurmJobBody {
  std::string program;             ///< absolute path of `train`
  std::string directory;           ///< where the ranks' command starts; absolute
  std::string output;              ///< the file of what `train` says there; absolute
  std::vector<std::string> words;  ///< what follows the program's name
  std::string input;               ///< its standard input, one line
};

/// The options of sbatch(1) for a job in which the plan fits, one word each: as many nodes as it
/// has hosts, and on each as many tasks, CPUs, GPUs and memory as the host that needs most. A
/// search gets room for the trials that run at once. CPUs that the experiment does not name are a
/// share of the node's, as large as that of its GPUs. The options that the experiment gives come
/// last, and count. There must be room for at least one trial, and `max_concurrent_trials` or
/// `max_slots` must limit a search.
std::vector<std::string> slurm_job_options(const Plan& plan, const SlurmJob& job);

/// Options of sbatch as the lines of a script that it reads.
std::string slurm_directives(const std::vector<std::string>& options);

/// The rest of the script: becomes `train`, which it finds where the submitting machine has it, or
/// else awaits in the file that `slurm_program_copy` names, for at most a minute.
std::string slurm_job_body(const SlurmJobBody& body);

/// Where a job finds a program that was sent to its nodes; `id` is the job's, as a shell may expand
/// it.
std::string slurm_program_copy(const std::string& id);

}  // namespace train
