// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launcher/ports/task_store.hpp"

namespace train {

/// Tasks in a SQLite database under a state directory of the user:
///
///     <root>/tasks.db                     all records (0600)
///     <root>/tasks/<id>/launcher.lock     held by the launcher of the task as long as it lives
///     <root>/tasks/<id>/control           socket of the launcher of the task
///     <root>/tasks/<id>/hosts.yaml        how its hosts are reached; the launcher writes it
///     <root>/tasks/<id>/launch.json       its launch settings, without secrets
///     <root>/tasks/<id>/unsettled.json    hosts that may have leftovers, once it has ended
///     <root>/tasks/<id>/end.json          its end, until tasks.db has it durably
///     <root>/tasks/<id>/launcher.log      messages of the launcher of a detached task
///     <root>/tasks/<id>/usage.jsonl       what its ranks used over time
///     <root>/tasks/<id>/starts.jsonl      when its hosts came to each step of a start
///     <root>/tasks/<id>/logs/             the output of its ranks
///     <root>/tasks/<id>/bundle/           what another supervisor needs to resume it, with secrets
///     <root>/tasks/.removed-<id>/         the folder of a task that is being removed
///     <root>/programs/                    the `train` of each bundle
///
/// Any number of processes may use the store at once, and any number of threads, whose calls take
/// turns. A store must not be used across a fork. Destroying it releases the launcher locks of its
/// tasks: tasks that are not final are reported as `lost` from then on.
class SqliteTaskStore final : public TaskStore {
 public:
  /// Opens the store in `root` (absolute), creating what is missing. Errors say what is wrong with
  /// which file: class `no_input`, or `busy` when another process has locked the database for 5 s.
  static Result<std::unique_ptr<SqliteTaskStore>> open(const std::string& root);

  ~SqliteTaskStore() override;

  /// Also creates the log directory of the task (0700).
  Result<void> create(const TaskRecord& task) override;
  /// Replaces the record of a task of this process whose ranks have not been started: placed
  /// elsewhere, with a new journal and no logs. The git state in the record is kept.
  Result<void> start_over(const TaskRecord& task);
  /// Writes the hosts and the plan of a task of this process, which goes on on these hosts; then as
  /// `update`.
  Result<void> move(const TaskRecord& task);
  /// A final state releases the launcher lock of the task; no update may follow it.
  Result<void> update(const TaskRecord& task) override;
  void note_alive(const std::string& id) override;
  Result<TaskRecord> find(const std::string& prefix) override;
  Result<TaskList> list(bool all) override;

  /// Removes a task that has ended: its record, its journal and its folder, logs included. Class
  /// `busy` when it has not ended. A process that dies meanwhile leaves either a task that can
  /// still be removed, or no task and a folder for `finish_removals`.
  Result<void> remove(const std::string& id);
  /// Whether `prefix` matches exactly one task and its record cannot be read.
  bool is_damaged(const std::string& prefix);
  /// Like `remove`, for a task whose record is damaged; nothing is cleaned up on its hosts. Returns
  /// its id. Class `busy` while its launcher lives, `no_input` when no task or several match.
  Result<std::string> remove_damaged(const std::string& prefix);
  /// Removes what is left of tasks whose removal was interrupted by the death of the process.
  Result<void> finish_removals();

  /// Adds the git state of its code to the record of a task, in any state.
  Result<void> note_git(const std::string& id, const GitRecord& git);
  /// Keeps the launch settings of a task as long as its record. Errors are of class `no_input`.
  Result<void> keep_launch(const std::string& id, std::string_view launch) const;
  Result<std::string> read_launch(const std::string& id) const;

  /// Keep what another supervisor needs to resume a task of this process, until the task is final
  /// (`task_bundle.hpp`).
  Result<void> keep_request(const std::string& id, std::string_view request) const;
  Result<void> keep_program(const std::string& id) const;
  Result<void> keep_context(const std::string& id, std::string_view archive) const;
  /// The folder of these files.
  std::string bundle_folder(const std::string& id) const;

  /// Makes this process the launcher of a task that is not final and whose launcher has ended: from
  /// then on `update`, `note_alive` and `append_journal` work as after `create`. Errors are of
  /// class `busy` when another process is its launcher, `no_input` when there is no such task or it
  /// has ended.
  Result<void> adopt(const std::string& id);
  /// Writes the next entry of the journal of a task of this process. A `durable` entry, and all
  /// entries before it, survive a loss of power when this returns. Class `busy` when another
  /// process has adopted the task or written into its journal: that process is the launcher of the
  /// task now, and this one writes nothing more, the record included.
  Result<void> append_journal(const std::string& id, const std::string& entry, bool durable);
  bool was_displaced(const std::string& id) const override;
  /// Checks again whether another process has adopted the task, if none is known to have. Class
  /// `busy` when the registry is locked.
  Result<bool> find_displaced(const std::string& id);
  /// Returns a check of the launcher lock of a task that does not wait for the registry: false once
  /// another process has adopted the task. Any thread may call it as long as the task is not final.
  std::function<bool()> own_mark(const std::string& id) const;
  /// All entries of a journal, in order: at most `most_journal_entries`.
  Result<std::vector<std::string>> read_journal(const std::string& id);

  /// The log directory of a task, whether or not it exists yet: absolute, `<root>/tasks/<id>/logs`.
  std::string log_directory(const std::string& id) const;
  /// The file that the launcher of a task keeps open and locked as long as it lives.
  std::string lock_file(const std::string& id) const;
  /// The file with the settings with which the hosts of a task are reached. Other users cannot
  /// enter its folder.
  std::string hosts_file(const std::string& id) const;
  /// The file with the hosts that may still have processes or files of the task after its end.
  std::string unsettled_file(const std::string& id) const;
  /// The control socket of the launcher of a task, which exists as long as the launcher lives.
  std::string control_socket(const std::string& id) const;
  /// Measurements of a task, which its launcher writes (cli/record/measure_files.hpp).
  std::string usage_file(const std::string& id) const;
  std::string starts_file(const std::string& id) const;
  /// What every rank did when the ranks hung for the last time; missing: they never did.
  std::string hang_file(const std::string& id) const;
  /// The messages of the launcher of a detached task after it has left its terminal.
  std::string supervisor_log(const std::string& id) const;

 private:
  struct Impl;
  explicit SqliteTaskStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace train
