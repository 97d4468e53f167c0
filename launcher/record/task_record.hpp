// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "launcher/states/state_table.hpp"

namespace train {

/// States of a task. `task_states` has the allowed changes: a final state may follow any other,
/// even `succeeded` after `starting`, because the states in between are missing from a record that
/// could not be written for a while.
enum class TaskState {
  starting,
  waiting,
  running,
  stopping,
  succeeded,
  failed,
  killed,
  interrupted,
  timeout,
  lost,
};
const StateTable<TaskState>& task_states();

std::string_view to_string(TaskState state);
std::optional<TaskState> task_state_from_string(std::string_view name);
/// Whether nothing more will happen to the task.
bool is_final(TaskState state);
/// Whether the table allows this change.
bool is_legal_change(TaskState from, TaskState to);

/// Milliseconds since the Unix epoch; tasks are recorded on the wall clock.
using UnixMillis = std::int64_t;

/// One rank of a task, as recorded.
struct RankRecord {
  int rank = 0;
  std::string host;              ///< empty: the last attempt has fewer ranks than the task
  std::string slots;             ///< "0", "2,3", "" for none
  std::optional<int> exit_code;  ///< if it exited by itself
  std::optional<int> signal;     ///< if a signal ended it
  bool stopped = false;          ///< train stopped it; never a cause
  std::string log_file;          ///< absolute path on the launcher's machine
  /// If the kernel killed it for lack of memory: which memory, and which process.
  std::string oom = {};
  std::string core = {};  ///< where its core dump is, as text
  std::string cpus = {};  ///< CPUs of its host that it is bound to: "0-3,8"; empty: not bound
  // Resource usage of the rank and its descendants, as far as known: CPU time of user and system;
  // bytes of memory at the last measurement, unless it has ended; and the maximum.
  std::optional<std::int64_t> cpu_ms = {};
  std::optional<std::int64_t> memory = {};
  std::optional<std::int64_t> memory_peak = {};

  bool operator==(const RankRecord&) const = default;
};

/// The context in which a task's ranks start.
struct ContextRecord {
  std::string directory;  ///< absolute, on the launcher's machine; empty: the task has none
  std::string sha256;     ///< of its archive; empty until it is read
  std::int64_t files = 0;
  std::int64_t bytes = 0;  ///< of all files

  bool operator==(const ContextRecord&) const = default;
};

/// The version control state of the directory of a task's code at launch.
struct GitRecord {
  std::string commit;            ///< in hexadecimal digits; empty: unknown
  std::optional<bool> is_dirty;  ///< tracked files differed from it; nothing: unknown

  bool operator==(const GitRecord&) const = default;
};

/// One attempt to run a task.
struct AttemptRecord {
  int number = 0;  ///< number of restarts before it
  UnixMillis started = 0;
  std::optional<UnixMillis> ended;
  std::string hosts;  ///< names, comma separated, in rank order
  std::string cause;  ///< what failed first, one line; empty while it runs, and on success
  /// Matches of log policies in the output of its ranks, one line each.
  std::vector<std::string> log_policies;
  std::int64_t reports = 0;        ///< valid lines of metrics files, of all ranks
  std::int64_t ignored_lines = 0;  ///< invalid lines of metrics files
  std::string last_report = {};    ///< of rank 0: a JSON object on one line; empty: none

  bool operator==(const AttemptRecord&) const = default;
};

/// The durable story of a task.
struct TaskRecord {
  std::string id;
  std::string name;
  TaskState state = TaskState::starting;
  std::string slots;   ///< of all trials, as a quantity: "4", "0.5"
  std::string hosts;   ///< names, comma separated, in rank order
  int world_size = 0;  ///< of the last attempt
  std::string user;
  UnixMillis created = 0;
  std::optional<UnixMillis> started;  ///< when all ranks had started
  std::optional<UnixMillis> ended;
  int restarts = 0;
  std::optional<int> exit_code;   ///< of the launcher
  std::string error_class;        ///< name of an ErrorClass, empty on success
  std::string cause;              ///< what failed, in one paragraph
  std::string config_text;        ///< the experiment as it was read, secrets redacted
  std::string plan_json;          ///< as `train plan --json` prints it, secrets redacted
  std::string working_directory;  ///< of the launcher
  std::string log_directory;      ///< absolute
  std::int64_t launcher_pid = 0;
  std::int64_t stop_notice_ms = 0;      ///< delay between the stop file and the stop signal
  std::int64_t stop_grace_ms = 10'000;  ///< time for its ranks to stop after that
  /// How long its ranks may exist after the last sign of life of its launcher. 0: only until the
  /// loss is detected; `for_ever` or more: until they are ended explicitly.
  std::int64_t outlives_ms = 0;
  std::optional<std::uint64_t> log_limit;  ///< the experiment's
  /// Its launcher has died, and its ranks may still run; if the state is `stopping`, the launcher
  /// had been told to end them. Not recorded: determined on reading.
  bool is_unattended = false;
  /// The latest time of its end, relative to the reading: after that the task is lost. Nothing: no
  /// time limit ends it.
  std::optional<std::int64_t> lost_in_ms = {};
  /// Hosts of an ended task that have not confirmed that nothing of it is left there. Stored beside
  /// the record.
  std::vector<std::string> unsettled_hosts = {};
  ContextRecord context;
  GitRecord git;  ///< of the context, or of the working directory
  std::vector<RankRecord>
      ranks;  ///< of the last attempt, and those that it lacks; empty for a search
  std::vector<AttemptRecord> attempts;

  bool operator==(const TaskRecord&) const = default;
};

/// Whether the task has many trials. Their results are in its journal.
bool is_search(const TaskRecord& task);

/// How many ranks its first attempt had, and no later one has more.
int most_ranks(const TaskRecord& task);
/// How many its last attempt has: "4", or "3 of 4" if that is less.
std::string ranks_text(const TaskRecord& task);

/// The state for users: its name, or "unattended".
std::string_view shown_state(const TaskRecord& task);

/// `TaskRecord::outlives_ms` for tasks with this experiment.
std::int64_t outlives_ms_of(const ExperimentConfig& experiment);

/// Marks the task and its last attempt as `lost` since `ended`, with this cause.
void lose(TaskRecord& task, UnixMillis ended, std::string cause);

/// Ends the last attempt together with its task, which is final, if its end was not recorded.
void end_last_attempt(TaskRecord& task);

/// The key of a task's agent on a host; hosts are counted from 0, in rank order.
std::string agent_key(const std::string& task_id, int host);

/// The log file of an attempt of a rank in a log directory: `<log_directory>/rank-3.0.log` for the
/// first attempt.
std::string rank_log_file(const std::string& log_directory, int rank, int attempt = 0);

/// The same for what it has appended to its metrics file: `<log_directory>/metrics-3.0.log`.
std::string metrics_log_file(const std::string& log_directory, int rank, int attempt = 0);

/// The log directory of a trial, for a task with many: `<log_directory>/trial-12`. A task with one
/// trial has its logs in `log_directory` itself.
std::string trial_log_directory(const std::string& log_directory, int trial);

/// A task id: eight characters of [a-z2-7], from 40 random bits.
std::string make_task_id(std::uint64_t random_bits);

}  // namespace train
