// SPDX-License-Identifier: Apache-2.0
#include "config_schema/allocation/scheduler_allocation.hpp"

#include <fmt/format.h>

#include <array>

#include "config_schema/allocation/slurm_allocation.hpp"
#include "config_schema/hosts/host_counts.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

const std::string* find(const EnvironmentMap& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() || found->second.empty() ? nullptr : &found->second;
}

Place whole(const std::string& variable) { return {"$" + variable, 0, 0, {}}; }

// What the variables of one scheduler say, read into counts.
class AllocationReader {
 public:
  AllocationReader(const EnvironmentMap& environment, const FileText& text_of)
      : environment_(environment), text_of_(text_of), hosts_(diagnostics_) {}

  Result<HostInventory> read_pbs() {
    return read("PBS job", "PBS_JOBID", "PBS_NODEFILE", [this] {
      auto read = read_file("PBS_NODEFILE", &HostCounts::add_repeated);
      if (!read) return read;
      set_slots_of_pbs();
      return find(environment_, "PBS_GPUFILE") ? read_file("PBS_GPUFILE", &HostCounts::add_gpu)
                                               : read;
    });
  }

  Result<HostInventory> read_lsf(const char* variable) {
    return read("LSF job", "LSB_JOBID", variable, [this, variable]() -> Result<void> {
      if (std::string_view(variable) == "LSB_DJOB_HOSTFILE") {
        if (auto read = read_file(variable, &HostCounts::add_repeated); !read) return read;
      } else {
        const std::string source = std::string("$") + variable;
        const HostCounts::Line line{source, {}, 1, environment_.at(variable)};
        if (std::string_view(variable) == "LSB_MCPU_HOSTS")
          hosts_.add_pairs(line);
        else
          hosts_.add_names(line);
      }
      drop_host_of_script(variable);
      return {};
    });
  }

  Result<HostInventory> read_sge() {
    return read("Grid Engine job", "JOB_ID", "PE_HOSTFILE",
                [this] { return read_file("PE_HOSTFILE", &HostCounts::add_counted); });
  }

 private:
  template <class Body>
  Result<HostInventory> read(const char* job, const char* id, const std::string& variable,
                             Body body) {
    if (auto done = body(); !done) return tl::make_unexpected(done.error());
    // A variable may hold nothing but blanks.
    if (!diagnostics_.has_errors() && hosts_.size() == 0)
      diagnostics_.error(whole(variable), variable, "no hosts in it",
                         "name the hosts with -H or --hostfile");
    if (diagnostics_.has_errors())
      return tl::make_unexpected(diagnostics_.take_error(ErrorClass::hosts, "$" + variable));
    const std::string* number = find(environment_, id);
    const std::string source =
        fmt::format("{}{} (${})", job, number ? " " + *number : std::string(), variable);
    return HostInventory{source, hosts_.take(), diagnostics_.take_warnings(source)};
  }

  // One host, or one GPU, a line.
  Result<void> read_file(const std::string& variable,
                         void (HostCounts::*add)(const HostCounts::Line&)) {
    const std::string& file = environment_.at(variable);
    const std::string context = "$" + variable;
    const auto contents = text_of_(file);
    if (!contents) return tl::make_unexpected(with_context(contents.error(), context));
    const auto report = [&](int line, const std::string& message, const char* hint) {
      diagnostics_.error({file, line, 0, {}}, variable, context + ": " + message, hint);
    };
    if (const auto trouble = find_no_text(*contents)) {
      report(trouble->line, "this is no list of hosts: it holds " + trouble->reason,
             "name the hosts with -H or --hostfile");
      return {};
    }
    const std::string text = normalize_text(*contents);
    int number = 0;
    bool is_empty = true;
    for (const std::string_view line : split(text, '\n')) {
      ++number;
      if (trim(line).empty()) continue;
      is_empty = false;
      if (diagnostics_.is_full()) break;
      (hosts_.*add)({file, context, number, line});
    }
    if (is_empty) report(0, "no hosts in it", "name the hosts with -H or --hostfile");
    return {};
  }

  // Some sites list every host once and say the rest in a number.
  void set_slots_of_pbs() {
    const std::string* each = find(environment_, "PBS_NUM_PPN");
    if (each == nullptr || !hosts_.is_each_once()) return;
    const auto slots = read_slots(*each, 0);
    if (slots)
      hosts_.set_slots(*slots);
    else
      diagnostics_.error({"$PBS_NUM_PPN", 1, 1, *each}, {}, slots.error().message);
  }

  void drop_host_of_script(const std::string& variable) {
    if (find(environment_, "CSM_ALLOCATION_ID") == nullptr || hosts_.size() < 2) return;
    if (const auto dropped = hosts_.drop_first_of_one_slot())
      diagnostics_.warn(whole(variable), variable,
                        fmt::format("'{}' runs the job script and no ranks: it is left out "
                                    "(CSM_ALLOCATION_ID)",
                                    *dropped));
  }

  const EnvironmentMap& environment_;
  const FileText& text_of_;
  Diagnostics diagnostics_;
  HostCounts hosts_;
};

constexpr std::array<const char*, 7> host_variables = {
    "SLURM_JOB_NODELIST", "SLURM_NODELIST", "PBS_NODEFILE", "LSB_DJOB_HOSTFILE",
    "LSB_MCPU_HOSTS",     "LSB_HOSTS",      "PE_HOSTFILE"};

// "SLURM", "PBS", "LSB", "PE".
std::string_view family_of(std::string_view variable) {
  return variable.substr(0, variable.find('_'));
}

Result<HostInventory> read_by(const std::string& variable, const EnvironmentMap& environment,
                              const FileText& text_of) {
  const std::string_view family = family_of(variable);
  if (family == "SLURM") return read_slurm_allocation(environment);
  AllocationReader reader(environment, text_of);
  if (family == "PBS") return reader.read_pbs();
  if (family == "LSB") return reader.read_lsf(variable.c_str());
  return reader.read_sge();
}

}  // namespace

Result<std::optional<HostInventory>> read_allocation(const EnvironmentMap& environment,
                                                     const FileText& text_of) {
  if (find(environment, "TRAIN_TASK_ID") != nullptr) return std::nullopt;
  std::vector<std::string> given;
  for (const char* name : host_variables)
    if (find(environment, name) != nullptr &&
        (given.empty() || family_of(given.back()) != family_of(name)))
      given.emplace_back(name);
  if (given.empty()) return std::nullopt;
  auto inventory = read_by(given.front(), environment, text_of);
  if (!inventory) return tl::make_unexpected(inventory.error());
  for (std::size_t i = 1; i < given.size(); ++i)
    inventory->warnings.push_back(
        {whole(given[i]), given[i],
         fmt::format("not used: ${} is set as well, and comes first", given.front()),
         "name the hosts with -H or --hostfile"});
  return std::move(*inventory);
}

}  // namespace train
