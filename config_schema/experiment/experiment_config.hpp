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
  std::vector<std::string> argv;  ///< executed unchanged, byte for byte

  bool empty() const { return shell.empty() && argv.empty(); }
  bool operator==(const Entrypoint&) const = default;
};

/// What one worker needs on its host.
struct WorkerNeeds {
  Quantity slots;           ///< GPUs, or worker slots on hosts without GPUs; 0: CPU only
  bool gpus_named = false;  ///< GPUs were requested by that name: slots without GPUs are refused
  bool tpus_named = false;  ///< `slots` are TPU chips: only hosts with TPUs have them
  Quantity cpus;            ///< 0: none requested
  bool cpus_named = false;  ///< CPUs were requested by name, not by default
  std::optional<std::uint64_t> memory;     ///< bytes
  std::map<std::string, Quantity> custom;  ///< any other resource, by name
  std::string accelerator_type;            ///< Ray's constant; empty: any

  bool operator==(const WorkerNeeds&) const = default;
};

/// What the trainer needs on rank 0's host, beside its workers (Ray's `trainer_resources`; if a
/// ScalingConfig does not set it, Ray's default of one CPU).
struct TrainerNeeds {
  Quantity gpus;
  Quantity cpus;
  std::uint64_t memory = 0;  ///< bytes
  std::map<std::string, Quantity> custom;
  bool is_default = false;  ///< Ray's default

  bool empty() const { return gpus.is_zero() && cpus.is_zero() && memory == 0 && custom.empty(); }
  bool operator==(const TrainerNeeds&) const = default;
};

/// Whole TPU slices, with the same number of workers on each of their hosts.
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
  std::optional<std::int64_t> trials = 1;         ///< nothing: the searcher does not determine it
  std::optional<std::int64_t> most_at_once = {};  ///< `max_concurrent_trials`
  std::optional<std::int64_t> most_slots = {};    ///< `max_slots`: for all trials together
  /// Its reports or its time limit may end a trial even if it is the only one.
  bool ends_early = false;

  bool operator==(const SearchSize&) const = default;
};

enum class PlacementPolicy { automatic, in_order, pack, spread, strict_pack, strict_spread };
enum class BatchRemainder { drop, spread, error };
enum class BatchSplit { even, weighted };
enum class Framework { torch, jax, tensorflow, deepspeed, horovod, mpi, none };
enum class CollectiveBackend { automatic, nccl, gloo, mpi, ucc };
enum class VisibleDevices { automatic, shared, per_rank };
enum class Processes { per_rank, per_host };
/// What happens to output when its space on a host is used up.
enum class SpoolOverflow { block, drop };

/// Whether hosts check before the ranks start which of the other hosts they can reach, and through
/// which network.
enum class NetworkUse { automatic, none };
/// Whether slots and other resources are leased exclusively for a trial.
enum class Leasing { automatic, none };
/// What gives hosts to an experiment that is not launched in a scheduler's job.
enum class Engine {
  ssh,    ///< `train` itself, from those that the user names
  slurm,  ///< a job of Slurm that `train` submits
};
/// What a job of Slurm asks for beside what the experiment needs (Determined's `slurm`).
struct SlurmOptions {
  std::optional<int> slots_per_node;  ///< at most so many of a node, >= 1; nothing: all
  std::string gpu_type;               ///< in any case; empty: any
  std::vector<std::string> sbatch_args;

  bool operator==(const SlurmOptions&) const = default;
};
/// Which cores of its host a rank may run on.
enum class CpuBinding { none, automatic, node, socket, exclusive };

/// How the start of ranks waits until the memory of their GPUs is free (Tune's `wait_for_gpu`).
struct GpuWait {
  std::chrono::milliseconds limit{50'000};  ///< 0: it does not wait
  double most_used = 0.01;                  ///< the share of a GPU's memory that counts as free
  bool is_for_all = false;  ///< also on GPUs that the task has not used before on their host

  bool operator==(const GpuWait&) const = default;
};

/// A wait without a limit: longer than any machine runs, and short enough to be added to instants.
inline constexpr std::chrono::milliseconds for_ever = std::chrono::hours(24 * 365 * 100);
/// How long ranks continue after their launcher has gone, unless they are meant to outlive it: only
/// the network may have failed.
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

/// A variable of every rank. Without a value it is copied from the launcher's environment and never
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

/// The keys that were written, by the path of their field; a key that is an alias of a field is
/// listed under the path of that field. Used only in messages: two experiments that request the
/// same are equal, however they are written.
struct WrittenKeys {
  std::map<std::string, std::vector<WrittenKey>, std::less<>> keys;

  bool operator==(const WrittenKeys&) const { return true; }
};

/// Where the ranks of an experiment store checkpoints.
struct CheckpointStorage {
  /// A folder that all hosts share, absolute; empty: train knows of none.
  std::string directory;
  std::string json;          ///< `checkpoint_storage` as one line of JSON; empty: it has no type
  bool has_secrets = false;  ///< the JSON is never shown

  bool operator==(const CheckpointStorage&) const = default;
};

/// The reaction to a line that a rank prints (Determined's `log_policies`).
struct LogPolicy {
  std::string name;              ///< may be empty
  std::string pattern;           ///< an RE2 expression; may match anywhere in a line
  bool cancels_retries = false;  ///< a failure is not followed by another attempt
  bool excludes_node = false;    ///< later attempts do not use the rank's host
  std::string signal;            ///< a label for the attempt; may be empty

  /// What messages call it.
  const std::string& title() const { return name.empty() ? pattern : name; }
  bool operator==(const LogPolicy&) const = default;
};

/// The ranks of a trial whose reports count in a search: rank 0, or all.
enum class ReportingRanks { first, all };

/// Which reports of ranks count (`metrics`).
struct MetricsConfig {
  ReportingRanks ranks = ReportingRanks::first;
  /// RE2 expressions with named groups: a match in a line that a rank prints is a report.
  std::vector<std::string> patterns = {};

  /// Whether the reports of this rank count in a search.
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
  /// A line for /bin/sh that one rank of each host runs first, in each attempt; empty: none.
  std::string setup;
  /// A line for /bin/sh that is run for each event, on the launcher's machine; empty: none.
  std::string on_event;
  std::string context_directory;  ///< sent to the hosts (`runtime_env`); empty: none given

  int workers = 1;           ///< ranks of the trial, >= 1
  WorkerNeeds needs;         ///< of each worker
  Quantity slots;            ///< of the trial: workers x needs.slots
  bool counts_slots = true;  ///< the request counts slots (slots_per_trial, -n), else workers
  /// With how few workers the trial may go on where hosts have failed (`min_slots_per_trial`), less
  /// than `workers`; 0: with all of them alone.
  int least_workers = 0;
  PlacementPolicy placement = PlacementPolicy::automatic;
  bool is_single_node = false;
  bool allow_heterogeneous = false;
  std::string resource_pool;  ///< empty: any
  /// Label selectors for hosts: one for all workers, or one for each worker, in order.
  std::vector<LabelSelector> label_selectors;
  TrainerNeeds trainer;
  std::optional<SliceNeeds> slices;  ///< the trial takes whole TPU slices

  std::optional<std::uint64_t> global_batch_size;
  BatchRemainder batch_remainder = BatchRemainder::drop;
  BatchSplit batch_split = BatchSplit::even;
  int aggregation_frequency = 1;
  bool gradient_compression = false;      ///< used by the workers only
  bool average_training_metrics = false;  ///< used by the workers only
  bool auto_tune_tensor_fusion = false;   ///< used by the workers, or Horovod, only

  Framework framework = Framework::torch;
  CollectiveBackend backend = CollectiveBackend::automatic;
  VisibleDevices visible_devices = VisibleDevices::automatic;
  Processes processes = Processes::per_rank;
  CpuBinding cpu_binding = CpuBinding::none;
  GpuWait gpu_wait;

  std::vector<EnvironmentVariable> environment;
  /// Variables that ranks inherit from the launcher's environment if they are set there.
  std::vector<std::string> forward_environment = {"PATH", "VIRTUAL_ENV", "CONDA_PREFIX",
                                                  "PYTHONPATH", "LD_LIBRARY_PATH"};
  std::string hyperparameters_json = "{}";  ///< one line of JSON, without searched parameters
  std::vector<std::string> searched;        ///< paths of searched parameters
  std::string searcher = "single";
  SearchSize search;
  std::optional<SearchConfig> search_config;  ///< nothing: one trial without searched parameters
  std::optional<std::uint32_t> trial_seed;    ///< the seed, if this is one trial of a search
  std::string data_json = "{}";               ///< one line of JSON

  Engine engine = Engine::ssh;
  SlurmOptions slurm;  ///< of the engine `slurm`
  Leasing leases = Leasing::automatic;
  NetworkUse network = NetworkUse::automatic;
  bool allow_busy = false;  ///< also uses GPUs that processes outside of `train` use
  CheckpointStorage checkpoints;
  std::vector<LogPolicy> log_policies;
  MetricsConfig metrics;
  int max_restarts = 0;
  /// Order among one user's tasks that wait for the same slots: 1 comes first, 99 last, as in
  /// Determined.
  int priority = 42;
  /// Delay before the first restart; doubles with each further one, up to a minute.
  std::chrono::milliseconds restart_delay{1'000};
  /// Nothing: `block` if the launcher is in the foreground, else `drop`.
  std::optional<SpoolOverflow> spool_overflow;
  /// Limit for the whole task, from the first start of its ranks. Nothing: no limit.
  std::optional<std::chrono::milliseconds> max_runtime;
  std::string stop_signal = "TERM";              ///< without SIG
  std::chrono::milliseconds stop_notice{0};      ///< from the stop file to the stop signal
  std::chrono::milliseconds stop_grace{10'000};  ///< from the stop signal to SIGKILL
  /// How long an unreachable host may take to come back; 0: it is lost at once.
  std::chrono::milliseconds reconnect_window{60'000};
  /// How long ranks continue without a launcher (`on_launcher_loss`): `brief_launcher_wait`, a
  /// time, or `for_ever`. Nothing: the first if the launcher is in the foreground, else the last.
  std::optional<std::chrono::milliseconds> launcher_wait;
  /// In so many attempts a rank of a host may be the first to fail before the host is left out; 0:
  /// in any number.
  int blame_limit = 2;
  /// How many hosts beside those of the plan may take the place of failed ones, the first of the
  /// inventory; nothing: all.
  std::optional<std::int64_t> spare_hosts;
  /// A lost host is replaced although ranks may still run there (`replace: at_once`).
  bool replaces_at_once = false;
  /// How long ranks may be silent; 0: for ever.
  std::chrono::milliseconds hang_timeout{0};
  bool hang_stacks = false;  ///< Python processes can be asked for their stacks
  /// So many attempts in a row without progress end the task; 0: any number may.
  int max_no_progress = 0;
  bool stop_on_same_cause = false;         ///< also if such an attempt fails as the one before it
  std::optional<std::uint64_t> log_limit;  ///< bytes of a rank's output that are kept

  WrittenKeys written;  ///< keys for the needs of a worker and a trial, and for where they run
  std::vector<Diagnostic> warnings;  ///< legal, but reported to the user
  std::vector<Obstacle> obstacles;   ///< legal, but a launch refuses it

  bool operator==(const ExperimentConfig&) const = default;
};

/// Keys that count where an experiment does not give them: from the user's file.
struct ExperimentDefaults {
  std::string file;  ///< its name, for messages
  /// An experiment whose lines and columns are those of the file; empty: there are no defaults.
  std::string text;

  bool operator==(const ExperimentDefaults&) const = default;
};

/// Changes from the command line: `-n`, `--batch`, `--max-runtime`, `--set`, `--env`, `--env-file`,
/// `--secret`, and the words after `--`.
struct ExperimentOverrides {
  /// -n: slots of the trial. If the file counts workers without slots, it is the number of workers.
  std::optional<int> slots = {};
  std::optional<std::uint64_t> global_batch = {};  ///< --batch
  std::optional<std::string> max_runtime = {};     ///< --max-runtime, as written
  std::vector<std::string> settings = {};          ///< --set key.path=value, in order
  /// --env-file, --env and --secret: they replace variables of that name, the last one counts.
  std::vector<EnvironmentVariable> environment = {};
  std::vector<std::string> command =
      {};  ///< after `--`: appended to the entrypoint, or the entrypoint
  /// For a command without a file: the number of ranks if nothing else gives it. Such a command
  /// fills its hosts in order, as other launchers do, unless a setting says otherwise. Nothing:
  /// there is a file.
  std::optional<int> workers = {};
  ExperimentDefaults defaults = {};  ///< laid below the experiment, before all else
};

/// The purpose of reading an experiment. Legal features that this version cannot run are refused by
/// a launch, and by a plan if they prevent planning. A check accepts them, and also an experiment
/// without an entrypoint.
enum class ReadFor { launching, planning, checking };

/// Reads an experiment, applies the overrides, and checks it. Errors are of class `config`, all
/// errors of the input together, ordered by line; the place of an override is its flag.
Result<ExperimentConfig> parse_experiment(const SourceText& source,
                                          const ExperimentOverrides& overrides = {},
                                          ReadFor purpose = ReadFor::launching);

/// An experiment without a file: `train launch -n 4 -- python3 train.py`.
Result<ExperimentConfig> make_experiment(const ExperimentOverrides& overrides,
                                         ReadFor purpose = ReadFor::launching);

}  // namespace train
