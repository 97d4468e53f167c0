// SPDX-License-Identifier: Apache-2.0
#include "launcher/record/task_record.hpp"

#include <algorithm>
#include <utility>

#include "config_schema/text/error.hpp"

namespace train {
const StateTable<TaskState>& task_states() {
  using enum TaskState;
  static const StateTable<TaskState> table(
      "a task",
      {{starting,
        "starting",
        "hosts are reached, ranks are being started",
        {waiting, running, stopping, succeeded, failed, killed, interrupted, timeout, lost}},
       {waiting,
        "waiting",
        "others hold its slots; it stands in line, and starts anew when it is its turn",
        {failed, killed, interrupted, lost}},
       {running,
        "running",
        "every rank was started",
        {stopping, succeeded, failed, killed, interrupted, timeout, lost}},
       {stopping,
        "stopping",
        "the ranks are being stopped",
        {succeeded, failed, killed, interrupted, timeout, lost}},
       {succeeded, "succeeded", "every rank ended with 0", {}},
       {failed, "failed", "a rank, a host or the launch failed", {}},
       {killed, "killed", "by `train task kill`", {}},
       {interrupted, "interrupted", "by Ctrl-C or a signal", {}},
       {timeout, "timeout", "stopped by train: its max_runtime was over", {}},
       {lost,
        "lost",
        "the launcher died without recording an end; another process found out",
        {}}});
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

bool is_search(const TaskRecord& task) { return task.ranks.empty() && task.world_size > 0; }

int most_ranks(const TaskRecord& task) {
  return std::max(task.world_size, static_cast<int>(task.ranks.size()));
}

std::string ranks_text(const TaskRecord& task) {
  const std::string now = std::to_string(task.world_size);
  const int most = most_ranks(task);
  return most == task.world_size ? now : now + " of " + std::to_string(most);
}

std::string_view shown_state(const TaskRecord& task) {
  return task.is_unattended ? "unattended" : to_string(task.state);
}

// The agents use their own clocks, and kill what does not end by itself; the launcher's last sign
// of life is up to 5 s old when it dies.
std::int64_t outlives_ms_of(const ExperimentConfig& experiment) {
  constexpr std::chrono::milliseconds margin{10'000};
  constexpr int rate_margin = 1'000;
  const auto wait = experiment.launcher_wait.value_or(brief_launcher_wait);
  const auto window = std::max(experiment.reconnect_window, wait);
  if (window <= brief_launcher_wait) return 0;
  if (window >= for_ever) return for_ever.count();
  return (window + window / rate_margin + margin).count();
}

void lose(TaskRecord& task, UnixMillis ended, std::string cause) {
  task.is_unattended = false;
  task.lost_in_ms.reset();
  task.state = TaskState::lost;
  task.ended = ended;
  task.error_class = to_string(ErrorClass::interrupted);
  task.cause = std::move(cause);
  end_last_attempt(task);
}

void end_last_attempt(TaskRecord& task) {
  if (task.attempts.empty() || task.attempts.back().ended) return;
  task.attempts.back().ended = task.ended;
  task.attempts.back().cause = task.cause;
}

std::string agent_key(const std::string& task_id, int host) {
  return task_id + "-" + std::to_string(host);
}

std::string rank_log_file(const std::string& log_directory, int rank, int attempt) {
  return log_directory + "/rank-" + std::to_string(rank) + "." + std::to_string(attempt) + ".log";
}

std::string metrics_log_file(const std::string& log_directory, int rank, int attempt) {
  return log_directory + "/metrics-" + std::to_string(rank) + "." + std::to_string(attempt) +
         ".log";
}

std::string trial_log_directory(const std::string& log_directory, int trial) {
  return log_directory + "/trial-" + std::to_string(trial);
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
