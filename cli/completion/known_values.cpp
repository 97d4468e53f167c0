// SPDX-License-Identifier: Apache-2.0
#include "cli/completion/known_values.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include "backends/posix/files.hpp"
#include "backends/store/recent_tasks.hpp"
#include "cli/completion/value_kind.hpp"
#include "cli/surroundings/environment.hpp"
#include "cli/surroundings/state_directory.hpp"
#include "cli/surroundings/user_account.hpp"
#include "config_schema/fields/field_table.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

constexpr std::size_t most_tasks = 1'000;

std::vector<Candidate> recorded_tasks(const std::string& kind, const std::set<std::string>& given) {
  std::vector<Candidate> candidates;
  const auto directory = state_directory();
  if (!directory) return candidates;
  for (const RecentTask& task : recent_tasks(*directory, most_tasks)) {
    if (kind == value_kind::unfinished_task && is_final(task.state)) continue;
    if (kind == value_kind::ended_task && !is_final(task.state)) continue;
    if (given.contains(task.id)) continue;
    candidates.push_back({task.id, fmt::format("{}, {}", to_string(task.state), task.name)});
  }
  return candidates;
}

// Whether `--set` can give the key a value: no list item, no key of the user's, no mapping whose
// keys are fields themselves.
bool is_settable(const Field& field) {
  return field.effect == FieldEffect::used && field.twin.empty() &&
         field.path.find_first_of("[*") == std::string_view::npos &&
         experiment_fields().children(field.path).empty();
}

std::vector<Candidate> keys() {
  std::vector<Candidate> candidates;
  for (const Field& field : experiment_fields().fields())
    if (is_settable(field))
      candidates.push_back({fmt::format("{}=", field.path), std::string(field.meaning)});
  return candidates;
}

// "placement=auto", "placement=pack", ...
std::vector<Candidate> values_of_key(const std::string& key) {
  std::vector<Candidate> candidates;
  const Field* field = experiment_fields().find(key);
  if (field == nullptr) return candidates;
  std::vector<std::string> words = choice_words(field->choices);
  if (words.empty() && has(field->types, FieldType::boolean)) words = {"true", "false"};
  for (const std::string& word : words)
    candidates.push_back(
        {fmt::format("{}={}", key, word), word == field->default_text ? "default" : std::string()});
  return candidates;
}

// The command line has the path as typed, which the shell would have expanded.
std::string expanded(const std::string& path) {
  return path.starts_with("~/") ? home_directory() + path.substr(1) : path;
}

}  // namespace

std::vector<Candidate> KnownValues::hosts_after(const std::string& typed,
                                                const char* separators) const {
  constexpr std::size_t largest = std::size_t{4} << 20;
  const std::string path = hosts_.file.empty() ? variable("TRAIN_HOSTFILE") : hosts_.file;
  const auto inventory = hosts_.list.empty()
                             ? parse_hosts({path, read_small_file(expanded(path), largest)})
                             : parse_host_list({"-H", hosts_.list});
  std::vector<Candidate> candidates;
  if (!inventory) return candidates;
  const std::size_t end = typed.find_last_of(separators);
  const std::string before = end == std::string::npos ? "" : typed.substr(0, end + 1);
  for (const Host& host : inventory->hosts) {
    const auto slots = slot_count(host);
    candidates.push_back({before + host.name, slots ? counted(*slots, "slot") : std::string()});
  }
  return candidates;
}

std::vector<Candidate> KnownValues::of(const std::string& kind, const std::string& typed,
                                       const std::set<std::string>& given) const {
  std::vector<Candidate> candidates;
  if (kind.starts_with('|'))
    for (const std::string_view word : split(std::string_view(kind).substr(1), '|'))
      candidates.push_back({std::string(word), {}});
  else if (kind.ends_with(value_kind::task))
    candidates = recorded_tasks(kind, given);
  else if (kind == value_kind::key)
    candidates = typed.find('=') == std::string::npos
                     ? keys()
                     : values_of_key(typed.substr(0, typed.find('=')));
  else if (kind == value_kind::host)
    candidates = hosts_after(typed, ",");
  else if (kind == value_kind::host_filter)
    candidates = hosts_after(typed, "@");
  return candidates;
}

}  // namespace train
