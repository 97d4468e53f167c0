// SPDX-License-Identifier: Apache-2.0
#include "cli/request/request.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <numeric>

#include "backends/accelerator/accelerator.hpp"
#include "backends/accelerator/machine.hpp"
#include "backends/command/slurm_query.hpp"
#include "backends/posix/child.hpp"
#include "backends/posix/files.hpp"
#include "backends/process/programs.hpp"
#include "cli/request/given_environment.hpp"
#include "cli/request/slurm_hosts.hpp"
#include "config_schema/allocation/scheduler_allocation.hpp"
#include "config_schema/allocation/slurm_allocation.hpp"
#include "config_schema/experiment/script_file.hpp"
#include "config_schema/hosts/accelerators.hpp"
#include "config_schema/hosts/host_filter.hpp"
#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/hosts/this_machine.hpp"
#include "config_schema/text/shell_words.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/placement/fitting_counts.hpp"
#include "launcher/placement/placement.hpp"
#include "launcher/placement/refusal.hpp"

namespace train {

namespace {

constexpr std::size_t largest_input = 4u << 20;

std::vector<std::string> runnable(const std::string& path) {
  auto command = command_of_script(path);
  return command.empty() ? std::vector<std::string>{path} : command;
}

// A hint for a path that does not exist: a similar file beside it, or a command.
std::string hint_for_missing(const std::string& path, std::string_view what) {
  constexpr std::size_t most_looked_at = 1'000;
  const std::filesystem::path wanted(path);
  const auto folder = wanted.has_parent_path() ? wanted.parent_path() : ".";
  FolderReader reader(folder.string());
  const bool is_folder_there = static_cast<bool>(reader);
  const std::vector<std::string> names = names_in(std::move(reader), most_looked_at);
  if (const auto meant = nearest(wanted.filename().string(), names))
    return fmt::format("did you mean '{}'?", (wanted.parent_path() / *meant).string());
  if (what == "hosts" && path.find('/') == path.npos && wanted.extension().empty())
    return fmt::format("a file is read; hosts themselves are given as -H {}", path);
  const bool is_experiment = what == "experiment";
  const bool has_yaml_name = wanted.extension() == ".yaml" || wanted.extension() == ".yml";
  if (is_experiment && !has_yaml_name)
    return fmt::format("to run a command without a file: train launch -n 1 -- {} ...",
                       shell_line(runnable(path)));
  return is_folder_there ? "give its path from the current directory, or an absolute one"
                         : fmt::format("there is no directory '{}' either", folder.string());
}

}  // namespace

Result<std::string> read_input(const std::string& path, std::string_view what) {
  const Descriptor file(path == "-" ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const int fd = path == "-" ? STDIN_FILENO : file.get();
  const int error = errno;
  if (fd < 0)
    return fail(ErrorClass::no_input,
                fmt::format("cannot read the {} file '{}': {}", what, path, system_reason(error)),
                error == ENOENT ? hint_for_missing(path, what) : "");
  struct stat status {};
  if (::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode))
    return fail(ErrorClass::no_input, fmt::format("the {} file '{}' is a directory", what, path),
                "give the path of a file");
  std::string text;
  char buffer[64 << 10];
  while (true) {
    const ssize_t count = read_some(fd, buffer, sizeof buffer);
    if (count < 0)
      return fail(ErrorClass::no_input, fmt::format("cannot read the {} file '{}': {}", what, path,
                                                    system_reason(errno)));
    if (count == 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
    if (text.size() > largest_input)
      return fail(
          what == "hosts" ? ErrorClass::hosts : ErrorClass::config,
          fmt::format("the {} file '{}' is larger than {} MiB", what, path, largest_input >> 20),
          "is this the right file?");
  }
}

ExperimentOverrides overrides_of(const RequestFlags& flags) {
  ExperimentOverrides overrides{.slots = flags.slots,
                                .global_batch = flags.global_batch,
                                .max_runtime = flags.max_runtime,
                                .settings = flags.settings,
                                .command = flags.command,
                                .defaults = flags.defaults};
  if (!flags.engine.empty()) overrides.settings.push_back("engine=" + flags.engine);
  if (flags.allow_busy) overrides.settings.emplace_back("allow_busy=true");
  if (flags.spare_hosts)
    overrides.settings.push_back(fmt::format("spare_hosts={}", *flags.spare_hosts));
  if (flags.config.empty() && flags.fills_hosts) overrides.workers = 1;
  return overrides;
}

namespace {

// `text` is that of the file; without a file the overrides are all.
Result<ExperimentConfig> read_experiment(const RequestFlags& flags, const std::string& text,
                                         const ExperimentOverrides& overrides, ReadFor purpose) {
  return flags.config.empty() ? make_experiment(overrides, purpose)
                              : parse_experiment({flags.config, text}, overrides, purpose);
}

Result<ExperimentConfig> load_experiment(const RequestFlags& flags,
                                         const ExperimentOverrides& overrides, std::string& text,
                                         ReadFor purpose) {
  if (flags.config.empty() && flags.command.empty() && flags.settings.empty())
    return fail(ErrorClass::usage, "there is nothing to run: neither an experiment nor a command",
                "give a file (experiment.yaml), or a command after -- (-n 4 -- python3 train.py)");
  if (!flags.config.empty()) {
    auto contents = flags.config_text ? Result<std::string>(*flags.config_text)
                                      : read_input(flags.config, "experiment");
    if (!contents) return tl::make_unexpected(contents.error());
    text = *contents;
  }
  return read_experiment(flags, text, overrides, purpose);
}

// A plan with obstacles is still printed, with a warning for each obstacle to a launch.
void warn_of_obstacles(ExperimentConfig& experiment) {
  for (const Obstacle& obstacle : experiment.obstacles) {
    Diagnostic warning = obstacle.diagnostic;
    warning.message = "launch refuses this: " + warning.message;
    experiment.warnings.push_back(std::move(warning));
  }
}

// Where hosts come from, and the file that was read.
struct HostOrigin {
  HostSource source = HostSource::named;
  std::string path;
  std::string text;
  std::string note;  // whose allocation they are
  bool is_of_slurm = false;
};

Result<HostInventory> load_host_file(const std::string& path,
                                     const std::optional<std::string>& known, HostOrigin& origin) {
  auto contents = known ? Result<std::string>(*known) : read_input(path, "hosts");
  if (!contents) return tl::make_unexpected(contents.error());
  origin.path = path;
  origin.text = *contents;
  return parse_hosts({path, *contents});
}

// -H takes host names; users also give it a file, because its long form resembles --hostfile.
Result<HostInventory> load_host_list(const std::string& list) {
  const std::string hint = "a file of hosts is given as --hostfile " + list;
  // A slash inside brackets is not a path separator: n[0-8/2] has a step.
  if (list.substr(0, list.find('[')).find('/') != list.npos)
    return fail(ErrorClass::usage, fmt::format("-H takes names of hosts, not the path '{}'", list),
                hint);
  auto inventory = parse_host_list({"-H", list});
  std::error_code ignored;
  if (inventory && std::filesystem::is_regular_file(list, ignored))
    inventory->warnings.push_back(
        {{},
         {},
         fmt::format("-H takes '{}' for a host, and there is a file of that name", list),
         hint});
  return inventory;
}

// The GPUs that an inherited CUDA_VISIBLE_DEVICES makes visible to this process, in its order.
std::vector<ThisMachine::Gpu> visible_gpus(const Machine& machine,
                                           const EnvironmentMap& environment) {
  const auto setting = environment.find("CUDA_VISIBLE_DEVICES");
  std::vector<std::string> uuids;
  for (const Accelerator& gpu : machine.accelerators) uuids.push_back(gpu.uuid);
  std::vector<int> visible(uuids.size());
  std::iota(visible.begin(), visible.end(), 0);
  if (setting != environment.end()) visible = visible_devices(setting->second, uuids);
  std::vector<ThisMachine::Gpu> gpus;
  gpus.reserve(visible.size());
  for (const int position : visible)
    gpus.push_back({machine.accelerators[position].index, machine.accelerators[position].type});
  return gpus;
}

// The host addresses that belong to this machine.
std::set<std::string> own_addresses(const std::vector<Host>& hosts) {
  std::set<std::string> addresses;
  OwnNames own_names;
  for (const Host& host : hosts)
    if (host.transport == TransportKind::automatic && own_names.contains(host.address))
      addresses.insert(host.address);
  return addresses;
}

// The facts about this machine. The drivers are queried only if this machine is one of the hosts.
Result<ThisMachine> probe_this_machine(const std::vector<Host>& hosts,
                                       const EnvironmentMap& environment) {
  ThisMachine found;
  found.addresses = own_addresses(hosts);
  const bool is_host = std::any_of(hosts.begin(), hosts.end(), [](const Host& host) {
    return host.transport == TransportKind::local;
  });
  if (!is_host && found.addresses.empty()) return found;
  const auto machine = describe_machine_with_accelerators();
  if (!machine) return tl::make_unexpected(machine.error());
  found.cpus = machine->cpus;
  found.memory = machine->memory;
  found.gpus = visible_gpus(*machine, environment);
  return found;
}

std::vector<std::string> names_of(const HostInventory& inventory) {
  std::vector<std::string> names;
  names.reserve(inventory.hosts.size());
  for (const Host& host : inventory.hosts) names.push_back(host.name);
  return names;
}

HostInventory this_machine() {
  Host host;
  host.name = host.address = "localhost";
  return {"this machine", {host}, {}};
}

// Without an answer the variables have to do.
void ask_for_gpus(HostInventory& allocation, const EnvironmentMap& environment) {
  constexpr milliseconds limit{10'000};  // a controller that is away takes 9 s
  const auto job = ask_slurm_for_job(environment.at("SLURM_JOB_ID"), limit);
  if (job) settle_gpus(*job, allocation);
}

// A container in a job may lack the scheduler's programs: its hosts are reached over SSH then.
void reach_without_missing_program(HostInventory& allocation, const EnvironmentMap& environment,
                                   std::string& note) {
  const auto& command = allocation.hosts.front().command;
  if (command.empty()) return;
  const std::string program = command.front();
  const auto path = environment.find("PATH");
  if (find_program(program, path == environment.end() ? "" : path->second, "/")) return;
  for (Host& host : allocation.hosts) host.command.clear();
  note += fmt::format(" (over SSH, since there is no {} in $PATH)", program);
}

// The hosts from the first available source: flags, $TRAIN_HOSTFILE, a scheduler's allocation, this
// machine. A rerun uses this machine if and only if the first launch did: what was launched in an
// allocation does not run on the machine that it was submitted from.
Result<HostInventory> declared_hosts(const HostFlags& flags, const EnvironmentMap& environment,
                                     HostOrigin& origin) {
  if (!flags.host_list.empty() && !flags.host_file.empty())
    return fail(ErrorClass::usage, "-H and --hostfile were both given", "use one of them");
  if (!flags.host_list.empty()) return load_host_list(flags.host_list);
  if (!flags.host_file.empty()) return load_host_file(flags.host_file, flags.host_text, origin);
  if (flags.host_source == HostSource::this_machine) {
    origin.source = HostSource::this_machine;
    return this_machine();
  }
  if (const std::string* file = find_variable(environment, "TRAIN_HOSTFILE")) {
    auto inventory = load_host_file(*file, {}, origin);
    if (!inventory) return tl::make_unexpected(with_context(inventory.error(), "$TRAIN_HOSTFILE"));
    return inventory;
  }
  auto allocation = read_allocation(
      environment, [](const std::string& path) { return read_input(path, "hosts"); });
  if (!allocation) return tl::make_unexpected(allocation.error());
  if (*allocation) {
    origin.source = HostSource::allocation;
    origin.note = fmt::format("hosts of {}: {}", (*allocation)->source,
                              summarize_hosts(names_of(**allocation)));
    origin.is_of_slurm = !(*allocation)->hosts.front().command.empty();
    if (origin.is_of_slurm && may_have_more_gpus(**allocation))
      ask_for_gpus(**allocation, environment);
    reach_without_missing_program(**allocation, environment, origin.note);
    return std::move(**allocation);
  }
  if (flags.host_source == HostSource::allocation)
    return fail(ErrorClass::hosts, "its hosts were those of a scheduler's job, and here is no job",
                "launch it again inside of one, or name hosts by TRAIN_HOSTFILE=FILE");
  origin.source = HostSource::this_machine;
  return this_machine();
}

// All hosts, with the facts about this machine.
Result<HostInventory> load_inventory(const RequestFlags& flags, const EnvironmentMap& environment,
                                     HostOrigin& origin) {
  if (flags.include && flags.exclude)
    return fail(ErrorClass::usage, "--include and --exclude were both given", "use one of them");
  auto declared = declared_hosts(flags, environment, origin);
  if (!declared) return declared;
  const auto machine = probe_this_machine(declared->hosts, environment);
  if (!machine) return tl::make_unexpected(machine.error());
  return complete_inventory(std::move(*declared), *machine, flags.transport);
}

// The nodes that a job may get.
Result<HostInventory> nodes_of_slurm(const RequestFlags& flags, const ExperimentConfig& experiment,
                                     const EnvironmentMap& environment, HostOrigin& origin,
                                     std::optional<SlurmPartition>& partition) {
  if (!flags.host_list.empty() || !flags.host_file.empty())
    return fail(ErrorClass::usage,
                fmt::format("{} names hosts, and the engine slurm gets its hosts from Slurm",
                            flags.host_list.empty() ? "--hostfile" : "-H"),
                "leave one out; --include and --exclude choose among Slurm's nodes");
  auto found = ask_for_partition(experiment, environment);
  if (!found) return tl::make_unexpected(found.error());
  partition = std::move(*found);
  origin.source = HostSource::allocation;
  return partition->hosts;
}

// The hosts that are left after --include or --exclude.
Result<HostInventory> usable_hosts(const HostInventory& all, const RequestFlags& flags) {
  return flags.include ? filter_hosts(all, FilterKind::include, *flags.include)
                       : filter_hosts(all, FilterKind::exclude, *flags.exclude);
}

// Checks a context directory before it is read. `source` is the option or key that names it.
Result<void> check_context(const std::string& source, const std::string& directory,
                           const std::string& working_directory) {
  struct stat status {};
  if (directory.empty() || ::stat(directory.c_str(), &status) != 0)
    return fail(ErrorClass::no_input,
                fmt::format("{}: there is no directory '{}': {}", source, directory,
                            system_reason(directory.empty() ? ENOENT : errno)),
                "give the directory that the ranks' code is in; . is the current one");
  if (!S_ISDIR(status.st_mode))
    return fail(ErrorClass::no_input, fmt::format("{}: '{}' is not a directory", source, directory),
                "give the directory that it is in");
  const std::string inside = directory_in_context(working_directory);
  if (inside != ".." && !inside.starts_with("../")) return {};
  return fail(ErrorClass::config,
              fmt::format("working_directory '{}' is outside of the context", working_directory),
              "give a path inside of it, or an absolute one that all hosts have");
}

}  // namespace

std::string directory_in_context(const std::string& working_directory) {
  std::string inside = std::filesystem::path(working_directory).lexically_normal().string();
  while (inside.size() > 1 && inside.ends_with('/')) inside.pop_back();
  return inside == "." ? "" : inside;
}

std::string start_directory_of(const ExperimentConfig& experiment,
                               const std::string& context_directory) {
  const std::string& wanted = experiment.working_directory;
  if (!context_directory.empty()) return directory_in_context(wanted);
  std::error_code ignored;
  const auto here = std::filesystem::current_path(ignored);
  return wanted.empty() ? here.string() : (here / wanted).lexically_normal().string();
}

bool names_hosts(const HostFlags& flags) {
  return !flags.host_list.empty() || !flags.host_file.empty() ||
         find_variable(session_environment(), "TRAIN_HOSTFILE") != nullptr;
}

bool environment_names_hosts() {
  const EnvironmentMap environment = session_environment();
  if (find_variable(environment, "TRAIN_HOSTFILE") != nullptr) return true;
  const auto allocation = read_allocation(
      environment, [](const std::string& path) { return read_input(path, "hosts"); });
  return !allocation || allocation->has_value();
}

Result<HostInventory> load_hosts(const HostFlags& flags, std::string& note) {
  HostOrigin origin;
  auto declared = declared_hosts(flags, session_environment(), origin);
  if (!declared) return declared;
  note = origin.note;
  const std::set<std::string> addresses = own_addresses(declared->hosts);
  return reached_inventory(std::move(*declared), addresses, flags.transport);
}

Result<Request> load_request(const RequestFlags& flags, ReadFor purpose) {
  Request request;
  const EnvironmentMap environment = session_environment();
  request.overrides = overrides_of(flags);
  auto given = read_given_environment(flags.environment);
  if (!given) return tl::make_unexpected(given.error());
  request.overrides.environment = std::move(given->variables);
  auto experiment = load_experiment(flags, request.overrides, request.experiment_text, purpose);
  HostOrigin origin;
  auto inventory = experiment && is_for_slurm(*experiment, environment)
                       ? nodes_of_slurm(flags, *experiment, environment, origin, request.partition)
                       : load_inventory(flags, environment, origin);
  if (inventory && !flags.is_in_own_job && (flags.include || flags.exclude)) {
    request.unfiltered = std::move(*inventory);
    inventory = usable_hosts(*request.unfiltered, flags);
  }
  if (!experiment && !inventory) {
    Error both = experiment.error();
    const auto& more = inventory.error().diagnostics;
    both.diagnostics.insert(both.diagnostics.end(), more.begin(), more.end());
    return tl::make_unexpected(both);
  }
  if (!experiment) return tl::make_unexpected(experiment.error());
  if (!inventory) return tl::make_unexpected(inventory.error());
  // The partition was asked for when the job was submitted.
  if (origin.is_of_slurm && experiment->engine == Engine::slurm)
    for (Host& host : inventory->hosts) host.pool = experiment->resource_pool;
  // Slurm has given the slots to this job, and knows of no leases of other jobs.
  const bool takes_no_leases = origin.is_of_slurm && experiment->leases == Leasing::automatic;
  if (takes_no_leases) request.overrides.settings.emplace_back("leases=none");
  const bool takes_all =
      request.overrides.workers && !request.partition && origin.source != HostSource::this_machine;
  if (takes_all) request.overrides.workers = workers_on_all_slots(*experiment, *inventory);
  if (takes_no_leases || takes_all) {
    experiment = read_experiment(flags, request.experiment_text, request.overrides, purpose);
    if (!experiment) return tl::make_unexpected(experiment.error());
  }
  request.context_directory = flags.context.value_or(experiment->context_directory);
  if (flags.context || !experiment->context_directory.empty())
    if (auto fits = check_context(flags.context ? "--context" : "runtime_env.working_dir",
                                  request.context_directory, experiment->working_directory);
        !fits)
      return tl::make_unexpected(fits.error());
  warn_of_obstacles(*experiment);
  auto users = resolve_environment(*experiment, environment, given->secrets);
  if (!users) return tl::make_unexpected(users.error());
  request.experiment = std::move(*experiment);
  request.inventory = std::move(*inventory);
  request.user_variables = std::move(*users);
  request.host_source = origin.source;
  request.host_file = std::move(origin.path);
  request.host_text = std::move(origin.text);
  request.hosts_note = std::move(origin.note);
  return request;
}

void settle_for_launcher(ExperimentConfig& experiment, bool is_detached) {
  if (!experiment.launcher_wait)
    experiment.launcher_wait = is_detached ? for_ever : brief_launcher_wait;
  if (!experiment.spool_overflow)
    experiment.spool_overflow = is_detached ? SpoolOverflow::drop : SpoolOverflow::block;
}

TaskRequest task_request_of(const Request& request, const RequestFlags& flags, bool is_detached) {
  TaskRequest task;
  task.config = flags.config;
  task.experiment_text = request.experiment_text;
  task.overrides = request.overrides;
  task.inventory = {request.inventory.source, request.inventory.hosts, {}};
  task.user_variables = request.user_variables;
  task.context_directory = request.context_directory;
  std::error_code ignored;
  task.directory = std::filesystem::current_path(ignored).string();
  task.is_detached = is_detached;
  return task;
}

RerunRequest rerun_request_of(const Request& request, const RequestFlags& flags) {
  RerunRequest rerun;
  rerun.config = flags.config;
  rerun.experiment_text = request.experiment_text;
  rerun.overrides = overrides_of(flags);
  rerun.environment = flags.environment;
  rerun.host_source = request.host_source;
  rerun.host_list = flags.host_list;
  rerun.host_file = request.host_file;
  rerun.host_text = request.host_text;
  rerun.include = flags.include;
  rerun.exclude = flags.exclude;
  rerun.transport = flags.transport;
  rerun.context = flags.context;
  std::error_code ignored;
  rerun.directory = std::filesystem::current_path(ignored).string();
  redact(rerun);
  return rerun;
}

Result<ExperimentConfig> experiment_again(const TaskRequest& request) {
  auto experiment =
      request.config.empty()
          ? make_experiment(request.overrides)
          : parse_experiment({request.config, request.experiment_text}, request.overrides);
  if (experiment) settle_for_launcher(*experiment, request.is_detached);
  return experiment;
}

Result<Plan> plan_again(const TaskRequest& request) {
  const auto experiment = experiment_again(request);
  if (!experiment) return tl::make_unexpected(experiment.error());
  auto plan = make_plan(*experiment, request.inventory, request.occupancy, request.user_variables);
  if (!plan) return tl::make_unexpected(to_error(plan.error()));
  return std::move(*plan);
}

}  // namespace train
