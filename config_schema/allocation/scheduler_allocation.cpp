// SPDX-License-Identifier: Apache-2.0
#include "config_schema/allocation/scheduler_allocation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <climits>

#include "config_schema/allocation/slurm_allocation.hpp"
#include "config_schema/hosts/host_lines.hpp"
#include "config_schema/text/place.hpp"
#include "config_schema/text/text.hpp"

namespace train {
namespace {

Place whole(const std::string& variable) { return {"$" + variable, 0, 0, {}}; }

constexpr const char* form_of_counted = "lines are 'host slots queue processors'";
constexpr const char* form_of_pairs = "hosts and numbers take turns: 'node01 8 node02 8'";

// Hosts in the order in which a scheduler's list first names them, with the total slots of their
// entries. Repeated hosts are allowed here.
class HostCounts {
 public:
  explicit HostCounts(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  // One line of a file, not blank, or the value of a variable.
  struct Line {
    const std::string& source;
    std::string_view context;  // prefix of messages: "$PBS_NODEFILE"; may be empty
    int number = 0;
    std::string_view text;
  };

  // `host`: one more slot (PBS, LSF).
  void add_repeated(const Line& line);
  // `host slots queue processors` (Grid Engine).
  void add_counted(const Line& line);
  // `host-gpuN`: GPU N of a host that was added before (Torque).
  void add_gpu(const Line& line);
  // `host host host`, one slot each.
  void add_names(const Line& line);
  // `host slots host slots`.
  void add_pairs(const Line& line);

  std::size_t size() const { return hosts_.size(); }
  bool is_each_once() const { return is_each_once_; }
  void set_slots(int each);
  // Removes the first host if it has one slot; returns its name.
  std::optional<std::string> drop_first_of_one_slot();
  std::vector<Host> take() { return std::move(hosts_); }

 private:
  void add(const HostWord& name, int slots, const Line& line);
  void report(const Line& line, std::size_t offset, const HostSetError& error);

  Diagnostics& diagnostics_;
  std::vector<Host> hosts_;
  std::unordered_map<std::string, std::size_t> known_;  // name to index
  bool is_each_once_ = true;
};

Place place_at(const HostCounts::Line& line, std::size_t offset) {
  Place place = PlaceCursor(line.source, line.text).shown_at(offset);
  place.line += line.number - 1;  // the value of a variable may have several lines
  return place;
}

void HostCounts::report(const Line& line, std::size_t offset, const HostSetError& error) {
  diagnostics_.error(
      place_at(line, offset + error.offset), {},
      line.context.empty() ? error.message : fmt::format("{}: {}", line.context, error.message),
      error.hint);
}

void HostCounts::add(const HostWord& name, int slots, const Line& line) {
  constexpr int most = 65'536;
  std::string text(name.text);
  const auto known = known_.find(text);
  if (known != known_.end()) {
    is_each_once_ = false;
    Host& host = hosts_[known->second];
    host.slots = std::min(*host.slots + slots, most);
    return;
  }
  if (const std::size_t bracket = text.find_first_of("[]"); bracket != text.npos)
    return report(line, name.offset,
                  {bracket, fmt::format("'{}' is no host's name", text),
                   "sets of hosts are not expanded here"});
  if (const auto checked = expand_host_pattern(text, max_hosts - hosts_.size()); !checked)
    return report(line, name.offset, checked.error());
  Host host;
  host.name = host.address = text;
  host.slots = slots;
  host.place = {line.source, line.number, 0, {}};
  known_.emplace(std::move(text), hosts_.size());
  hosts_.push_back(std::move(host));
}

void HostCounts::add_repeated(const Line& line) {
  const auto words = host_words(line.text);
  if (words.size() > 1)
    return report(line, words[1].offset,
                  {0, fmt::format("'{}' is not understood", words[1].text),
                   "one host's name is expected on each line"});
  add(words[0], 1, line);
}

void HostCounts::add_counted(const Line& line) {
  const auto words = host_words(line.text);
  if (words.size() < 2)
    return report(line, words[0].offset,
                  {words[0].text.size(),
                   fmt::format("the slots of '{}' are missing", words[0].text), form_of_counted});
  const auto slots = read_slots(words[1].text, 0);
  if (!slots) return report(line, words[1].offset, {0, slots.error().message, form_of_counted});
  add(words[0], *slots, line);
}

void HostCounts::add_gpu(const Line& line) {
  const HostWord word = host_words(line.text).front();
  constexpr std::string_view mark = "-gpu";
  const std::size_t at = word.text.rfind(mark);
  const std::string_view digits = at == word.text.npos ? "" : word.text.substr(at + mark.size());
  const auto index = whole_number(digits, 0, INT_MAX);
  if (!index)
    return report(
        line, word.offset,
        {0, fmt::format("'{}' is no GPU of a host", word.text), "they are written as node01-gpu0"});
  const std::string name(word.text.substr(0, at));
  const auto known = known_.find(name);
  if (known == known_.end())
    return report(
        line, word.offset,
        {0, fmt::format("'{}' is not among the hosts of the job", name), "see $PBS_NODEFILE"});
  Host& host = hosts_[known->second];
  std::vector<int>& devices = host.device_indices;
  if (std::find(devices.begin(), devices.end(), *index) != devices.end()) return;
  constexpr std::size_t most_gpus = 1'024;
  if (devices.size() == most_gpus)
    return report(line, word.offset,
                  {0, fmt::format("more than {} GPUs on one host", most_gpus), {}});
  devices.push_back(*index);
  host.accelerators = static_cast<int>(devices.size());
  host.slots.reset();  // the GPUs are the slots
}

void HostCounts::add_names(const Line& line) {
  for (const HostWord& word : host_words(line.text)) add(word, 1, line);
}

void HostCounts::add_pairs(const Line& line) {
  const auto words = host_words(line.text);
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (i + 1 == words.size())
      return report(
          line, words[i].offset,
          {0, fmt::format("the slots of '{}' are missing", words[i].text), form_of_pairs});
    const auto slots = read_slots(words[i + 1].text, 0);
    if (!slots) return report(line, words[i + 1].offset, {0, slots.error().message, form_of_pairs});
    add(words[i], *slots, line);
  }
}

void HostCounts::set_slots(int each) {
  for (Host& host : hosts_) host.slots = each;
}

std::optional<std::string> HostCounts::drop_first_of_one_slot() {
  if (hosts_.empty() || hosts_.front().slots != 1) return std::nullopt;
  std::string name = hosts_.front().name;
  hosts_.erase(hosts_.begin());
  known_.clear();
  for (std::size_t i = 0; i < hosts_.size(); ++i) known_.emplace(hosts_[i].name, i);
  return name;
}

// Reads the variables of one scheduler into counts.
class AllocationReader {
 public:
  AllocationReader(const EnvironmentMap& environment, const FileText& text_of)
      : environment_(environment), text_of_(text_of), hosts_(diagnostics_) {}

  Result<HostInventory> read_pbs() {
    return read("PBS job", "PBS_JOBID", "PBS_NODEFILE", [this] {
      auto read = read_file("PBS_NODEFILE", &HostCounts::add_repeated);
      if (!read) return read;
      set_slots_of_pbs();
      return find_variable(environment_, "PBS_GPUFILE")
                 ? read_file("PBS_GPUFILE", &HostCounts::add_gpu)
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
    // A variable may contain only blanks.
    if (!diagnostics_.has_errors() && hosts_.size() == 0)
      diagnostics_.error(whole(variable), variable, "no hosts in it",
                         "name the hosts with -H or --hostfile");
    if (diagnostics_.has_errors())
      return tl::make_unexpected(diagnostics_.take_error(ErrorClass::hosts, "$" + variable));
    const std::string* number = find_variable(environment_, id);
    const std::string source =
        fmt::format("{}{} (${})", job, number ? " " + *number : std::string(), variable);
    return HostInventory{source, hosts_.take(), diagnostics_.take_warnings(source)};
  }

  // Reads a file with one host, or one GPU, per line.
  Result<void> read_file(const std::string& variable,
                         void (HostCounts::*add)(const HostCounts::Line&)) {
    const std::string& file = environment_.at(variable);
    const std::string context = "$" + variable;
    const auto contents = text_of_(file);
    if (!contents) return tl::make_unexpected(with_context(contents.error(), context));
    const auto report = [&](int line, const std::string& message, const char* hint) {
      diagnostics_.error({file, line, 0, {}}, variable, context + ": " + message, hint);
    };
    if (const auto trouble = find_text_fault(*contents)) {
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

  // Some sites list every host once and give the number of slots in a variable.
  void set_slots_of_pbs() {
    const std::string* each = find_variable(environment_, "PBS_NUM_PPN");
    if (each == nullptr || !hosts_.is_each_once()) return;
    const auto slots = read_slots(*each, 0);
    if (slots)
      hosts_.set_slots(*slots);
    else
      diagnostics_.error({"$PBS_NUM_PPN", 1, 1, *each}, {}, slots.error().message);
  }

  void drop_host_of_script(const std::string& variable) {
    if (find_variable(environment_, "CSM_ALLOCATION_ID") == nullptr || hosts_.size() < 2) return;
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
  if (find_variable(environment, "TRAIN_TASK_ID") != nullptr) return std::nullopt;
  std::vector<std::string> given;
  for (const char* name : host_variables)
    if (find_variable(environment, name) != nullptr &&
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
