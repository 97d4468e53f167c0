// SPDX-License-Identifier: Apache-2.0
#include "backends/store/task_reader.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <utility>

#include "backends/registry/damaged_rows.hpp"
#include "backends/registry/rank_json.hpp"
#include "backends/registry/registry.hpp"
#include "backends/registry/task_columns.hpp"
#include "config_schema/text/text.hpp"

namespace train {
namespace {

/// SQLite can read the row, but train cannot have written it.
class DamagedRow : public SQLite::Exception {
 public:
  explicit DamagedRow(const std::string& what) : SQLite::Exception(what, SQLITE_CORRUPT) {}
};

/// Reads the columns of a row, one after the other.
class Reader {
 public:
  explicit Reader(SQLite::Statement& statement) : statement_(statement) {}

  std::string text() { return statement_.getColumn(index_++).getString(); }
  std::int64_t number() { return statement_.getColumn(index_++).getInt64(); }
  int small() { return static_cast<int>(number()); }
  template <class Number>
  std::optional<Number> optional() {
    const SQLite::Column column = statement_.getColumn(index_++);
    if (column.isNull()) return std::nullopt;
    return static_cast<Number>(column.getInt64());
  }

 private:
  SQLite::Statement& statement_;
  int index_ = 0;
};

TaskState state_of(const std::string& id, const std::string& name) {
  const auto state = task_state_from_string(name);
  if (!state) throw DamagedRow(fmt::format("task {} has the unknown state '{}'", id, name));
  return *state;
}

std::vector<RankRecord> ranks_of(const std::string& id, const std::string& text) {
  auto ranks = ranks_from_json(text);
  if (!ranks) throw DamagedRow(fmt::format("the ranks of task {} cannot be read", id));
  return std::move(*ranks);
}

/// Reads `summary_columns` into a new record; `reader` then stands at the next column.
void read_summary(Reader& reader, TaskRecord& task) {
  task.id = reader.text();
  if (!is_task_id(task.id)) throw DamagedRow(fmt::format("a task has the id '{}'", task.id));
  task.name = reader.text();
  task.state = state_of(task.id, reader.text());
  task.slots = reader.text();
  task.hosts = reader.text();
  task.world_size = reader.small();
  task.user = reader.text();
  task.created = reader.number();
  task.started = reader.optional<UnixMillis>();
  task.ended = reader.optional<UnixMillis>();
  task.restarts = reader.small();
  task.exit_code = reader.optional<int>();
  task.error_class = reader.text();
  task.cause = reader.text();
}

/// Reads `brief_columns`; `reader` then stands at the next column.
TaskRecord read_brief(Reader& reader) {
  TaskRecord task;
  read_summary(reader, task);
  task.working_directory = reader.text();
  task.log_directory = reader.text();
  task.launcher_pid = reader.number();
  task.stop_grace_ms = reader.number();
  task.context.directory = reader.text();
  task.context.sha256 = reader.text();
  task.context.files = reader.number();
  task.context.bytes = reader.number();
  task.outlives_ms = reader.number();
  task.log_limit = reader.optional<std::uint64_t>();
  task.stop_notice_ms = reader.number();
  task.git.commit = reader.text();
  task.git.is_dirty = reader.optional<bool>();
  task.ranks = ranks_of(task.id, reader.text());
  return task;
}

std::vector<AttemptRecord> read_attempts(SQLite::Database& database, const std::string& id) {
  SQLite::Statement select(database,
                           "SELECT number, started, ended, hosts, cause, log_policies, reports, "
                           "ignored_lines, last_report "
                           "FROM attempts WHERE task = ? ORDER BY number");
  select.bind(1, id);
  std::vector<AttemptRecord> attempts;
  while (select.executeStep()) {
    Reader reader(select);
    AttemptRecord& attempt = attempts.emplace_back();
    attempt.number = reader.small();
    attempt.started = reader.number();
    attempt.ended = reader.optional<UnixMillis>();
    attempt.hosts = reader.text();
    attempt.cause = reader.text();
    if (const std::string found = reader.text(); !found.empty())
      for (const std::string_view line : split(found, '\n'))
        attempt.log_policies.emplace_back(line);
    attempt.reports = reader.number();
    attempt.ignored_lines = reader.number();
    attempt.last_report = reader.text();
  }
  return attempts;
}

}  // namespace

bool is_task_id(const std::string& id) {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !id.empty() && id.size() <= 32 && std::all_of(id.begin(), id.end(), allowed);
}

std::optional<TaskRecord> read_task(SQLite::Database& database, const std::string& id) {
  SQLite::Statement select(
      database,
      fmt::format("SELECT {}, config_text, plan_json FROM task WHERE id = ?", brief_columns));
  select.bind(1, id);
  if (!select.executeStep()) return std::nullopt;
  Reader reader(select);
  TaskRecord task = read_brief(reader);
  task.config_text = reader.text();
  task.plan_json = reader.text();
  task.attempts = read_attempts(database, id);
  if (is_final(task.state)) end_last_attempt(task);
  return task;
}

std::vector<std::string> ids_with_prefix(SQLite::Database& database, const std::string& prefix,
                                         int limit) {
  // Ids are made of [0-9a-z]: '{' follows them, so this is a range of the primary key's index.
  SQLite::Statement select(
      database, "SELECT id FROM task WHERE id >= ?1 AND id < ?1 || '{' ORDER BY id LIMIT ?2");
  select.bind(1, prefix);
  select.bind(2, limit);
  std::vector<std::string> ids;
  while (select.executeStep()) ids.push_back(select.getColumn(0).getString());
  return ids;
}

namespace {

/// Reads the task in the current row of `summary`; for a task that has not ended, all columns of
/// `brief`. False when it was removed meanwhile.
bool read_listed(SQLite::Statement& summary, SQLite::Statement& brief, TaskRecord& task) {
  Reader reader(summary);
  read_summary(reader, task);
  if (is_final(task.state)) return true;
  brief.reset();
  brief.bind(1, task.id);
  if (!brief.executeStep()) return false;
  Reader whole(brief);
  task = read_brief(whole);
  return true;
}

/// Describes the damage of the exception that is being handled; rethrows an exception that is not
/// about damage.
std::string damage_of(const SQLite::Exception& exception, const std::string& id) {
  if (!is_damage(exception)) throw;
  if (dynamic_cast<const DamagedRow*>(&exception) != nullptr) return exception.what();
  return id.empty() ? "a task lies in such a part" : fmt::format("task {} lies in such a part", id);
}

/// Records are large, and there may be many: each is read into its final place in the list.
void add_listed(SQLite::Statement& summary, SQLite::Statement& brief, TaskList& list) {
  try {
    if (!read_listed(summary, brief, list.tasks.emplace_back())) list.tasks.pop_back();
  } catch (const SQLite::Exception& exception) {
    list.tasks.pop_back();
    const std::string id = summary.getColumn(0).getString();
    list.damaged.push_back({id, damage_of(exception, id), {}});
  }
}

/// Used as long as the pages of the file can be read. Rows of an unknown state are always included:
/// their tasks may be running.
TaskList read_in_order(SQLite::Database& database, bool all) {
  SQLite::Statement brief(database, fmt::format("SELECT {} FROM task WHERE id = ?", brief_columns));
  TaskList list;
  const auto add_where = [&](std::string_view condition) {
    SQLite::Statement select(database,
                             fmt::format("SELECT {} FROM task WHERE {} ORDER BY created DESC, id",
                                         summary_columns, condition));
    while (select.executeStep()) add_listed(select, brief, list);
  };
  if (all) list.tasks.reserve(database.execAndGet("SELECT count(*) FROM task").getUInt());
  add_where(all ? "TRUE" : not_final);
  if (!all) add_where(of_no_state);
  return list;
}

/// Reads every row by itself: what can still be read of a damaged file. The damage is reported even
/// if all rows can be read, or none can be found.
TaskList read_one_by_one(SQLite::Database& database, bool all) {
  TaskList list;
  list.damaged.push_back({{}, "parts of its file cannot be read", {}});
  for (const auto& [number, id] : rows_left(database)) {
    SQLite::Statement brief(database,
                            fmt::format("SELECT {} FROM task WHERE rowid = ?", brief_columns));
    brief.bind(1, number);
    try {
      if (!brief.executeStep()) throw DamagedRow(fmt::format("the row of task {} is gone", id));
      Reader reader(brief);
      TaskRecord task = read_brief(reader);
      if (all || !is_final(task.state)) list.tasks.push_back(std::move(task));
    } catch (const SQLite::Exception& exception) {
      list.damaged.push_back({id, damage_of(exception, id), {}});
    }
  }
  std::sort(list.tasks.begin(), list.tasks.end(), [](const TaskRecord& a, const TaskRecord& b) {
    return a.created != b.created ? a.created > b.created : a.id < b.id;
  });
  return list;
}

}  // namespace

TaskList read_tasks(SQLite::Database& database, bool all) {
  try {
    return read_in_order(database, all);
  } catch (const SQLite::Exception& exception) {
    if (!is_damage(exception)) throw;
  }
  return read_one_by_one(database, all);
}

}  // namespace train
