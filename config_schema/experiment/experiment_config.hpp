// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config_schema/resources/label_selector.hpp"
#include "config_schema/search/search_config.hpp"
#include "config_schema/text/diagnostics.hpp"
#include "config_schema/text/error.hpp"
#include "config_schema/text/place.hpp"
#include "config_schema/text/quantity.hpp"
#include "config_schema/yaml/yaml_node.hpp"

namespace train {

/// What each rank runs. Exactly one of the two is non-empty.
struct Entrypoint {
  std::string shell;              ///< run by `/bin/sh -c`
  std::vector<std::string> argv;  ///< exec'd as it is, byte for byte

  bool empty() const { return shell.empty() && argv.empty(); }
  bool operator==(const Entrypoint&) const = default;
};

/// What one worker takes from its host.
struct WorkerNeeds {
  Quantity slots;           ///< GPUs, or places for a worker where hosts have none; 0: CPU only
  bool gpus_named = false;  ///< GPUs were asked for by that name: places without GPUs are refused
  bool tpus_named = false;  ///< `slots` are TPU chips: only hosts with TPUs have them
  Quantity cpus;            ///< 0: none were asked for
  bool cpus_named = false;  ///< CPUs were asked for by name, not by default
  std::optional<std::uint64_t> memory;     ///< bytes
  std::map<std::string, Quantity> custom;  ///< any other resource, by name
  std::string accelerator_type;            ///< Ray's constant; empty: any

  bool operator==(const WorkerNeeds&) const = default;
};

/// What the trainer takes on rank 0's host, beside its workers (Ray's `trainer_resources`; where a
/// ScalingConfig says nothing of it, Ray's default of one CPU).
struct TrainerNeeds {
  Quantity gpus;
  Quantity cpus;
  std::uint64_t memory = 0;  ///< bytes
  std::map<std::string, Quantity> custom;
  bool is_default = false;  ///< Ray's default

  bool empty() const { return gpus.is_zero() && cpus.is_zero() && memory == 0 && custom.empty(); }
  bool operator==(const TrainerNeeds&) const = default;
};

/// Whole TPU slices, with as many workers on each of their hosts.
struct SliceNeeds {
  int slices = 1;          ///< >= 1
  int hosts = 1;           ///< of each slice, >= 1
  int chips_per_host = 1;  ///< 1, 2, 4 or 8
  int workers_per_host = 1;
  std::string topology;  ///< as written: "4x4"

  bool operator==(const SliceNeeds&) const = default;
};

/// How many trials an experiment has, and how many may run at once.
struct SearchSize {
  std::optional<std::int64_t> trials = 1;         ///< nothing: the searcher does not say
  std::optional<std::int64_t> most_at_once = {};  ///< `max_concurrent_trials`
  std::optional<std::int64_t> most_slots = {};    ///< `max_slots`: of all trials at once
  bool ends_early = false;  ///< what it reports, or its time, may end even a trial that is alone

  bool operator==(const SearchSize&) const = default;
};

enum class PlacementPolicy { automatic, in_order, pack, spread, strict_pack, strict_spread };
enum class BatchRemainder { drop, spread, error };
enum class BatchSplit { even, weighted };
enum class Framework { torch, jax, tensorflow, deepspeed, horovod, mpi, none };
enum class CollectiveBackend { automatic, nccl, gloo, mpi, ucc };
enum class VisibleDevices { automatic, shared, per_rank };
enum class Processes { per_rank, per_host };
/// What happens to output when the room for it on a host is used up.
enum class SpoolOverflow { block, drop };

/// Whether hosts look which of each other they reach before ranks start, and by which network.
enum class NetworkUse { automatic, none };
/// Whether hosts hold what a trial takes of them, for it alone.
enum class Leasing { automatic, none };
/// Which cores of its host a rank may run on.
enum class CpuBinding { none, automatic, node, socket, exclusive };

/// How the start of ranks waits until the memory of their GPUs is free (Tune's `wait_for_gpu`).
struct GpuWait {
  std::chrono::milliseconds limit{50'000};  ///< 0: it does not wait
  double most_used = 0.01;                  ///< the share of a GPU's memory that counts as free
  bool is_for_all = false;  ///< also on GPUs that the task has not used before on their host

  bool operator==(const GpuWait&) const = default;
};

/// A wait without an end: longer than any machine runs, and short enough to be added to instants.
inline constexpr std::chrono::milliseconds for_ever = std::chrono::hours(24 * 365 * 100);
/// How long ranks go on once their launcher has died, unless they are meant to outlive it: it may
/// only have been the network.
inline constexpr std::chrono::milliseconds brief_launcher_wait{5'000};

/// The words that a file uses: "auto", "strict_pack", "per_rank", ...
std::string_view to_string(PlacementPolicy policy);
std::string_view to_string(BatchRemainder remainder);
std::string_view to_string(BatchSplit split);
std::string_view to_string(Framework framework);
std::string_view to_string(CollectiveBackend backend);
std::string_view to_string(VisibleDevices devices);
std::string_view to_string(Processes processes);
std::string_view to_string(CpuBinding binding);

/// A variable of every rank. Without a value it is taken from the launcher's environment and never
/// shown.
struct EnvironmentVariable {
  std::string name;
  std::optional<std::string> value;
  Place place;

  bool operator==(const EnvironmentVariable&) const = default;
};

/// A key as the user wrote it: its path, "-n" for that option.
struct WrittenKey {
  std::string path;
  bool is_flag = false;  ///< on the command line

  bool operator==(const WrittenKey&) const = default;
};

/// The keys that were written, by the path of their field; keys that are another place for a field
/// are under the path of that field. Only messages use this: two experiments that ask for the same
/// are equal, however they are written.
struct WrittenKeys {
  std::map<std::string, std::vector<WrittenKey>, std::less<>> keys;

  bool operator==(const WrittenKeys&) const { return true; }
};

/// Where the ranks of an experiment keep what they have learned.
struct CheckpointStorage {
  /// A folder that all hosts share, absolute; empty: none that train knows of.
  std::string directory;
  std::string json;          ///< `checkpoint_storage` as one line of JSON; empty: it says no type
  bool has_secrets = false;  ///< the JSON is never shown

  bool operator==(const CheckpointStorage&) const = default;
};

/// What follows when a rank prints a line (Determined's `log_policies`).
struct LogPolicy {
  std::string name;              ///< may be empty
  std::string pattern;           ///< of RE2; looked for anywhere in a line
  bool cancels_retries = false;  ///< a failure is not followed by another attempt
  bool excludes_node = false;    ///< no further attempt is to use the rank's host
  std::string signal;            ///< a word that the attempt is marked with; may be empty

  bool operator==(const LogPolicy&) const = default;
};

/// The ranks of a trial whose reports count in a search: rank 0, or all.
enum class ReportingRanks { first, all };

/// What counts of what ranks report (`metrics`).
struct MetricsConfig {
  ReportingRanks ranks = ReportingRanks::first;
  /// Of RE2, with named groups: what these match in a line that a rank prints is a report.
  std::vector<std::string> patterns = {};

  /// Whether what this rank reports counts in a search.
  bool counts(int rank) const { return rank == 0 || ranks == ReportingRanks::all; }
  bool operator==(const MetricsConfig&) const = default;
};

/// One validated experiment: holding one means that it is legal. Rules and defaults follow
/// Determined's experiment configuration and Ray Train's ScalingConfig.
struct ExperimentConfig {
  std::string name;
  std::string description;
  Entrypoint entrypoint;
  std::string working_directory;  ///< empty: the launcher's own
  std::string context_directory;  ///< that goes to the hosts (`runtime_env`); empty: none is named

  int workers = 1;           ///< ranks of the trial, >= 1
  WorkerNeeds needs;         ///< of each worker
  Quantity slots;            ///< of the trial: workers x needs.slots
  bool counts_slots = true;  ///< the request counts slots (slots_per_trial, -n), else workers
  PlacementPolicy placement = PlacementPolicy::automatic;
  bool is_single_node = false;
  bool allow_heterogeneous = false;
  std::string resource_pool;  ///< empty: any
  /// What the labels of hosts must be: of all workers, or one selector for each worker, in order.
  std::vector<LabelSelector> label_selectors;
  TrainerNeeds trainer;
  std::optional<SliceNeeds> slices;  ///< the trial takes whole TPU slices

  std::optional<std::uint64_t> global_batch_size;
  BatchRemainder batch_remainder = BatchRemainder::drop;
  BatchSplit batch_split = BatchSplit::even;
  int aggregation_frequency = 1;
  bool gradient_compression = false;      ///< for the workers to do
  bool average_training_metrics = false;  ///< for the workers to do
  bool auto_tune_tensor_fusion = false;   ///< for the workers, or Horovod, to do

  Framework framework = Framework::torch;
  CollectiveBackend backend = CollectiveBackend::automatic;
  VisibleDevices visible_devices = VisibleDevices::automatic;
  Processes processes = Processes::per_rank;
  CpuBinding cpu_binding = CpuBinding::none;
  GpuWait gpu_wait;

  std::vector<EnvironmentVariable> environment;
  /// Variables of the launcher's own environment that the ranks get when they are set there.
  std::vector<std::string> forward_environment = {"PATH", "VIRTUAL_ENV", "CONDA_PREFIX",
                                                  "PYTHONPATH", "LD_LIBRARY_PATH"};
  std::string hyperparameters_json = "{}";  ///< one line of JSON, without what is searched
  std::vector<std::string> searched;        ///< paths of what a search chooses
  std::string searcher = "single";
  SearchSize search;
  std::optional<SearchConfig> search_config;  ///< nothing: one trial of which nothing is chosen
  std::optional<std::uint32_t> trial_seed;    ///< of the one trial of a search that this is
  std::string data_json = "{}";               ///< one line of JSON

  Leasing leases = Leasing::automatic;
  NetworkUse network = NetworkUse::automatic;
  bool allow_busy = false;  ///< GPUs that processes outside of `train` use are taken all the same
  CheckpointStorage checkpoints;
  std::vector<LogPolicy> log_policies;
  MetricsConfig metrics;
  int max_restarts = 0;
  /// Among one user's tasks that wait for the same slots: 1 comes first, 99 last, as in Determined.
  int priority = 42;
  /// Before the first restart; twice as long before each further one, up to a minute.
  std::chrono::milliseconds restart_delay{1'000};
  /// Nothing: `block` while the launcher is in the foreground, else `drop`.
  std::optional<SpoolOverflow> spool_overflow;
  /// Of the whole task, from the first start of its ranks. Nothing: any.
  std::optional<std::chrono::milliseconds> max_runtime;
  std::string stop_signal = "TERM";                    ///< without SIG
  std::chrono::milliseconds stop_notice{0};            ///< from the stop file to the stop signal
  std::chrono::milliseconds stop_grace{10'000};        ///< from there to SIGKILL
  std::chrono::milliseconds reconnect_window{60'000};  ///< 0: a host out of reach is lost
  /// How long ranks go on without a launcher (`on_launcher_loss`): `brief_launcher_wait`, a time,
  /// or `for_ever`. Nothing: the first while the launcher is in the foreground, else the last.
  std::optional<std::chrono::milliseconds> launcher_wait;
  std::optional<std::uint64_t> log_limit;  ///< bytes that are kept of what a rank prints

  WrittenKeys written;               ///< of what a worker and a trial take, and of where they run
  std::vector<Diagnostic> warnings;  ///< legal, but worth a line
  std::vector<Obstacle> obstacles;   ///< legal, but a launch refuses it

  bool operator==(const ExperimentConfig&) const = default;
};

/// What the command line adds to an experiment: `-n`, `--batch`, `--max-runtime`, `--set`, and what
/// follows `--`.
struct ExperimentOverrides {
  /// -n: slots of the trial. Where the file counts workers that take no slots, it counts workers.
  std::optional<int> slots = {};
  std::optional<std::uint64_t> global_batch = {};  ///< --batch
  std::optional<std::string> max_runtime = {};     ///< --max-runtime, as it was written
  std::vector<std::string> settings = {};          ///< --set key.path=value, in order
  std::vector<std::string> command =
      {};  ///< after `--`: appended to the entrypoint, or the entrypoint
  /// Of a command without a file: its ranks where nothing says how many. Such a command fills its
  /// hosts in order, as other launchers do, unless a setting says otherwise. Nothing: there is a
  /// file.
  std::optional<int> workers = {};
};

/// What an experiment is read for. What is legal but cannot run in this version is refused by a
/// launch, and by a plan if nothing can be planned with it. A check accepts it, and also an
/// experiment without an entrypoint.
enum class ReadFor { launching, planning, checking };

/// Reads an experiment, applies the overrides, and checks it. Errors are of class `config`, all of
/// the input at once, ordered by line; an override's place is its flag.
Result<ExperimentConfig> parse_experiment(const SourceText& source,
                                          const ExperimentOverrides& overrides = {},
                                          ReadFor purpose = ReadFor::launching);

/// An experiment without a file: `train launch -n 4 -- python3 train.py`.
Result<ExperimentConfig> make_experiment(const ExperimentOverrides& overrides,
                                         ReadFor purpose = ReadFor::launching);

}  // namespace train
