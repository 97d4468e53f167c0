// SPDX-License-Identifier: Apache-2.0
#include "launcher/formats/slurm_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "config_schema/text/shell_words.hpp"
#include "launcher/formats/formats.hpp"

namespace train {

namespace {

// What each node of the job needs at most.
struct NodeNeeds {
  std::int64_t nodes = 0;
  std::int64_t workers = 0;
  std::int64_t gpus = 0;
  std::int64_t cpus_per_worker = 0;
  std::uint64_t memory = 0;  // bytes; 0: what the cluster gives
};

std::int64_t quotient_up(std::int64_t dividend, std::int64_t divisor) {
  return (dividend + divisor - 1) / divisor;
}

// CPUs for each worker of this host. Those of the trainer are shared out too: a job asks for the
// same on each node.
std::int64_t cpus_per_worker(const Plan& plan, const PlannedHost& host,
                             const std::optional<std::int64_t>& cpus_per_gpu) {
  const ExperimentConfig& experiment = plan.experiment;
  const std::int64_t workers = host.worker_count;
  const std::int64_t needed =
      slurm_cpus(experiment.needs.cpus * static_cast<int>(workers) + experiment.trainer.cpus);
  std::int64_t share = 1;
  if (experiment.needs.cpus.is_zero() && host.slots_are_gpus && cpus_per_gpu)
    share = *cpus_per_gpu * static_cast<std::int64_t>(host.slots.size()) / workers;
  return std::max(quotient_up(needed, workers), std::max<std::int64_t>(share, 1));
}

NodeNeeds needs_of_trial(const Plan& plan, const std::optional<std::int64_t>& cpus_per_gpu) {
  NodeNeeds needs;
  const ExperimentConfig& experiment = plan.experiment;
  for (const PlannedHost& host : plan.trial.hosts) {
    ++needs.nodes;
    needs.workers = std::max<std::int64_t>(needs.workers, host.worker_count);
    if (host.slots_are_gpus)
      needs.gpus = std::max(needs.gpus, static_cast<std::int64_t>(host.slots.size()));
    needs.cpus_per_worker =
        std::max(needs.cpus_per_worker, cpus_per_worker(plan, host, cpus_per_gpu));
    if (experiment.needs.memory || experiment.trainer.memory > 0)
      needs.memory = std::max(needs.memory, experiment.needs.memory.value_or(0) *
                                                    static_cast<std::uint64_t>(host.worker_count) +
                                                experiment.trainer.memory);
  }
  return needs;
}

// As many trials as the host of one has room for beside each other, by all that they need.
std::int64_t trials_on_a_node(const PlannedHost& host, const NodeNeeds& trial) {
  const int slots = slot_count(host.host).value_or(0);
  const auto used = static_cast<std::int64_t>(host.slots.size());
  std::int64_t most = used > 0 ? slots / used : 1;
  const std::int64_t cpus = trial.workers * trial.cpus_per_worker;
  if (host.host.cpus) most = std::min(most, host.host.cpus->whole() / cpus);
  if (host.host.memory && trial.memory > 0)
    most = std::min(most, static_cast<std::int64_t>(*host.host.memory / trial.memory));
  return std::max<std::int64_t>(most, 1);
}

NodeNeeds needs_of_job(const Plan& plan, const std::optional<std::int64_t>& cpus_per_gpu) {
  NodeNeeds needs = needs_of_trial(plan, cpus_per_gpu);
  if (!plan.trials) return needs;
  const std::int64_t trials = plan.trials->at_once;
  if (needs.nodes > 1) {
    needs.nodes *= trials;
    return needs;
  }
  const std::int64_t together = std::min(trials, trials_on_a_node(plan.trial.hosts.front(), needs));
  needs.nodes = quotient_up(trials, together);
  needs.workers *= together;
  needs.gpus *= together;
  needs.memory *= static_cast<std::uint64_t>(together);
  return needs;
}

// The time of the job: a task of limited time ends before Slurm ends it.
std::optional<std::chrono::minutes> time_of(const Plan& plan, const SlurmJob& job) {
  const ExperimentConfig& experiment = plan.experiment;
  if (!experiment.max_runtime) return std::nullopt;
  const auto all = *experiment.max_runtime + experiment.stop_notice + experiment.stop_grace;
  const auto time = std::chrono::ceil<std::chrono::minutes>(all) + std::chrono::minutes(1);
  return job.limit ? std::min(time, *job.limit) : time;
}

// How long before its limit the launcher is warned. Slurm kills 30 s after its limit (KillWait),
// and sends a warning up to a minute early: it is worth that where ranks take longer to stop, or
// where the job is to go back into the queue before its time is over.
std::optional<std::chrono::seconds> warning_before(
    const ExperimentConfig& experiment, const std::optional<std::chrono::minutes>& limit) {
  constexpr std::chrono::seconds surely_left{20};
  constexpr std::chrono::seconds slack{10};
  const auto stop = experiment.stop_notice + experiment.stop_grace;
  const bool goes_back = experiment.max_restarts > 0 && !experiment.max_runtime;
  if (!goes_back && (!limit || stop <= surely_left)) return std::nullopt;
  const auto before = std::chrono::ceil<std::chrono::seconds>(stop) + slack;
  return limit ? std::min(before, std::chrono::seconds(*limit) / 4) : before;
}

}  // namespace

std::vector<std::string> slurm_job_options(const Plan& plan, const SlurmJob& job) {
  const NodeNeeds needs = needs_of_job(plan, job.cpus_per_gpu);
  std::vector<std::string> options;
  const auto add = [&](std::string option) { options.push_back("--" + std::move(option)); };
  add(fmt::format("job-name={}", slurm_job_name(plan.experiment.name)));
  if (!job.task.empty()) add("comment=train:" + job.task);
  if (!job.partition.empty()) add("partition=" + job.partition);
  add(fmt::format("nodes={}", needs.nodes));
  add(fmt::format("ntasks-per-node={}", needs.workers));
  add(fmt::format("cpus-per-task={}", needs.cpus_per_worker));
  if (needs.gpus > 0)
    add(fmt::format("gpus-per-node={}{}{}", job.gpu_type, job.gpu_type.empty() ? "" : ":",
                    needs.gpus));
  if (needs.memory > 0) add(slurm_memory_option(needs.memory));
  if (!job.excluded.empty()) add("exclude=" + slurm_host_set(job.excluded));
  const auto time = time_of(plan, job);
  if (time) add(fmt::format("time={}", time->count()));
  const bool may_go_back = plan.experiment.max_restarts > 0;
  const bool is_of_partition = may_go_back && !time;
  if (const auto before = warning_before(plan.experiment, is_of_partition ? job.limit : time))
    add(fmt::format("signal=B:USR1@{}", before->count()));
  // A task that may be restarted goes on once its job runs again.
  add(may_go_back ? "requeue" : "no-requeue");
  add("output=/dev/null");
  add("export=ALL");
  // The last one counts.
  const auto& more = plan.experiment.slurm.sbatch_args;
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

std::string slurm_directives(const std::vector<std::string>& options) {
  std::string text = "#!/bin/bash";
  // sbatch splits these lines into words as a shell does. What is no option is the value of one.
  for (const std::string& option : options)
    text += (option.starts_with('-') ? "\n#SBATCH " : " ") + shell_quoted(option);
  return text + "\n";
}

std::string slurm_program_copy(const std::string& id) { return "/tmp/.train-program-" + id; }

std::string slurm_job_body(const SlurmJobBody& body) {
  // What other users leave in /tmp under that name is not executed.
  return fmt::format(
      "output={0}\n"
      "(umask 077; mkdir -p \"${{output%/*}}\"; : >>\"$output\")\n"
      "exec >>\"$output\" 2>&1\n"
      "cd {1} || exit 72\n"
      "program={2}\n"
      "copy={3}\n"
      "for ((second = 0; second < 60; ++second)); do\n"
      "  [ -x \"$program\" ] && break\n"
      "  [ -O \"$copy\" ] && [ -x \"$copy\" ] && program=$copy\n"
      "  [ -x \"$program\" ] || sleep 1\n"
      "done\n"
      "exec \"$program\" {4} <<'request'\n"
      "{5}\n"
      "request\n",
      shell_quoted(body.output), shell_quoted(body.directory), shell_quoted(body.program),
      slurm_program_copy("$SLURM_JOB_ID"), shell_line(body.words), body.input);
}

}  // namespace train
