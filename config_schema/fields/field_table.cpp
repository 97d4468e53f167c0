// SPDX-License-Identifier: Apache-2.0
#include "config_schema/fields/field_table.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "config_schema/text/text.hpp"

namespace train {

FieldTable::FieldTable(std::span<const Field> fields) : fields_(fields) {
  for (const Field& field : fields) {
    by_path_.emplace(field.path, &field);
    by_parent_[parent_of(field.path)].push_back(&field);
    by_leaf_.emplace(leaf_of(field.path), &field);
  }
}

const Field* FieldTable::find(std::string_view path) const {
  const auto found = by_path_.find(path);
  return found == by_path_.end() ? nullptr : found->second;
}

const std::vector<const Field*>& FieldTable::children(std::string_view path) const {
  static const std::vector<const Field*> none;
  const auto found = by_parent_.find(path);
  return found == by_parent_.end() ? none : found->second;
}

const Field* FieldTable::find_anywhere(std::string_view key) const {
  const auto found = by_leaf_.find(key);
  return found == by_leaf_.end() ? nullptr : found->second;
}

std::string_view parent_of(std::string_view path) {
  if (path.ends_with("[]")) return path.substr(0, path.size() - 2);
  const std::size_t dot = path.rfind('.');
  return dot == path.npos ? std::string_view() : path.substr(0, dot);
}

std::string_view leaf_of(std::string_view path) {
  if (path.ends_with("[]")) return "[]";
  return path.substr(path.rfind('.') + 1);
}

std::vector<std::string> choice_words(std::string_view choices) {
  std::vector<std::string> words;
  if (choices.empty()) return words;
  for (const std::string_view word : split(choices, '|')) words.emplace_back(word);
  return words;
}

bool is_one_of(std::string_view word, std::string_view choices) {
  if (choices.empty()) return false;
  for (const std::string_view candidate : split(choices, '|'))
    if (candidate == word) return true;
  return false;
}

namespace {

struct ForeignWord {
  std::string_view word;
  std::string_view path;
};

// Words of torchrun, Slurm, DeepSpeed, SkyPilot and Ansible.
constexpr std::array experiment_words = {
    ForeignWord{"gpu", "resources.slots_per_trial"},
    ForeignWord{"gpus", "resources.slots_per_trial"},
    ForeignWord{"n_gpus", "resources.slots_per_trial"},
    ForeignWord{"ngpus", "resources.slots_per_trial"},
    ForeignWord{"num_gpus", "resources.slots_per_trial"},
    ForeignWord{"nproc", "resources.slots_per_trial"},
    ForeignWord{"nprocs", "resources.slots_per_trial"},
    ForeignWord{"ntasks", "resources.slots_per_trial"},
    ForeignWord{"world_size", "resources.slots_per_trial"},
    ForeignWord{"workers", "scaling_config.num_workers"},
    ForeignWord{"cpus", "scaling_config.resources_per_worker.CPU"},
    ForeignWord{"cpus_per_task", "scaling_config.resources_per_worker.CPU"},
    ForeignWord{"gpus_per_task", "scaling_config.resources_per_worker.GPU"},
    ForeignWord{"gpus_per_worker", "scaling_config.resources_per_worker.GPU"},
    ForeignWord{"batch", "global_batch_size"},
    ForeignWord{"batch_size", "global_batch_size"},
    ForeignWord{"total_batch_size", "global_batch_size"},
    ForeignWord{"train_batch_size", "global_batch_size"},
    ForeignWord{"cmd", "entrypoint"},
    ForeignWord{"command", "entrypoint"},
    ForeignWord{"run", "entrypoint"},
    ForeignWord{"script", "entrypoint"},
    ForeignWord{"cwd", "working_directory"},
    ForeignWord{"workdir", "working_directory"},
};

constexpr std::array host_words = {
    ForeignWord{"accelerator", "resources.GPU"},
    ForeignWord{"accelerators", "resources.GPU"},
    ForeignWord{"devices", "resources.GPU"},
    ForeignWord{"gpu", "resources.GPU"},
    ForeignWord{"gpus", "resources.GPU"},
    ForeignWord{"n_gpus", "resources.GPU"},
    ForeignWord{"ngpus", "resources.GPU"},
    ForeignWord{"num_gpus", "resources.GPU"},
    ForeignWord{"cpu", "resources.CPU"},
    ForeignWord{"cpus", "resources.CPU"},
    ForeignWord{"ncpus", "resources.CPU"},
    ForeignWord{"num_cpus", "resources.CPU"},
    ForeignWord{"mem", "resources.memory"},
    ForeignWord{"ram", "resources.memory"},
    ForeignWord{"gpu_type", "accelerator_type"},
    ForeignWord{"host", "name"},
    ForeignWord{"hostname", "name"},
    ForeignWord{"node", "name"},
    ForeignWord{"ansible_host", "address"},
    ForeignWord{"ip", "address"},
    ForeignWord{"ip_address", "address"},
    ForeignWord{"ssh_port", "port"},
    ForeignWord{"login", "user"},
    ForeignWord{"ssh_user", "user"},
    ForeignWord{"username", "user"},
    ForeignWord{"key_file", "identity_file"},
    ForeignWord{"ssh_key", "identity_file"},
    ForeignWord{"dtrain_network_interface", "interface"},
    ForeignWord{"network_interface", "interface"},
    ForeignWord{"np", "slots"},
    ForeignWord{"processes", "slots"},
};

std::string plain(std::string_view word) {
  std::string text = to_lower(word);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

}  // namespace

bool is_users_own(const FieldTable& table, std::string_view key) {
  const bool is_of_a_file = &table == &experiment_fields() || &table == &inventory_fields();
  return is_of_a_file && key.starts_with("x-");
}

std::string_view field_for_foreign_word(const FieldTable& table, std::string_view word) {
  std::span<const ForeignWord> words;
  if (&table == &experiment_fields()) words = experiment_words;
  if (&table == &host_fields()) words = host_words;
  const auto found =
      std::find_if(words.begin(), words.end(),
                   [wanted = plain(word)](const ForeignWord& each) { return each.word == wanted; });
  return found == words.end() ? std::string_view() : found->path;
}

}  // namespace train
