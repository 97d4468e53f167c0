// SPDX-License-Identifier: Apache-2.0
#include "config_schema/allocation/slurm_allocation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <map>
#include <string_view>

#include "config_schema/hosts/accelerators.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/hosts/host_lines.hpp"
#include "config_schema/text/place.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

template <class T>
using Expected = tl::expected<T, HostSetError>;

constexpr int most_of_a_host = 65'536;
constexpr std::string_view step_program = "srun";
constexpr std::string_view job_option = "--jobid=";

Expected<int> read_count(std::string_view digits, std::size_t offset, int least, const char* form) {
  if (const auto count = whole_number(digits, least, most_of_a_host)) return *count;
  return tl::make_unexpected(HostSetError{
      offset, fmt::format("'{}' is no number from {} to {}", digits, least, most_of_a_host), form});
}

void ask_for_gpus_of(Host& host) {
  if (host.accelerators.value_or(0) > 0 && !host.command.empty())
    host.command.push_back(fmt::format("--gpus={}", *host.accelerators));
}

// Calls back with each item of "gpu:a100:2(IDX:0-1),gpu:2,tpu:4" that is a number of GPUs.
template <class Callback>
void for_gpus_of_gres(std::string_view gres, Callback callback) {
  while (!gres.empty()) {
    const std::size_t end = gres.find_first_of("(,");
    const std::string_view item = gres.substr(0, end);
    // Indices may have commas.
    const std::size_t close = end != gres.npos && gres[end] == '(' ? gres.find(')', end) : end;
    const std::size_t comma = close == gres.npos ? close : gres.find(',', close);
    gres.remove_prefix(comma == gres.npos ? gres.size() : comma + 1);
    constexpr std::string_view name = "gpu:";
    if (!item.starts_with(name)) continue;
    if (const auto read = read_slurm_gpus(item.substr(name.size()))) callback(*read);
  }
}

// Reads the hosts of one component of a job. All components add to one list.
class SlurmReader {
 public:
  SlurmReader(const EnvironmentMap& environment, Diagnostics& diagnostics)
      : environment_(environment), diagnostics_(diagnostics), hosts_(diagnostics) {}

  // Reads the component whose variables are named NAME + suffix.
  void read(const std::string& suffix) {
    suffix_ = suffix;
    const Variable list = first_of({"SLURM_JOB_NODELIST", "SLURM_NODELIST"});
    const std::size_t before = hosts_.hosts().size();
    read_names(list);
    begin_ = before;
    count_ = hosts_.hosts().size() - before;
    if (count_ == 0) return;
    const std::vector<int> cpus = per_node(first_of({"SLURM_JOB_CPUS_PER_NODE"}));
    const std::vector<int> tasks = read_tasks(cpus);
    if (!read_gpus(tasks))
      for (std::size_t i = 0; i < tasks.size(); ++i) host(i).slots = tasks[i];
    if (!says_gpus() && is_on_node())
      for (std::size_t i = 0; i < count_; ++i) give_no_gpus(host(i));
    for (std::size_t i = 0; i < cpus.size(); ++i) host(i).cpus = Quantity::of(cpus[i]);
    reach_by_steps();
  }

  std::vector<Host> take() { return hosts_.take(); }

 private:
  struct Variable {
    std::string name;
    std::string value;  // empty: not set
  };

  Variable variable(const std::string& name) const {
    for (const std::string& full : {name + suffix_, name}) {
      // A variable that only the first component has does not apply to the others.
      const bool is_of_another = full == name && !suffix_.empty() && !suffix_.ends_with("_0");
      const std::string* value = is_of_another ? nullptr : find_variable(environment_, full);
      if (value != nullptr) return {full, *value};
    }
    return {name, {}};
  }

  Variable first_of(std::initializer_list<const char*> names) const {
    for (const char* name : names)
      if (auto found = variable(name); !found.value.empty()) return found;
    return {};
  }

  bool is_step() const {
    return environment_.contains("SLURM_STEP_ID") || environment_.contains("SLURM_STEPID");
  }

  // A submitting host has fewer variables than the nodes: `salloc --gres=gpu:2` says nothing of
  // GPUs.
  bool is_on_node() const { return environment_.contains("SLURMD_NODENAME"); }

  // Whether the component has GPUs, if not how many each host has.
  bool says_gpus() const {
    if (!variable("SLURM_JOB_GPUS").value.empty()) return true;  // a list of indices
    for (const char* count :
         {"SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_TASK", "SLURM_GPUS", "SLURM_GPUS_ON_NODE"})
      if (const std::string value = variable(count).value; !value.empty() && value != "0")
        return true;
    return false;
  }

  Host& host(std::size_t i) { return hosts_.hosts()[begin_ + i]; }

  static Place place_of(const Variable& variable, std::size_t offset) {
    return PlaceCursor("$" + variable.name, variable.value).shown_at(offset);
  }

  void report(const Variable& variable, const HostSetError& error, std::size_t offset = 0) {
    diagnostics_.error(place_of(variable, offset + error.offset), variable.name, error.message,
                       error.hint);
  }

  void read_names(const Variable& list) {
    const auto parts = split_host_list(list.value);
    if (!parts) return report(list, parts.error());
    PlaceCursor places("$" + list.name, list.value);
    for (const HostListPart& part : *parts) {
      const auto names = expand_host_pattern(part.text, hosts_.room());
      if (!names) {
        report(list, names.error(), part.offset);
        continue;
      }
      const Place place = places.at(part.offset);
      for (const std::string& name : *names) {
        Host named;
        named.name = named.address = name;
        named.place = place;
        hosts_.add(std::move(named), places.line());
      }
    }
  }

  // One number for each host of the component; empty if the variable is not set or invalid.
  std::vector<int> per_node(const Variable& variable) {
    if (variable.value.empty()) return {};
    auto counts = read_slurm_counts(variable.value);
    if (!counts) {
      report(variable, counts.error());
      return {};
    }
    if (counts->size() != count_) {
      diagnostics_.error(
          place_of(variable, 0), variable.name,
          fmt::format("{} numbers for the {} hosts of the job", counts->size(), count_),
          "the variables of another job? Name the hosts with -H or --hostfile");
      return {};
    }
    return std::move(*counts);
  }

  std::vector<int> read_tasks(const std::vector<int>& cpus) {
    if (is_step() && !cpus.empty()) {
      std::vector<int> tasks = cpus;
      const int each = number(variable("SLURM_CPUS_PER_TASK"), 1).value_or(1);
      for (int& count : tasks) count = std::max(1, count / each);
      return tasks;
    }
    if (const Variable all = variable("SLURM_TASKS_PER_NODE"); !all.value.empty() && !is_step())
      return per_node(all);
    if (const auto each = number(variable("SLURM_NTASKS_PER_NODE"), 1))
      return std::vector<int>(count_, *each);
    return cpus;
  }

  std::optional<int> number(const Variable& variable, int least) {
    if (variable.value.empty()) return std::nullopt;
    const auto count = read_count(variable.value, 0, least, "");
    if (count) return *count;
    report(variable, count.error());
    return std::nullopt;
  }

  std::optional<SlurmGpus> gpus(const Variable& variable) {
    if (variable.value.empty()) return std::nullopt;
    auto gpus = read_slurm_gpus(variable.value);
    if (gpus) return *gpus;
    report(variable, gpus.error());
    return std::nullopt;
  }

  // Sets the GPUs of every host; returns whether they are known.
  bool read_gpus(const std::vector<int>& tasks) {
    if (const auto each = gpus(variable("SLURM_GPUS_PER_NODE"))) return set_gpus(*each);
    if (const auto each = gpus(variable("SLURM_GPUS_PER_TASK")); each && !tasks.empty()) {
      for (std::size_t i = 0; i < count_; ++i)
        give_gpus({std::min(each->count * tasks[i], most_of_a_host), each->type}, host(i));
      return each->count > 0;
    }
    const auto here = gpus_here();
    const Variable sum = variable("SLURM_GPUS");
    const auto all = gpus(sum);
    if (!all) return here && set_gpus({*here, {}});
    const auto nodes = static_cast<int>(count_);
    if (nodes == 1 || (here && *here * nodes == all->count))
      return set_gpus({all->count / nodes, all->type});
    diagnostics_.warn(
        {"$" + sum.name, 0, 0, {}}, sum.name,
        fmt::format("{} GPUs on {} hosts, but not how many each of them has", all->count, nodes),
        "ask Slurm for --gpus-per-node, or name the hosts with -H or --hostfile");
    return false;
  }

  // The job's GPUs on the node of this process.
  std::optional<int> gpus_here() {
    if (const auto here = number(variable("SLURM_GPUS_ON_NODE"), 0)) return here;
    const Variable list = variable("SLURM_JOB_GPUS");
    if (list.value.empty()) return std::nullopt;
    const auto indices = expand_host_set("[" + list.value + "]");
    if (indices) return static_cast<int>(indices->size());
    report(list,
           {0, fmt::format("'{}' is no list of GPUs", list.value), "Slurm writes 0,1 or 0-3"});
    return std::nullopt;
  }

  // Without `--gpus` the step gets only the GPUs of one task of the job.
  void reach_by_steps() {
    // The job of the first component is that of all of them.
    const std::string* id = find_variable(environment_, "SLURM_JOB_ID");
    if (id == nullptr || !whole_number(*id, 1, INT_MAX)) return;
    std::vector<std::string> words = slurm_step_words(*id, "{host}");
    constexpr std::string_view of_component = "_HET_GROUP_";
    if (!suffix_.empty()) words.push_back("--het-group=" + suffix_.substr(of_component.size()));
    words.emplace_back("--chdir=/");
    words.emplace_back("--unbuffered");
    words.emplace_back("--job-name=train");
    for (std::size_t i = 0; i < count_; ++i) {
      host(i).command = words;
      ask_for_gpus_of(host(i));
    }
  }

  bool set_gpus(const SlurmGpus& each) {
    for (std::size_t i = 0; i < count_; ++i) give_gpus(each, host(i));
    return each.count > 0;
  }

  const EnvironmentMap& environment_;
  Diagnostics& diagnostics_;
  HostCollection hosts_;
  std::string suffix_;
  std::size_t begin_ = 0;
  std::size_t count_ = 0;
};

std::string source_of(const EnvironmentMap& environment, const std::string& variable) {
  for (const char* name : {"SLURM_JOB_ID", "SLURM_JOBID"})
    if (const std::string* id = find_variable(environment, name))
      return fmt::format("Slurm job {} (${})", *id, variable);
  return fmt::format("Slurm job (${})", variable);
}

// Refuses tasks of a step other than the first: each would start the same ranks on the same hosts.
// The first one is allowed: an interactive shell (srun --pty) is the first task of a step of any
// size.
Result<void> check_task(const EnvironmentMap& environment) {
  const std::string* task = find_variable(environment, "SLURM_PROCID");
  if (task == nullptr || *task == "0") return {};
  return fail(
      ErrorClass::usage,
      fmt::format("this is task {} of a job step (SLURM_PROCID), and train is to be started "
                  "once in a job",
                  *task),
      "call it from the job script without srun, or by 'srun -N 1 -n 1'");
}

}  // namespace

Expected<std::vector<int>> read_slurm_counts(std::string_view text) {
  constexpr const char* form = "Slurm writes 8(x3),4 for 8, 8, 8 and 4";
  std::vector<int> counts;
  std::size_t offset = 0;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t open = part.find("(x");
    const auto count = read_count(part.substr(0, open), offset, 1, form);
    if (!count) return tl::make_unexpected(count.error());
    int times = 1;
    if (open != part.npos) {
      const std::size_t digits = open + 2;
      if (part.back() != ')')
        return tl::make_unexpected(
            HostSetError{offset + open, fmt::format("'(' is not closed in '{}'", part), form});
      const auto read =
          read_count(part.substr(digits, part.size() - digits - 1), offset + digits, 1, form);
      if (!read) return tl::make_unexpected(read.error());
      times = *read;
    }
    if (counts.size() + static_cast<std::size_t>(times) > max_hosts)
      return tl::make_unexpected(
          HostSetError{offset, fmt::format("numbers for more than {} hosts", max_hosts), {}});
    counts.insert(counts.end(), static_cast<std::size_t>(times), *count);
    offset += part.size() + 1;
  }
  return counts;
}

Expected<SlurmGpus> read_slurm_gpus(std::string_view text) {
  SlurmGpus gpus;
  std::size_t offset = 0;
  const auto parts = split(text, ',');
  for (const std::string_view part : parts) {
    const std::size_t colon = part.rfind(':');
    const std::size_t begin = colon == part.npos ? 0 : colon + 1;
    const auto count =
        read_count(part.substr(begin), offset + begin, 0, "Slurm writes 4, or a100:4");
    if (!count) return tl::make_unexpected(count.error());
    gpus.count = std::min(gpus.count + *count, most_of_a_host);
    if (parts.size() == 1 && colon != part.npos) gpus.type = std::string(part.substr(0, colon));
    offset += part.size() + 1;
  }
  return gpus;
}

std::vector<std::string> slurm_step_words(const std::string& job, const std::string& host) {
  return {std::string(step_program),
          std::string(job_option) + job,
          "--nodelist=" + host,
          "--nodes=1",
          "--ntasks=1",
          "--overlap",
          "--mpi=none",
          "--cpu-bind=none",
          "--immediate=30",
          "--propagate=NONE",
          "--export=ALL"};
}

void give_gpus(const SlurmGpus& gpus, Host& host) {
  host.accelerators = gpus.count;
  std::string type = gpus.type;
  std::transform(type.begin(), type.end(), type.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c == '_' ? ' ' : c;
  });
  if (!type.empty()) host.accelerator_type = accelerator_type_of(type);
}

void give_no_gpus(Host& host) {
  host.slot_type = SlotType::cpu;
  host.accelerators = 0;
}

SlurmGpus gpus_of_gres(std::string_view gres, std::string_view type) {
  SlurmGpus gpus;
  int kinds = 0;
  for_gpus_of_gres(gres, [&](const SlurmGpus& item) {
    if (!type.empty() && to_lower(item.type) != to_lower(std::string(type))) return;
    gpus.count = std::min(gpus.count + item.count, most_of_a_host);
    gpus.type = ++kinds == 1 ? item.type : "";
  });
  return gpus;
}

std::vector<std::string> gpu_types_of_gres(std::string_view gres) {
  std::vector<std::string> types;
  for_gpus_of_gres(gres, [&](const SlurmGpus& item) {
    if (!item.type.empty()) types.push_back(item.type);
  });
  return types;
}

Result<HostInventory> read_slurm_allocation(const EnvironmentMap& environment) {
  if (auto checked = check_task(environment); !checked) return tl::make_unexpected(checked.error());
  const char* list =
      find_variable(environment, "SLURM_JOB_NODELIST") ? "SLURM_JOB_NODELIST" : "SLURM_NODELIST";
  Diagnostics diagnostics;
  SlurmReader reader(environment, diagnostics);
  const std::string first_component = "_HET_GROUP_0";
  std::string suffix = first_component;
  if (find_variable(environment, "SLURM_JOB_NODELIST" + suffix) == nullptr) reader.read("");
  for (int component = 0; find_variable(environment, "SLURM_JOB_NODELIST" + suffix) != nullptr;
       suffix = fmt::format("_HET_GROUP_{}", ++component))
    reader.read(suffix);
  const std::string source = source_of(environment, list);
  if (diagnostics.has_errors())
    return tl::make_unexpected(diagnostics.take_error(ErrorClass::hosts, fmt::format("${}", list)));
  return HostInventory{source, reader.take(), diagnostics.take_warnings(source)};
}

std::string slurm_job_of(const Host& host) {
  if (host.command.empty() || host.command.front() != step_program) return {};
  for (const std::string& word : host.command)
    if (word.starts_with(job_option)) return word.substr(job_option.size());
  return {};
}

bool may_have_more_gpus(const HostInventory& hosts) {
  return std::any_of(hosts.hosts.begin(), hosts.hosts.end(),
                     [](const Host& host) { return !host.accelerators; });
}

void settle_gpus(std::string_view job, HostInventory& hosts) {
  constexpr std::string_view of_nodes = "Nodes=";
  constexpr std::string_view of_gres = "GRES=";
  std::map<std::string, SlurmGpus> gpus;
  std::vector<std::string> nodes;  // that the next words are about
  for (const std::string& line : split_lines(job))
    for (const std::string_view word : split(line, ' ')) {
      if (word.starts_with(of_nodes)) {
        nodes.clear();
        const auto parts = split_host_list(word.substr(of_nodes.size()));
        for (const HostListPart& part : parts.value_or(std::vector<HostListPart>()))
          if (const auto names = expand_host_pattern(part.text, max_hosts - nodes.size()))
            nodes.insert(nodes.end(), names->begin(), names->end());
      }
      if (word.starts_with(of_gres))
        for (const std::string& node : nodes)
          gpus[node] = gpus_of_gres(word.substr(of_gres.size()));
    }
  for (Host& host : hosts.hosts) {
    const auto found = gpus.find(host.name);
    if (found == gpus.end() || host.accelerators) continue;
    if (found->second.count == 0) {
      give_no_gpus(host);
      continue;
    }
    host.slots.reset();
    give_gpus(found->second, host);
    ask_for_gpus_of(host);
  }
  if (!may_have_more_gpus(hosts))
    std::erase_if(hosts.warnings,
                  [](const Diagnostic& warning) { return warning.key == "SLURM_GPUS"; });
}

}  // namespace train
