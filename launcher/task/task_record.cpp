// SPDX-License-Identifier: Apache-2.0
#include "launcher/task/task_record.hpp"

namespace train {
const StateTable<TaskState>& task_states() {
  using enum TaskState;
  static const StateTable<TaskState> table(
      "a task",
      {{starting,
        "starting",
        "hosts are reached, ranks are being started",
        {running, stopping, succeeded, failed, killed, interrupted, lost}},
       {running,
        "running",
        "every rank was started",
        {stopping, succeeded, failed, killed, interrupted, lost}},
       {stopping,
        "stopping",
        "the ranks are being stopped",
        {succeeded, failed, killed, interrupted, lost}},
       {succeeded, "succeeded", "every rank ended with 0", {}},
       {failed, "failed", "a rank, a host or the launch failed", {}},
       {killed, "killed", "by `train task kill`", {}},
       {interrupted, "interrupted", "by Ctrl-C or a signal", {}},
       {lost, "lost", "the launcher died without a word, as somebody else found out", {}}});
  return table;
}

std::string_view to_string(TaskState state) { return task_states().row(state).name; }

std::optional<TaskState> task_state_from_string(std::string_view name) {
  for (const auto& row : task_states().rows())
    if (row.name == name) return row.state;
  return std::nullopt;
}

bool is_final(TaskState state) { return task_states().row(state).next.empty(); }

bool is_legal_change(TaskState from, TaskState to) { return task_states().allows(from, to); }

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
