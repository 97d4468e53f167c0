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
///     <root>/tasks/<id>/launch.json       what it was launched with, without secrets
///     <root>/tasks/<id>/unsettled.json    where something of it may be left, once it has ended
///     <root>/tasks/<id>/end.json          how it ended, until tasks.db has it for good
///     <root>/tasks/<id>/launcher.log      what the launcher of a detached task said
///     <root>/tasks/<id>/logs/             what its ranks wrote
///     <root>/tasks/<id>/bundle/           what another supervisor needs to go on with it, until
///     its
///                                         end; has secrets
///     <root>/tasks/.removed-<id>/         the folder of a task that is being removed
///     <root>/programs/                    the `train` of each of those
///
/// Any number of processes may use it at once, and any number of threads, whose calls take turns. A
/// store is not used across a fork. Destroying it gives up the launcher's marks of its tasks: those
/// that are not final are found `lost` from then on.
class SqliteTaskStore final : public TaskStore {
 public:
  /// Opens the store in `root` (absolute), creating what is not there. Errors say what is wrong
  /// with which file: class `no_input`, or `busy` when another process has locked the database for
  /// 5 s.
  static Result<std::unique_ptr<SqliteTaskStore>> open(const std::string& root);

  ~SqliteTaskStore() override;

  /// Also creates the log directory of the task (0700).
  Result<void> create(const TaskRecord& task) override;
  /// Records a task of this process, whose ranks have not been started, anew: placed elsewhere,
  /// with a new journal and no logs. What version control says of its code is kept.
  Result<void> start_over(const TaskRecord& task);
  /// A final state ends this process' mark as the launcher; no update may follow it.
  Result<void> update(const TaskRecord& task) override;
  void note_alive(const std::string& id) override;
  Result<TaskRecord> find(const std::string& prefix) override;
  Result<TaskList> list(bool all) override;

  /// Removes a task that has ended: its record, its journal and its folder, logs included. Class
  /// `busy` when it has not ended. A process that dies meanwhile leaves a task that is there and
  /// can be removed, or none, and then a folder for `finish_removals`.
  Result<void> remove(const std::string& id);
  /// Whether this is the start of the id of one task, whose record cannot be read.
  bool is_damaged(const std::string& prefix);
  /// The same as `remove` of such a task: what there may be of it on hosts is left alone.
  /// Its id; class `busy` while its launcher lives, `no_input` when there is none or several.
  Result<std::string> remove_damaged(const std::string& prefix);
  /// Removes what processes have left that died while they removed tasks.
  Result<void> finish_removals();

  /// Adds to the record of a task, whatever its state, what version control says of its code.
  Result<void> note_git(const std::string& id, const GitRecord& git);
  /// Keeps what a task was launched with as long as its record. Errors are of class `no_input`.
  Result<void> keep_launch(const std::string& id, std::string_view launch) const;
  Result<std::string> read_launch(const std::string& id) const;

  /// Keeps what another supervisor needs to go on with a task of this process, until it is final
  /// (`task_bundle.hpp`).
  Result<void> keep_request(const std::string& id, std::string_view request) const;
  Result<void> keep_program(const std::string& id) const;
  Result<void> keep_context(const std::string& id, std::string_view archive) const;
  /// Where that is.
  std::string bundle_folder(const std::string& id) const;

  /// Makes this process the launcher of a task that is not final and whose launcher has ended: from
  /// then on `update`, `note_alive` and `append_journal` are as after `create`. Errors are of class
  /// `busy` when another process is its launcher, `no_input` when there is no such task or it has
  /// ended.
  Result<void> adopt(const std::string& id);
  /// Writes the next entry of the journal of a task of this process; a `durable` one survives a
  /// loss of power when this returns, and all before it with it. Class `busy` when another process
  /// has adopted the task, or written into the journal since: that one is the launcher of the task
  /// now, and nothing more is written here, the record included.
  Result<void> append_journal(const std::string& id, const std::string& entry, bool durable);
  bool was_displaced(const std::string& id) const override;
  /// Looks, where it has not been found yet. Class `busy` where the registry is locked.
  Result<bool> find_displaced(const std::string& id);
  /// A look at the mark of this process as the launcher of a task, which does not wait for the
  /// registry: false once another one has adopted the task. Any thread may call it, as long as the
  /// task is not final.
  std::function<bool()> own_mark(const std::string& id) const;
  /// All entries of a journal, in order: at most `most_journal_entries`.
  Result<std::vector<std::string>> read_journal(const std::string& id);

  /// Where the logs of a task are or will be: absolute, `<root>/tasks/<id>/logs`.
  std::string log_directory(const std::string& id) const;
  /// The file that the launcher of a task keeps open and locked as long as it lives.
  std::string lock_file(const std::string& id) const;
  /// Where it is kept how the hosts of a task are reached. Its folder is open to nobody else.
  std::string hosts_file(const std::string& id) const;
  /// Where it is kept which of them may still have something of the task, once that has ended.
  std::string unsettled_file(const std::string& id) const;
  /// The socket through which the launcher of a task is spoken with as long as it lives.
  std::string control_socket(const std::string& id) const;
  /// What the launcher of a detached task has to say once it has left its terminal.
  std::string launcher_log(const std::string& id) const;

 private:
  struct Impl;
  explicit SqliteTaskStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace train
