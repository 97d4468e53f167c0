// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/experiment_config.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "config_schema/experiment/checkpoint_storage.hpp"
#include "config_schema/experiment/entrypoint.hpp"
#include "config_schema/experiment/experiment_environment.hpp"
#include "config_schema/experiment/experiment_rules.hpp"
#include "config_schema/experiment/experiment_search.hpp"
#include "config_schema/experiment/experiment_tree.hpp"
#include "config_schema/experiment/log_policies.hpp"
#include "config_schema/experiment/reported_metrics.hpp"
#include "config_schema/experiment/workers.hpp"
#include "config_schema/fields/amounts.hpp"
#include "config_schema/fields/field_reader.hpp"
#include "config_schema/fields/secrets.hpp"
#include "config_schema/search/hyperparameters.hpp"
#include "config_schema/text/text.hpp"
#include "config_schema/yaml/yaml_document.hpp"
#include "config_schema/yaml/yaml_writer.hpp"

namespace train {

namespace {

// The words of each enumeration, in the order of its values.
constexpr std::array<std::string_view, 6> policies = {"auto",   "in_order",    "pack",
                                                      "spread", "strict_pack", "strict_spread"};
constexpr std::array<std::string_view, 3> remainders = {"drop", "spread", "error"};
constexpr std::array<std::string_view, 2> splits = {"even", "weighted"};
constexpr std::array<std::string_view, 7> frameworks = {"torch",   "jax", "tensorflow", "deepspeed",
                                                        "horovod", "mpi", "none"};
constexpr std::array<std::string_view, 5> backends = {"auto", "nccl", "gloo", "mpi", "ucc"};
constexpr std::array<std::string_view, 3> devices_words = {"auto", "shared", "per_rank"};
constexpr std::array<std::string_view, 2> processes_words = {"per_rank", "per_host"};
constexpr std::array<std::string_view, 5> binding_words = {"none", "auto", "node", "socket",
                                                           "exclusive"};

template <class Enum, std::size_t N>
Enum enum_of(const std::array<std::string_view, N>& words, const std::string& word) {
  for (std::size_t i = 0; i < N; ++i)
    if (words[i] == word) return static_cast<Enum>(i);
  return Enum{};
}

// The file's name without folders and extension.
std::string stem_of(const std::string& file) {
  const std::string name = file.substr(file.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  return dot == name.npos || dot == 0 ? name : name.substr(0, dot);
}

Diagnostics::Refused refused_for(ReadFor purpose) {
  switch (purpose) {
    case ReadFor::launching:
      return Diagnostics::Refused::all;
    case ReadFor::planning:
      return Diagnostics::Refused::unplannable;
    case ReadFor::checking:
      break;
  }
  return Diagnostics::Refused::none;
}

class ExperimentReader {
 public:
  ExperimentReader(std::string source, const ExperimentOverrides& overrides, ReadFor purpose)
      : source_(std::move(source)),
        overrides_(overrides),
        purpose_(purpose),
        found_(refused_for(purpose)),
        fields_(experiment_fields(), found_) {}

  /// `faults` are the faults of the tree itself.
  Result<ExperimentConfig> read(const YamlNodePtr& root, Diagnostics faults);

 private:
  YamlNodePtr without_searched(const YamlNodePtr& root);
  void read_names();
  void read_entrypoint();
  void check_entrypoint(const Place& place);
  void unwrap(const Place& place);
  void read_choices();
  void read_engine();
  void read_written();
  void read_batch();
  void read_values();
  void check_moves();
  void read_gpu_wait();
  void read_stop();

  std::string source_;
  const ExperimentOverrides& overrides_;
  ReadFor purpose_;
  Diagnostics found_;
  FieldReader fields_;
  Hyperparameters hyperparameters_;
  ExperimentConfig config_;
  bool has_entrypoint_ = false;  // written, valid or not
};

void ExperimentReader::read_names() {
  config_.name = fields_.text("name");
  if (config_.name.empty()) config_.name = source_ == "-" ? "stdin" : stem_of(source_);
  if (config_.name.empty() && !overrides_.command.empty())
    config_.name = stem_of(overrides_.command.front());
  config_.description = fields_.text("description");
  config_.working_directory = fields_.text("working_directory");
  config_.setup = fields_.text("setup");
  config_.on_event = fields_.text("on_event");
  config_.resource_pool = fields_.text("resources.resource_pool");
}

void ExperimentReader::read_entrypoint() {
  const GivenValue* given = fields_.given("entrypoint");
  if (given && given->node->kind == YamlKind::string) {
    config_.entrypoint.shell = given->node->text;
  } else if (given) {
    for (const YamlNodePtr& word : given->node->items)
      config_.entrypoint.argv.push_back(word->text);
  }
  Place place = given ? given->place : Place{};
  if (given && (trim(config_.entrypoint.shell).empty() && config_.entrypoint.argv.empty())) {
    found_.error(place, "entrypoint", "'entrypoint' is empty", "write what each rank runs");
    return;
  }
  if (given) unwrap(place);
  config_.entrypoint = with_words(std::move(config_.entrypoint), overrides_.command);
  if (config_.entrypoint.empty() && !has_entrypoint_) {
    if (!source_.empty()) place.source = source_;
    found_.obstacle({place, "entrypoint", "there is nothing to run: 'entrypoint' is missing",
                     "write 'entrypoint: python3 train.py', or add '-- python3 train.py'"},
                    true);
  }
  if (!config_.entrypoint.empty()) check_entrypoint(place);
}

void ExperimentReader::unwrap(const Place& place) {
  Unwrapped unwrapped = unwrap_determined(config_.entrypoint);
  if (unwrapped.wrapper.empty()) return;
  if (unwrapped.trouble) {
    found_.obstacle({place, "entrypoint", unwrapped.trouble->message, unwrapped.trouble->hint},
                    false);
    return;
  }
  config_.entrypoint = std::move(unwrapped.entrypoint);
  found_.warn(
      place, "entrypoint",
      fmt::format("'{}' is left out: each rank runs the command that it wraps", unwrapped.wrapper));
}

void ExperimentReader::check_entrypoint(const Place& place) {
  const Entrypoint& entrypoint = config_.entrypoint;
  bool has_zero = entrypoint.shell.find('\0') != std::string::npos;
  for (const std::string& word : entrypoint.argv) has_zero |= word.find('\0') != word.npos;
  if (has_zero) found_.error(place, "entrypoint", "'entrypoint' holds a zero byte");
  const bool is_without_program = !entrypoint.argv.empty() && entrypoint.argv.front().empty();
  if (is_without_program)
    found_.error(place, "entrypoint", "the program, the first word of 'entrypoint', is empty");
  if (is_trial_class(entrypoint))
    found_.obstacle({place, "entrypoint",
                     fmt::format("'{}' is a trial class of Determined, which train cannot run",
                                 entrypoint.shell),
                     "write the command that each rank runs, such as 'python3 train.py'"},
                    false);
  const auto launcher = find_host_launcher(entrypoint);
  if (launcher && !fields_.wrote("processes"))
    found_.obstacle(
        {place, "entrypoint",
         fmt::format("'{}' starts the processes of a whole host, and train would start it once "
                     "for every rank",
                     *launcher),
         "write the command that each rank runs, or 'processes: per_host' to run it once per host"},
        true);
}

void ExperimentReader::read_choices() {
  const auto policy = to_lower(fields_.text("resources.placement"));
  config_.placement = enum_of<PlacementPolicy>(policies, policy);
  if (!fields_.given("resources.placement")) {
    if (overrides_.workers) config_.placement = PlacementPolicy::in_order;
    if (fields_.wrote("scaling_config")) config_.placement = PlacementPolicy::pack;
  }
  config_.batch_remainder =
      enum_of<BatchRemainder>(remainders, fields_.text("resources.batch_remainder"));
  config_.batch_split = enum_of<BatchSplit>(splits, fields_.text("resources.batch_split"));
  config_.framework = enum_of<Framework>(frameworks, fields_.text("framework"));
  config_.backend = enum_of<CollectiveBackend>(backends, fields_.text("backend"));
  config_.visible_devices = enum_of<VisibleDevices>(devices_words, fields_.text("visible_devices"));
  config_.processes = enum_of<Processes>(processes_words, fields_.text("processes"));
  config_.cpu_binding = enum_of<CpuBinding>(binding_words, fields_.text("cpu_binding"));
}

void ExperimentReader::read_engine() {
  if (fields_.text("engine") == "slurm") config_.engine = Engine::slurm;
  if (const auto slots = fields_.integer("slurm.slots_per_node"))
    config_.slurm.slots_per_node = static_cast<int>(*slots);
  config_.slurm.gpu_type = fields_.text("slurm.gpu_type");
  for (const char* path : {"environment.slurm", "slurm.sbatch_args"})
    if (const GivenValue* given = fields_.given(path))
      for (const YamlNodePtr& word : given->node->items) {
        // Each becomes a line of a script.
        if (word->text.empty() || word->text.find('\n') != word->text.npos)
          found_.error(given->place, path,
                       fmt::format("'{}' has an option without text, or with a line break", path),
                       "write one option of sbatch as each item: --account=physics");
        config_.slurm.sbatch_args.push_back(word->text);
      }
  if (config_.engine == Engine::slurm) return;
  for (const char* path : {"environment.slurm", "slurm"})
    if (const GivenValue* given = fields_.given(path)) found_.note_idle(given->place, path);
}

void ExperimentReader::read_written() {
  for (const auto& [path, value] : fields_.all_written()) {
    const std::string_view canonical = value.field->twin.empty() ? path : value.field->twin;
    const bool is_asked_for = canonical.starts_with("resources.") ||
                              canonical.starts_with("scaling_config.") ||
                              canonical == "max_restarts";
    if (!is_asked_for) continue;
    const bool is_option = value.place.source == "-n";
    config_.written.keys[std::string(canonical)].push_back(
        {is_option ? value.place.source : std::string(path), value.is_flag});
  }
}

void ExperimentReader::read_batch() {
  const GivenValue* given = fields_.given("global_batch_size");
  if (!given) return;
  const auto batch = static_cast<std::uint64_t>(*given->node->integer);
  const auto workers = static_cast<std::uint64_t>(config_.workers);
  config_.global_batch_size = batch;
  const std::string path(given->field->path);
  if (batch < workers)
    found_.error(given->place, path,
                 fmt::format("a global batch of {} is less than one sample for each of {}", batch,
                             counted(config_.workers, "worker")),
                 fmt::format("'{}' must be at least {}", path, workers));
  else if (config_.batch_remainder == BatchRemainder::error &&
           config_.batch_split == BatchSplit::even && batch % workers != 0)
    found_.error(given->place, path,
                 fmt::format("a global batch of {} leaves a remainder of {} over {}", batch,
                             batch % workers, counted(config_.workers, "worker")),
                 fmt::format("'batch_remainder: error' wants a multiple: {} or {}",
                             batch - batch % workers, batch - batch % workers + workers));
}

// Whoever writes it has Tune's defaults, for all GPUs.
void ExperimentReader::read_gpu_wait() {
  const GivenValue* given = fields_.given("wait_for_gpu");
  if (!given) return;
  config_.gpu_wait.is_for_all = true;
  const double attempts = static_cast<double>(fields_.integer("wait_for_gpu.retry").value_or(20));
  const double seconds = attempts * fields_.number("wait_for_gpu.delay_s").value_or(5);
  config_.gpu_wait.limit = std::chrono::milliseconds(std::llround(seconds * 1'000));
  config_.gpu_wait.most_used = fields_.number("wait_for_gpu.target_util").value_or(0.01);
  const bool is_off = given->node->kind == YamlKind::boolean && !given->node->boolean;
  if (is_off) config_.gpu_wait.limit = std::chrono::milliseconds(0);
}

void ExperimentReader::read_stop() {
  constexpr std::string_view prefix = "SIG";
  config_.stop_signal = fields_.text("stop_signal");
  if (config_.stop_signal.starts_with(prefix)) config_.stop_signal.erase(0, prefix.size());
  config_.stop_notice = fields_.duration("stop_notice");
  config_.stop_grace = fields_.duration("stop_grace");
  if (!fields_.given("max_runtime")) return;
  const auto runtime = fields_.duration("max_runtime");
  if (runtime > std::chrono::milliseconds(0)) config_.max_runtime = runtime;
}

void ExperimentReader::read_values() {
  config_.is_single_node = fields_.boolean("resources.is_single_node");
  config_.allow_heterogeneous = fields_.boolean("resources.allow_heterogeneous");
  config_.aggregation_frequency =
      static_cast<int>(fields_.integer("optimizations.aggregation_frequency").value_or(1));
  config_.gradient_compression = fields_.boolean("optimizations.gradient_compression");
  config_.average_training_metrics = fields_.boolean("optimizations.average_training_metrics");
  config_.auto_tune_tensor_fusion = fields_.boolean("optimizations.auto_tune_tensor_fusion");
  read_gpu_wait();
  read_stop();
  config_.reconnect_window = fields_.duration("reconnect_window");
  if (const GivenValue* given = fields_.given("log_limit"))
    config_.log_limit = read_bytes(*given->node);
  config_.max_restarts = static_cast<int>(fields_.integer("max_restarts").value_or(0));
  config_.priority = static_cast<int>(fields_.integer("resources.priority").value_or(42));
  config_.restart_delay = fields_.duration("restart_delay");
  if (fields_.wrote("on_launcher_loss")) {
    const std::string word = fields_.text("on_launcher_loss");
    config_.launcher_wait = word == "stop"       ? brief_launcher_wait
                            : word == "continue" ? for_ever
                                                 : fields_.duration("on_launcher_loss");
  }
  config_.blame_limit = static_cast<int>(fields_.integer("blame_limit").value_or(2));
  config_.spare_hosts = fields_.integer("spare_hosts");
  if (fields_.wrote("hang_timeout")) config_.hang_timeout = fields_.duration("hang_timeout");
  config_.hang_stacks = fields_.boolean("hang_stacks");
  config_.max_no_progress = static_cast<int>(fields_.integer("max_no_progress").value_or(0));
  config_.stop_on_same_cause = fields_.boolean("stop_on_same_cause");
  config_.replaces_at_once = fields_.text("replace") == "at_once";
  if (fields_.text("leases") == "none") config_.leases = Leasing::none;
  if (fields_.text("network") == "none") config_.network = NetworkUse::none;
  config_.allow_busy = fields_.boolean("allow_busy");
  if (fields_.wrote("spool_overflow"))
    config_.spool_overflow =
        fields_.text("spool_overflow") == "drop" ? SpoolOverflow::drop : SpoolOverflow::block;
  if (const GivenValue* given = fields_.given("forward_environment")) {
    config_.forward_environment.clear();
    for (const YamlNodePtr& item : given->node->items) {
      if (is_variable_name(item->text))
        config_.forward_environment.push_back(item->text);
      else
        found_.error(place_of(item->mark), "forward_environment",
                     fmt::format("'{}' cannot be the name of a variable", item->text));
    }
  }
  for (const auto& [path, json] : {std::pair("hyperparameters", &config_.hyperparameters_json),
                                   std::pair("data", &config_.data_json)}) {
    const GivenValue* given = fields_.given(path);
    if (!given) continue;
    check_for_json(*given->node, path, found_);
    *json = json_text(*given->node);
  }
  read_checkpoint_storage(fields_, found_, config_);
  config_.log_policies = read_log_policies(fields_, found_);
  config_.metrics = read_metrics(fields_, found_);
  const GivenValue* searcher = fields_.given("searcher");
  if (searcher && config_.max_restarts == 0 && !fields_.wrote("max_restarts"))
    found_.warn(searcher->place, "max_restarts",
                "'max_restarts' is 0 here where Determined's default is 5");
}

// Hosts of a job are Slurm's, and a search moves its trials among all hosts.
void ExperimentReader::check_moves() {
  for (const char* path : {"min_slots_per_trial", "spare_hosts"}) {
    const GivenValue* given = fields_.given(path);
    std::string_view where;
    if (config_.max_restarts == 0) where = "without 'max_restarts'";
    if (config_.search_config) where = "in a search";
    if (config_.engine == Engine::slurm) where = "in a job of Slurm";
    if (given && !where.empty())
      found_.warn(given->place, path, fmt::format("'{}' has no effect {}", path, where));
  }
}

// The tree with only the plain hyperparameters.
YamlNodePtr ExperimentReader::without_searched(const YamlNodePtr& root) {
  constexpr std::string_view key = "hyperparameters";
  const YamlEntry* found = root->find(key);
  if (!found || found->value->kind != YamlKind::mapping) return root;
  hyperparameters_ = read_hyperparameters(*found->value, found_);
  auto copy = std::make_shared<YamlNode>(*root);
  for (YamlEntry& entry : copy->entries)
    if (entry.key == key) entry.value = hyperparameters_.plain;
  return copy;
}

Result<ExperimentConfig> ExperimentReader::read(const YamlNodePtr& root, Diagnostics faults) {
  found_.adopt_errors(std::move(faults));
  const YamlEntry* entrypoint = root->find("entrypoint");
  has_entrypoint_ = entrypoint && !entrypoint->value->is_null();
  fields_.read(*without_searched(root));
  read_names();
  read_entrypoint();
  read_choices();
  read_engine();
  read_written();
  read_workers(fields_, overrides_.workers.value_or(1), found_, config_);
  read_scaling_needs(fields_, found_, config_);
  read_batch();
  read_values();
  read_search(fields_, hyperparameters_, found_, config_);
  read_least_workers(fields_, overrides_.workers.has_value(), found_, config_);
  check_moves();
  read_environment(fields_, overrides_.environment, found_, config_);
  read_context(fields_, found_, config_);
  check_experiment_rules(fields_, hyperparameters_, found_);
  if (found_.has_errors())
    return tl::make_unexpected(found_.take_error(ErrorClass::config, source_));
  config_.warnings = found_.take_warnings(source_, purpose_ == ReadFor::checking
                                                       ? Diagnostics::IdleKeys::each
                                                       : Diagnostics::IdleKeys::together);
  config_.obstacles = found_.take_obstacles(source_);
  return std::move(config_);
}

}  // namespace

std::string_view to_string(PlacementPolicy value) {
  return policies[static_cast<std::size_t>(value)];
}
std::string_view to_string(BatchRemainder value) {
  return remainders[static_cast<std::size_t>(value)];
}
std::string_view to_string(BatchSplit value) { return splits[static_cast<std::size_t>(value)]; }
std::string_view to_string(Framework value) { return frameworks[static_cast<std::size_t>(value)]; }
std::string_view to_string(CollectiveBackend value) {
  return backends[static_cast<std::size_t>(value)];
}
std::string_view to_string(VisibleDevices value) {
  return devices_words[static_cast<std::size_t>(value)];
}
std::string_view to_string(Processes value) {
  return processes_words[static_cast<std::size_t>(value)];
}
std::string_view to_string(CpuBinding value) {
  return binding_words[static_cast<std::size_t>(value)];
}

Result<ExperimentConfig> parse_experiment(const SourceText& source,
                                          const ExperimentOverrides& overrides, ReadFor purpose) {
  Diagnostics faults;
  auto root = read_experiment_tree(source, overrides, faults);
  if (!root) return tl::make_unexpected(std::move(root.error()));
  return ExperimentReader(source.name, overrides, purpose).read(*root, std::move(faults));
}

Result<ExperimentConfig> make_experiment(const ExperimentOverrides& overrides, ReadFor purpose) {
  Diagnostics faults;
  auto root = with_defaults(std::make_shared<YamlNode>(), overrides.defaults, faults);
  if (root) root = apply_overrides(std::move(*root), overrides);
  if (!root) return tl::make_unexpected(std::move(root.error()));
  return ExperimentReader({}, overrides, purpose).read(*root, std::move(faults));
}

}  // namespace train
