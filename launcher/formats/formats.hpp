// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/picture/cluster_picture.hpp"
#include "launcher/picture/picture_text.hpp"
#include "launcher/plan/plan.hpp"

namespace train {

/// The directory that a launch with `--context` would send to the hosts, in its present state. It
/// is not part of the plan, because a launch reads the directory while it connects; it is printed
/// beside the plan.
struct PlannedContext {
  std::string directory;  ///< as given by the user
  std::string sha256;     ///< of its archive
  std::size_t files = 0;
  std::uint64_t bytes = 0;                 ///< of all files
  std::vector<std::string> warnings = {};  ///< a line each
};

/// The plan for people, on one screen: a title, the cluster with a row for every host and its slots
/// as cells, the rank table, the batch, warnings and advice. Hosts and ranks are folded until they
/// fit the screen; warnings (also those of the context) and advice are shown in full.
/// `subject.most_rows` is not used. Ends with a newline.
std::string plan_to_text(const PictureSubject& subject, const TextOptions& options = {},
                         const std::optional<PlannedContext>& context = {});

/// The plan as a picture for a browser: see `picture_to_svg`. Hosts are folded into at most 40
/// rows; `subject.most_rows` is not used.
std::string plan_to_svg(const PictureSubject& subject);

/// The plan as one JSON document that follows config_schema/fields/plan.schema.json, with the whole
/// environment of every rank (secrets redacted). `warnings` also has those of the context. Ends
/// with a newline.
std::string plan_to_json(const Plan& plan, const std::optional<PlannedContext>& context = {});

/// `{"refused": {"kind": "never", "reasons": [...], "nearest": [...]}}`, following the same schema.
std::string refusal_to_json(const Refusal& refusal);

/// The environment of every rank, or only of `rank` (which must be in the plan), as blocks that a
/// POSIX shell can source: a comment that names the rank, then `export NAME='value'` lines. Values
/// known only at launch, secrets, and variables that shells cannot set are comments.
std::string plan_to_env(const Plan& plan, std::optional<int> rank = {});

/// The hosts of the plan as DeepSpeed's hostfile, in rank order: `node01 slots=8`, where slot N is
/// device N and the count includes the highest used one (deepspeed/launcher/runner.py). For hosts
/// whose slots are not devices, the count is the number of workers. Comments contain what such a
/// file cannot express: the used slots (as `--include`), hosts without one rank per slot, addresses
/// and ports.
std::string plan_to_hostfile(const Plan& plan, const std::optional<PlannedContext>& context = {});

/// The plan as a batch script for Slurm's sbatch(1): directives that request the same hosts with
/// the same ranks, GPUs, CPUs and memory on each, then an `srun` of the entrypoint, or of the words
/// that follow the script's name, with torch's rendezvous variables.
/// - Equal hosts in Slurm's order: `--ntasks-per-node`, block distribution.
/// - Hosts in another order, or with different numbers of ranks while all have room for the
///   largest: `--distribution=arbitrary` with a SLURM_HOSTFILE that the script makes.
/// - Otherwise a heterogeneous job, with one component for each run of equal hosts.
std::string plan_to_slurm(const Plan& plan, const std::optional<PlannedContext>& context = {});

// Lines that several formats share.

/// One line that describes what runs: "digits: 16 ranks on 2 of 3 hosts, 16 slots".
std::string plan_title(const Plan& plan, std::size_t hosts);

/// The samples of each step, or empty without a batch: "global 101, ranks take 100, ...".
std::string batch_line(const Plan& plan);

/// How many trials run at once, and what limits them: "4 of 12 at once (max_slots; 6 would fit)".
/// Empty for an experiment of one trial.
std::string trials_line(const Plan& plan);

/// A line below the rank table: "bracket 0: 70 trials, ...".
struct PlanLine {
  std::string what;  ///< "bracket 0"
  std::string text;
};
/// What a search will do: its trials and how long they train, its brackets, and the first trials
/// with their varying hyperparameters. Empty if the experiment has nothing to search.
std::vector<PlanLine> search_lines(const Plan& plan);
/// The same for programs.
nlohmann::ordered_json search_json(const Plan& plan);

/// The TPU slices of the plan and their hosts: "a: t[1-4], b: t[5-8], and 6 more"; empty if there
/// are none.
std::string slices_line(const Plan& plan);
/// The checkpoint folder, with TASK in place of the task's id; empty if the experiment has none.
std::string checkpoints_line(const Plan& plan);
/// How often a trial is restarted, and which setting says so; empty if it is not.
std::string restarts_line(const Plan& plan);

/// The context directory: "code: 3 files, 812 bytes, sha256 0f3a..."; empty without one.
std::string context_line(const std::optional<PlannedContext>& context);

/// The warnings of the plan, then those of the context, each on one line with its place and the
/// next step: "hosts:3: ...; name it once".
std::vector<std::string> warning_lines(const Plan& plan,
                                       const std::optional<PlannedContext>& context);

// How Slurm treats names.

/// Whether Slurm sorts one host before another: it compares numbers in names as numbers.
bool slurm_sorts_before(std::string_view left, std::string_view right);

/// A host set in Slurm's grammar, which has ranges and no steps: "n[0-2,4]".
std::string slurm_host_set(const std::vector<std::string>& names);

/// Whole CPUs, the unit of Slurm: rounded up.
std::int64_t slurm_cpus(const Quantity& cpus);

/// The option of sbatch for memory of a node: rounded up to MiB.
std::string slurm_memory_option(std::uint64_t bytes);

/// A job name that is valid in a directive: letters, digits, `.`, `_` and `-`, at most 64.
std::string slurm_job_name(std::string_view name);

}  // namespace train
