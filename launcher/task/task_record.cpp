// SPDX-License-Identifier: Apache-2.0
#include "launcher/task/task_record.hpp"

#include <array>
#include <utility>

namespace train {
namespace {

constexpr std::array<std::pair<TaskState, std::string_view>, 8> state_names{{
    {TaskState::starting, "starting"},
    {TaskState::running, "running"},
    {TaskState::stopping, "stopping"},
    {TaskState::succeeded, "succeeded"},
    {TaskState::failed, "failed"},
    {TaskState::killed, "killed"},
    {TaskState::interrupted, "interrupted"},
    {TaskState::lost, "lost"},
}};

}  // namespace

std::string_view to_string(TaskState state) {
  for (const auto& [each, name] : state_names)
    if (each == state) return name;
  return "lost";
}

std::optional<TaskState> task_state_from_string(std::string_view name) {
  for (const auto& [state, each] : state_names)
    if (each == name) return state;
  return std::nullopt;
}

bool is_final(TaskState state) {
  return state != TaskState::starting && state != TaskState::running &&
         state != TaskState::stopping;
}

bool is_legal_change(TaskState from, TaskState to) {
  if (is_final(from)) return false;
  if (is_final(to)) return true;
  return to != TaskState::starting && from != TaskState::stopping && from != to;
}

std::string agent_key(const std::string& task_id, int host) {
  return task_id + "-" + std::to_string(host);
}

std::string make_task_id(std::uint64_t random_bits) {
  constexpr std::string_view alphabet = "abcdefghijklmnopqrstuvwxyz234567";
  constexpr int length = 8;
  constexpr int bits_per_character = 5;
  std::string id;
  for (int i = 0; i < length; ++i) {
    id += alphabet[random_bits % alphabet.size()];
    random_bits >>= bits_per_character;
  }
  return id;
}

}  // namespace train
