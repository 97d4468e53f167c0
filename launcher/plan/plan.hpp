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

/// One rank: its place and its share of the batch.
struct PlannedRank {
  int rank = 0;            ///< 0 .. world size - 1, host by host in file order
  int local_rank = 0;      ///< 0 .. ranks on this host - 1
  int host = 0;            ///< index into Trial::hosts; the node rank
  int cross_rank = 0;      ///< number of earlier hosts with this local rank, as in Horovod
  std::vector<int> slots;  ///< slot indices on its host; empty for a CPU-only worker beside GPUs
  std::optional<std::uint64_t> batch_size;    ///< samples per step of this rank
  std::optional<std::uint64_t> batch_offset;  ///< samples per step of all ranks before it

  bool operator==(const PlannedRank&) const = default;
};

/// One host that the trial uses.
struct PlannedHost {
  Host host;
  std::vector<int> slots;       ///< slots that the trial uses on it, ascending
  bool slots_are_gpus = false;  ///< slot indices are device indices
  /// Only the host knows which devices its slots are and, unless `slots_are_gpus`, whether they are
  /// devices (`slot_type: auto`): it is queried at launch.
  bool devices_at_launch = false;
  int first_rank = 0;
  int rank_count = 0;
  /// Workers of the trial on the host. Differs from `rank_count` only if `processes` is `per_host`:
  /// then one rank is started for all of them, owns all their slots, and takes their whole batch.
  int worker_count = 0;
  int slice = -1;        ///< index into Trial::slices; -1: not on a TPU slice
  int slice_worker = 0;  ///< 0 .. hosts of its slice - 1: TPU_WORKER_ID

  bool operator==(const PlannedHost&) const = default;
};

/// The machine's devices for these slots of a host whose slots are devices.
std::vector<int> devices_of(const Host& host, const std::vector<int>& slots);

/// One TPU slice, which the trial uses as a whole.
struct PlannedSlice {
  std::string name;        ///< the `slice:` that its hosts declare; the host's name if it is alone
  std::vector<int> hosts;  ///< indices into Trial::hosts, by slice worker

  bool operator==(const PlannedSlice&) const = default;
};

/// One trial, placed.
struct Trial {
  int trial = 0;  ///< index in the experiment
  int world_size = 0;
  Quantity slots;  ///< total slots of the trial
  std::optional<std::uint64_t> global_batch_size;
  std::optional<std::uint64_t> batch_sum;             ///< the real sum of the ranks' batches
  std::optional<std::uint64_t> effective_batch_size;  ///< batch_sum x aggregation_frequency
  std::optional<std::uint64_t> per_slot_batch_size;
  /// The backend that ranks should use: `auto` becomes `nccl` if every rank has its own GPUs, else
  /// `gloo`; it stays `auto` if only the launch can tell what slots are.
  CollectiveBackend backend = CollectiveBackend::gloo;
  std::vector<PlannedHost> hosts;
  std::vector<PlannedRank> ranks;
  std::vector<int> cross_sizes;  ///< by local rank: number of hosts that have it
  /// Slots of the first host that the trainer takes beside the ranks, ascending.
  std::vector<int> trainer_slots;
  std::vector<PlannedSlice> slices;  ///< TPU slices, numbered by their first host

  bool operator==(const Trial&) const = default;
};

/// All workers of a trial.
int workers_of(const Trial& trial);

/// The number of trials of an experiment with several, and the number that run at once on these
/// hosts.
struct TrialCounts {
  enum class Limit { hosts, max_concurrent_trials, max_slots, trials };
  std::optional<std::int64_t> trials;  ///< total; nothing: the searcher does not determine it
  std::int64_t fit = 0;        ///< number that these hosts hold at once, by the placement rule
  bool is_at_least = false;    ///< more than `fit` may fit: the search was limited
  std::int64_t at_once = 0;    ///< `fit` within the experiment's limits; >= 1
  Limit limit = Limit::hosts;  ///< what determines `at_once`

  bool operator==(const TrialCounts&) const = default;
};

/// Every rank with its host, slots, batch and environment (`environment_of`): the same inputs give
/// the same bytes. `train plan` prints what `train launch` runs, and neither needs anything else.
struct Plan {
  ExperimentConfig experiment;        ///< for a search: as for its first trial
  Trial trial;                        ///< the first one; the others are alike
  std::optional<TrialCounts> trials;  ///< if the experiment has several
  std::optional<SearchPreview> search = {};
  UserVariables user_variables = {};
  /// All warnings: those of the experiment and the hosts, with their places, then those of the
  /// plan.
  std::vector<Diagnostic> warnings = {};
  std::vector<std::string> advice = {};  ///< one line each
};

/// A holder of slots that a trial would fit on.
struct Holder {
  std::string holder;                           ///< "task 3f9c of alice"
  std::vector<std::string> hosts;               ///< file order
  Quantity slots;                               ///< total
  Quantity cpus = {};                           ///< total
  std::uint64_t memory = 0;                     ///< bytes
  std::int64_t held_ms = 0;                     ///< duration so far, of the longest; 0: unknown
  std::map<std::string, Quantity> custom = {};  ///< resources that the inventory's hosts declare

  bool operator==(const Holder&) const = default;
};

/// One change with which a request would fit.
struct Change {
  /// For the command line, quoted for a shell: "--set resources.placement=pack".
  std::string options;
  std::string remark = {};  ///< the effect on the ranks; may be empty

  bool operator==(const Change&) const = default;
};

/// Why there is no plan.
struct Refusal {
  enum class Kind {
    never,  ///< these hosts could not serve it even if they were idle (exit 69)
    busy,   ///< only free slots are missing now (exit 75)
  };
  Kind kind = Kind::never;
  std::vector<std::string> reasons;  ///< the first constraint that fails, with hosts and numbers
  std::vector<int> nearest;          ///< counts that would fit, ascending, in the request's unit
  /// The unit of the request's count, if a worker is not one slot: "slots" or "workers"; else
  /// empty.
  std::string unit = {};
  std::vector<Change> changes = {};  ///< each is enough by itself, and was verified
  std::vector<Holder> holders = {};  ///< for `busy`: the holders of what the request needs

  bool operator==(const Refusal&) const = default;
};

}  // namespace train
