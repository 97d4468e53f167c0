// SPDX-License-Identifier: Apache-2.0
#include "launcher/task/task_record.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace train {
namespace {

constexpr std::array<std::pair<TaskState, std::string_view>, 8> names = {{
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
  return names.at(static_cast<std::size_t>(state)).second;
}

std::optional<TaskState> task_state_from_string(std::string_view name) {
  for (const auto& [state, text] : names)
    if (text == name) return state;
  return std::nullopt;
}

bool is_final(TaskState state) { return state >= TaskState::succeeded; }

bool is_legal_change(TaskState from, TaskState to) {
  if (is_final(from)) return false;
  if (to == TaskState::lost) return true;
  switch (from) {
    case TaskState::starting:
      return to != TaskState::starting && to != TaskState::succeeded;
    case TaskState::running:
      return to == TaskState::stopping || to == TaskState::succeeded;
    default:
      return is_final(to);
  }
}

}  // namespace train
