// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/plan/environment_entry.hpp"
#include "launcher/search/search_preview.hpp"

namespace train {

/// One rank: where it runs and what share of the batch it takes.
struct PlannedRank {
  int rank = 0;            ///< 0 .. world size - 1, host by host in file order
  int local_rank = 0;      ///< 0 .. ranks on this host - 1
  int host = 0;            ///< index into Trial::hosts; the node rank
  int cross_rank = 0;      ///< hosts before its own that have its local rank, as Horovod counts
  std::vector<int> slots;  ///< slot indices on its host; empty for a CPU-only worker beside GPUs
  std::optional<std::uint64_t> batch_size;    ///< samples per step of this rank
  std::optional<std::uint64_t> batch_offset;  ///< samples per step of all ranks before it

  bool operator==(const PlannedRank&) const = default;
};

/// One host that the trial uses.
struct PlannedHost {
  Host host;
  std::vector<int> slots;       ///< slots that the trial uses there, ascending
  bool slots_are_gpus = false;  ///< slot indices are device indices
  /// Only the host can say which devices its slots are, and unless `slots_are_gpus` whether they
  /// are any (`slot_type: auto`): it is asked at launch.
  bool devices_at_launch = false;
  int first_rank = 0;
  int rank_count = 0;
  /// Workers of the trial there; differs from `rank_count` only when `processes` is `per_host`: one
  /// rank is then started for all of them, owns all their slots, and takes their whole batch.
  int worker_count = 0;
  int slice = -1;        ///< index into Trial::slices; -1: not on a TPU slice
  int slice_worker = 0;  ///< 0 .. hosts of its slice - 1: TPU_WORKER_ID

  bool operator==(const PlannedHost&) const = default;
};

/// The devices of the machine behind slots of a host whose slots are devices.
std::vector<int> devices_of(const Host& host, const std::vector<int>& slots);

/// One TPU slice that the trial uses, all of it.
struct PlannedSlice {
  std::string name;        ///< the `slice:` that its hosts declare; the host's name if it is alone
  std::vector<int> hosts;  ///< indices into Trial::hosts, by slice worker

  bool operator==(const PlannedSlice&) const = default;
};

/// One trial, placed.
struct Trial {
  int trial = 0;  ///< index in the experiment
  int world_size = 0;
  Quantity slots;  ///< that the trial takes in all
  std::optional<std::uint64_t> global_batch_size;
  std::optional<std::uint64_t> batch_sum;             ///< what the ranks really add up to
  std::optional<std::uint64_t> effective_batch_size;  ///< batch_sum x aggregation_frequency
  std::optional<std::uint64_t> per_slot_batch_size;
  /// What the ranks are told to use: `auto` resolved to `nccl` when every rank has GPUs of its own,
  /// else to `gloo`; `auto` still where the launch decides what slots are.
  CollectiveBackend backend = CollectiveBackend::gloo;
  std::vector<PlannedHost> hosts;
  std::vector<PlannedRank> ranks;
  std::vector<int> cross_sizes;  ///< by local rank: hosts that have it
  /// Slots of the first host that the trainer takes beside the ranks, ascending.
  std::vector<int> trainer_slots;
  std::vector<PlannedSlice> slices;  ///< TPU slices, numbered by their first host

  bool operator==(const Trial&) const = default;
};

/// How many trials of an experiment with several there are, and how many run at once on these
/// hosts.
struct TrialCounts {
  enum class Limit { hosts, max_concurrent_trials, max_slots, trials };
  std::optional<std::int64_t> trials;  ///< in all; nothing: the searcher does not say
  std::int64_t fit = 0;                ///< that these hosts hold at once, by the placement rule
  bool is_at_least = false;            ///< more than `fit` may fit: the search for it was bounded
  std::int64_t at_once = 0;            ///< `fit` within what the experiment allows; >= 1
  Limit limit = Limit::hosts;          ///< what makes `at_once` what it is

  bool operator==(const TrialCounts&) const = default;
};

/// Every rank with its host, slots, batch and environment (`environment_of`): the same inputs give
/// the same bytes. `train plan` prints what `train launch` runs, and neither needs more than this.
struct Plan {
  ExperimentConfig experiment;        ///< of a search: as its first trial has it
  Trial trial;                        ///< one, the first; the others are like it
  std::optional<TrialCounts> trials;  ///< when the experiment has several
  std::optional<SearchPreview> search = {};
  UserVariables user_variables = {};
  /// All that there are: of the experiment and the hosts, with their places, then of the plan.
  std::vector<Diagnostic> warnings = {};
  std::vector<std::string> advice = {};  ///< a line each
};

/// Somebody who holds slots that a trial would fit on.
struct Holder {
  std::string holder;                           ///< "task 3f9c of alice"
  std::vector<std::string> hosts;               ///< file order
  Quantity slots;                               ///< in all
  Quantity cpus = {};                           ///< likewise
  std::uint64_t memory = 0;                     ///< bytes
  std::int64_t held_ms = 0;                     ///< for how long, the longest of them; 0: not known
  std::map<std::string, Quantity> custom = {};  ///< of what the inventory's hosts declare

  bool operator==(const Holder&) const = default;
};

/// One change with which a request would fit.
struct Change {
  std::string options;      ///< of the command line, for a shell: "--set resources.placement=pack"
  std::string remark = {};  ///< what it means for the ranks; may be empty

  bool operator==(const Change&) const = default;
};

/// Why there is no plan.
struct Refusal {
  enum class Kind {
    never,  ///< no free cluster of these hosts could serve it (exit 69)
    busy,   ///< only free slots are lacking now (exit 75)
  };
  Kind kind = Kind::never;
  std::vector<std::string> reasons;  ///< the first constraint that fails, with hosts and numbers
  std::vector<int> nearest;          ///< counts that would fit, ascending, in the request's unit
  /// What the request counts, where a worker is not one slot: "slots" or "workers"; else empty.
  std::string unit = {};
  std::vector<Change> changes = {};  ///< each alone is enough, and was tried
  std::vector<Holder> holders = {};  ///< of a busy one: who holds what it would need

  bool operator==(const Refusal&) const = default;
};

}  // namespace train
