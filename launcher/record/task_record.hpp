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

/// States of a task. `task_states` says what may follow what: a final state may follow any other,
/// even `succeeded` `starting`, since what lies between may be missing in a record that could not
/// be written for a while.
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
  std::string oom = {};          ///< the kernel killed it for want of memory: of which, and whom
  std::string core = {};         ///< where its core is, in words
  std::string cpus = {};         ///< of its host that it is bound to: "0-3,8"; empty: to none
  // What it has used with all that it has started, as far as that is known: of the user and the
  // system, then bytes in memory when it was last measured, unless it has ended, and at most.
  std::optional<std::int64_t> cpu_ms = {};
  std::optional<std::int64_t> memory = {};
  std::optional<std::int64_t> memory_peak = {};

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

/// What version control says of the directory of a task's code when it was launched.
struct GitRecord {
  std::string commit;            ///< in hexadecimal digits; empty: none is known
  std::optional<bool> is_dirty;  ///< tracked files differed from it; nothing: not known

  bool operator==(const GitRecord&) const = default;
};

/// One attempt to run a task.
struct AttemptRecord {
  int number = 0;  ///< restarts before it
  UnixMillis started = 0;
  std::optional<UnixMillis> ended;
  std::string hosts;  ///< names, comma separated, in rank order
  std::string cause;  ///< what failed first, a line; empty while it runs, and on success
  /// What log policies have found in what its ranks printed, a line for each.
  std::vector<std::string> log_policies;
  std::int64_t reports = 0;        ///< lines of metrics files that were some, of all ranks
  std::int64_t ignored_lines = 0;  ///< of metrics files, that were none
  std::string last_report = {};    ///< of rank 0: a JSON object on one line; empty: none

  bool operator==(const AttemptRecord&) const = default;
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
  std::int64_t stop_notice_ms = 0;      ///< between their stop file and the stop signal
  std::int64_t stop_grace_ms = 10'000;  ///< how long its ranks may take to stop, after that
  /// How long there may be ranks of it after the last sign of life of its launcher; 0: no longer
  /// than it takes to find out, at least `for_ever`: until somebody ends them.
  std::int64_t outlives_ms = 0;
  std::optional<std::uint64_t> log_limit;  ///< the experiment's
  /// Its launcher has died, and its ranks may go on; when it is `stopping`, it was told to end
  /// them. Never recorded: it is seen when it is read.
  bool is_unattended = false;
  /// When that is over at the latest, from the moment at which it was read: then it is lost.
  /// Nothing: no clock ends it.
  std::optional<std::int64_t> lost_in_ms = {};
  /// Hosts of a task that has ended which have not said that nothing of it is left there. Kept
  /// beside the record.
  std::vector<std::string> unsettled_hosts = {};
  ContextRecord context;
  GitRecord git;                  ///< of the context, or of the working directory
  std::vector<RankRecord> ranks;  ///< of the last attempt; of a search none
  std::vector<AttemptRecord> attempts;

  bool operator==(const TaskRecord&) const = default;
};

/// Whether the task has many trials. What they have come to is in its journal.
bool is_search(const TaskRecord& task);

/// What users are told: its state, or "unattended".
std::string_view shown_state(const TaskRecord& task);

/// `TaskRecord::outlives_ms` of tasks with this experiment.
std::int64_t outlives_ms_of(const ExperimentConfig& experiment);

/// The task is `lost` since `ended`, for this cause, and its last attempt with it.
void lose(TaskRecord& task, UnixMillis ended, std::string cause);

/// The last attempt has ended with its task, which is final, if nobody has recorded its end.
void end_last_attempt(TaskRecord& task);

/// What the agent of a task's host is called there; hosts are counted from 0, in rank order.
std::string agent_key(const std::string& task_id, int host);

/// The log of an attempt of a rank in a log directory: `<log_directory>/rank-3.0.log` is the first
/// attempt's.
std::string rank_log_file(const std::string& log_directory, int rank, int attempt = 0);

/// The same of what it has appended to its metrics file: `<log_directory>/metrics-3.0.log`.
std::string metrics_log_file(const std::string& log_directory, int rank, int attempt = 0);

/// Where the logs of a trial are, of a task with many: `<log_directory>/trial-12`. A task with one
/// trial has its logs in `log_directory` itself.
std::string trial_log_directory(const std::string& log_directory, int trial);

/// A task id: eight characters of [a-z2-7], from 40 random bits.
std::string make_task_id(std::uint64_t random_bits);

}  // namespace train
