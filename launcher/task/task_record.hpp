// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/states/state_table.hpp"

namespace train {

/// States of a task. `task_states` says what may follow what: a final state may follow any other,
/// even `succeeded` `starting`, since what lies between may be missing in a record that could not
/// be written for a while.
enum class TaskState {
  starting,
  running,
  stopping,
  succeeded,
  failed,
  killed,
  interrupted,
  lost,
};
const StateTable<TaskState>& task_states();

std::string_view to_string(TaskState state);
std::optional<TaskState> task_state_from_string(std::string_view name);
/// Nothing more will happen to the task.
bool is_final(TaskState state);
/// Whether the table has this change.
bool is_legal_change(TaskState from, TaskState to);

/// Milliseconds since the Unix epoch; tasks are recorded on the wall clock.
using UnixMillis = std::int64_t;

/// One rank of a task, as recorded.
struct RankRecord {
  int rank = 0;
  std::string host;
  std::string slots;             ///< "0", "2,3", "" for none
  std::optional<int> exit_code;  ///< when it exited by itself
  std::optional<int> signal;     ///< when a signal ended it
  bool stopped = false;          ///< train stopped it: never a cause
  std::string log_file;          ///< absolute path on the launcher's machine

  bool operator==(const RankRecord&) const = default;
};

/// The context that a task's ranks start in.
struct ContextRecord {
  std::string directory;  ///< absolute, on the launcher's machine; empty: the task has none
  std::string sha256;     ///< of its archive; empty until it is read
  std::int64_t files = 0;
  std::int64_t bytes = 0;  ///< of all files

  bool operator==(const ContextRecord&) const = default;
};

/// The durable story of a task.
struct TaskRecord {
  std::string id;
  std::string name;
  TaskState state = TaskState::starting;
  std::string slots;  ///< of all trials, as a quantity: "4", "0.5"
  std::string hosts;  ///< names, comma separated, in rank order
  int world_size = 0;
  std::string user;
  UnixMillis created = 0;
  std::optional<UnixMillis> started;  ///< all ranks were started
  std::optional<UnixMillis> ended;
  int restarts = 0;
  std::optional<int> exit_code;   ///< of the launcher
  std::string error_class;        ///< name of an ErrorClass, empty on success
  std::string cause;              ///< the last words: what failed, in one paragraph
  std::string config_text;        ///< the experiment as it was read, secrets redacted
  std::string plan_json;          ///< as `train plan --json` prints it, secrets redacted
  std::string working_directory;  ///< of the launcher
  std::string log_directory;      ///< absolute
  std::int64_t launcher_pid = 0;
  std::int64_t stop_grace_ms = 10'000;  ///< how long its ranks may take to stop
  ContextRecord context;
  std::vector<RankRecord> ranks;

  bool operator==(const TaskRecord&) const = default;
};

/// What the agent of a task's host is called there; hosts are counted from 0, in rank order.
std::string agent_key(const std::string& task_id, int host);

/// A task id: eight characters of [a-z2-7], from 40 random bits.
std::string make_task_id(std::uint64_t random_bits);

}  // namespace train
