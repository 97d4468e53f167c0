// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/setting_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config_schema/experiment/entrypoint.hpp"
#include "config_schema/fields/field_table.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "config_schema/text/text.hpp"

namespace train {
namespace {

using Keys = std::vector<WrittenKey>;

Keys written(const ExperimentConfig& experiment, std::string_view path) {
  const auto found = experiment.written.keys.find(path);
  return found == experiment.written.keys.end() ? Keys() : found->second;
}

// The keys to be set so that nothing else counts: a flag wins over a file, but not over a flag; and
// what is taken away must be taken away everywhere.
Keys keys_to_set(const ExperimentConfig& experiment, std::string_view path, bool takes_away) {
  Keys all = written(experiment, path);
  if (all.empty()) return {{std::string(path), false}};
  if (takes_away) return all;
  Keys of_flags;
  for (const WrittenKey& key : all)
    if (key.is_flag) of_flags.push_back(key);
  if (of_flags.empty()) all.resize(1);
  return of_flags.empty() ? all : of_flags;
}

std::string memory_value(std::uint64_t bytes) {
  constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
  constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;
  if (bytes % gibibyte == 0) return fmt::format("{}GiB", bytes / gibibyte);
  if (bytes % mebibyte == 0) return fmt::format("{}MiB", bytes / mebibyte);
  return fmt::format("{}", bytes);
}

}  // namespace

std::string set_key(const ExperimentConfig& experiment, std::string_view path,
                    const std::string& yaml) {
  std::string options;
  for (const WrittenKey& key : keys_to_set(experiment, path, yaml == "null")) {
    const bool is_in_capitals = leaf_of(key.path) == "placement_strategy";
    options += fmt::format(
        "{}--set {}", options.empty() ? "" : " ",
        shell_quoted(fmt::format("{}={}", key.path, is_in_capitals ? to_upper(yaml) : yaml)));
  }
  return options;
}

std::string set_worker_needs(const ExperimentConfig& experiment, const WorkerNeeds& needs) {
  std::vector<std::string> amounts;
  if (needs.cpus_named || !needs.cpus.is_zero())
    amounts.push_back(fmt::format("CPU: {}", to_string(needs.cpus)));
  if (needs.tpus_named)
    amounts.push_back(fmt::format("TPU: {}", to_string(needs.slots)));
  else if (needs.gpus_named)
    amounts.push_back(fmt::format("GPU: {}", to_string(needs.slots)));
  if (needs.memory) amounts.push_back("memory: " + memory_value(*needs.memory));
  for (const auto& [name, quantity] : needs.custom)
    amounts.push_back(fmt::format("{}: {}", yaml_string(name), to_string(quantity)));
  return set_key(experiment, "resources.resources_per_worker",
                 fmt::format("{{{}}}", fmt::join(amounts, ", ")));
}

std::string set_slots(const ExperimentConfig& experiment, Quantity slots) {
  constexpr std::string_view path = "resources.slots_per_trial";
  const Keys keys = written(experiment, path);
  if (keys.empty()) return {};
  const bool is_option =
      std::any_of(keys.begin(), keys.end(), [](const WrittenKey& key) { return key.path == "-n"; });
  return is_option ? "-n " + to_string(slots) : set_key(experiment, path, to_string(slots));
}

std::string yaml_string(const std::string& text) {
  constexpr std::string_view inside =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-";
  const bool is_plain = !text.empty() && text.find_first_not_of(inside) == text.npos &&
                        text.front() != '-' && text.find("...") == text.npos &&
                        resolve_plain_scalar(text).kind == YamlKind::string;
  return is_plain ? text : json_quoted(text);
}

}  // namespace train
