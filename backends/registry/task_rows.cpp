// SPDX-License-Identifier: Apache-2.0
#include "backends/registry/task_rows.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include "backends/registry/rank_json.hpp"
#include "backends/registry/task_columns.hpp"

namespace train {
namespace {

/// Binds values to a statement's parameters, one after the other.
class Binder {
 public:
  explicit Binder(SQLite::Statement& statement) : statement_(statement) {}

  Binder& operator<<(const std::string& text) {
    statement_.bind(++index_, text);
    return *this;
  }
  Binder& operator<<(std::string_view text) { return *this << std::string(text); }
  Binder& operator<<(std::int64_t number) {
    statement_.bind(++index_, number);
    return *this;
  }
  template <class Number>
  Binder& operator<<(const std::optional<Number>& number) {
    if (number) return *this << static_cast<std::int64_t>(*number);
    statement_.bind(++index_);
    return *this;
  }

 private:
  SQLite::Statement& statement_;
  int index_ = 0;
};

}  // namespace

bool insert_task(SQLite::Database& database, const TaskRecord& task, UnixMillis now) {
  SQLite::Statement insert(
      database,
      fmt::format(
          "INSERT INTO task ({}, config_text, plan_json, updated) VALUES "
          "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING",
          brief_columns));
  Binder(insert) << task.id << task.name << to_string(task.state) << task.slots << task.hosts
                 << task.world_size << task.user << task.created << task.started << task.ended
                 << task.restarts << task.exit_code << task.error_class << task.cause
                 << task.working_directory << task.log_directory << task.launcher_pid
                 << task.stop_grace_ms << task.context.directory << task.context.sha256
                 << task.context.files << task.context.bytes << task.outlives_ms << task.log_limit
                 << task.stop_notice_ms << task.git.commit << task.git.is_dirty
                 << ranks_to_json(task.ranks) << task.config_text << task.plan_json << now;
  return insert.exec() == 1;
}

namespace {

// Attempts that are recorded as ended do not change any more, and are skipped.
void write_attempts(SQLite::Database& database, const TaskRecord& task) {
  if (task.attempts.empty()) return;
  SQLite::Statement select(database,
                           "SELECT COUNT(*) FROM attempts WHERE task = ? AND ended IS NOT NULL");
  select.bind(1, task.id);
  const std::size_t known =
      select.executeStep() ? static_cast<std::size_t>(select.getColumn(0).getInt64()) : 0;
  SQLite::Statement insert(database,
                           "INSERT INTO attempts (task, number, started, ended, hosts, "
                           "cause, log_policies, reports, ignored_lines, last_report) "
                           "VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET "
                           "started = excluded.started, ended = excluded.ended, "
                           "hosts = excluded.hosts, cause = excluded.cause, "
                           "log_policies = excluded.log_policies, reports = excluded.reports, "
                           "ignored_lines = excluded.ignored_lines, "
                           "last_report = excluded.last_report");
  for (std::size_t i = known; i < task.attempts.size(); ++i) {
    const AttemptRecord& attempt = task.attempts[i];
    insert.reset();
    Binder(insert) << task.id << attempt.number << attempt.started << attempt.ended << attempt.hosts
                   << attempt.cause << fmt::format("{}", fmt::join(attempt.log_policies, "\n"))
                   << attempt.reports << attempt.ignored_lines << attempt.last_report;
    insert.exec();
  }
}

bool update_where(SQLite::Database& database, const TaskRecord& task, UnixMillis now,
                  std::string_view condition) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  SQLite::Statement update(
      database, fmt::format("UPDATE task SET slots = ?, hosts = ?, world_size = ?, state = ?, "
                            "started = ?, ended = ?, restarts = ?, "
                            "exit_code = ?, error_class = ?, cause = ?, context_sha256 = ?, "
                            "context_files = ?, context_bytes = ?, ranks = ?, launcher_pid = ?, "
                            "updated = ? "
                            "WHERE id = ? AND {}",
                            condition));
  Binder(update) << task.slots << task.hosts << task.world_size << to_string(task.state)
                 << task.started << task.ended << task.restarts << task.exit_code
                 << task.error_class << task.cause << task.context.sha256 << task.context.files
                 << task.context.bytes << ranks_to_json(task.ranks) << task.launcher_pid << now
                 << task.id;
  if (update.exec() != 1) return false;
  write_attempts(database, task);
  transaction.commit();
  return true;
}

}  // namespace

bool update_task(SQLite::Database& database, const TaskRecord& task, UnixMillis now) {
  return update_where(database, task, now, "TRUE");
}

bool move_task(SQLite::Database& database, const TaskRecord& task) {
  SQLite::Statement update(database, "UPDATE task SET plan_json = ? WHERE id = ?");
  Binder(update) << task.plan_json << task.id;
  return update.exec() == 1;
}

bool record_end(SQLite::Database& database, const TaskRecord& task, UnixMillis now) {
  return update_where(database, task, now, not_final);
}

bool note_git(SQLite::Database& database, const std::string& id, const GitRecord& git) {
  SQLite::Statement update(database, "UPDATE task SET git_commit = ?, git_dirty = ? WHERE id = ?");
  Binder(update) << git.commit << git.is_dirty << id;
  return update.exec() == 1;
}

namespace {

// False when there is no such task.
bool delete_rows(SQLite::Database& database, const std::string& id) {
  int deleted = 0;
  for (const char* rows :
       {"DELETE FROM journal WHERE task = ?", "DELETE FROM attempts WHERE task = ?",
        "DELETE FROM task WHERE id = ?"}) {
    SQLite::Statement remove(database, rows);
    remove.bind(1, id);
    deleted = remove.exec();
  }
  return deleted == 1;
}

}  // namespace

void delete_task(SQLite::Database& database, const std::string& id) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  (void)delete_rows(database, id);
  transaction.commit();
}

bool replace_task(SQLite::Database& database, const TaskRecord& task, UnixMillis now) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  if (!delete_rows(database, task.id) || !insert_task(database, task, now)) return false;
  transaction.commit();
  return true;
}

UnixMillis last_update(SQLite::Database& database, const std::string& id) {
  SQLite::Statement select(database, "SELECT updated FROM task WHERE id = ?");
  select.bind(1, id);
  return select.executeStep() ? select.getColumn(0).getInt64() : 0;
}

}  // namespace train
