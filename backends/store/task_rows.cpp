// SPDX-License-Identifier: Apache-2.0
#include "backends/store/task_rows.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <nlohmann/json.hpp>

#include "config_schema/text/text.hpp"

namespace train {
namespace {

using nlohmann::json;

// Must be written as in the partial index of the schema, or SQLite does not use the index.
constexpr std::string_view not_final = "state IN ('starting', 'running', 'stopping')";

// These lie before the long columns of a row, which are then not read.
constexpr std::string_view summary_columns =
    "id, name, state, slots, hosts, world_size, user, created, started, ended, restarts, "
    "exit_code, error_class, cause, working_directory, log_directory, launcher_pid, "
    "stop_grace_ms";
constexpr std::string_view brief_columns =
    "id, name, state, slots, hosts, world_size, user, created, started, ended, restarts, "
    "exit_code, error_class, cause, working_directory, log_directory, launcher_pid, "
    "stop_grace_ms, context_directory, context_sha256, context_files, context_bytes, "
    "outlives_ms, log_limit, stop_notice_ms, git_commit, git_dirty, ranks";

// An earlier train knows neither state, and would take the registry for damaged.
constexpr TaskState stored_for_timeout = TaskState::interrupted;
constexpr TaskState stored_for_waiting = TaskState::starting;

[[noreturn]] void throw_damaged(const std::string& what) {
  throw SQLite::Exception(what, SQLITE_CORRUPT);
}

/// Binds values to a statement's parameters, and reads columns, one after the other.
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

json rank_to_json(const RankRecord& rank) {
  json object = {{"rank", rank.rank}, {"host", rank.host}};
  if (!rank.slots.empty()) object["slots"] = rank.slots;
  if (rank.exit_code) object["exit_code"] = *rank.exit_code;
  if (rank.signal) object["signal"] = *rank.signal;
  if (rank.stopped) object["stopped"] = true;
  if (!rank.oom.empty()) object["oom"] = rank.oom;
  if (!rank.core.empty()) object["core"] = rank.core;
  if (!rank.log_file.empty()) object["log_file"] = rank.log_file;
  // Earlier versions neither write nor read these.
  if (rank.cpu_ms) object["cpu_ms"] = *rank.cpu_ms;
  if (rank.memory) object["memory"] = *rank.memory;
  if (rank.memory_peak) object["memory_peak"] = *rank.memory_peak;
  return object;
}

/// The member `key`, or nothing; sets `bad` when it is of another type.
template <class T>
std::optional<T> member(const json& object, const char* key, bool& bad) {
  const auto found = object.find(key);
  if (found == object.end()) return std::nullopt;
  const T* value = nullptr;
  if constexpr (std::is_same_v<T, std::int64_t>) {
    if (found->is_number_integer()) return found->template get<std::int64_t>();
  } else {
    value = found->template get_ptr<const T*>();
  }
  if (value != nullptr) return *value;
  bad = true;
  return std::nullopt;
}

std::optional<RankRecord> rank_from_json(const json& object) {
  if (!object.is_object()) return std::nullopt;
  bool bad = false;
  const auto number = [&](const char* key) -> std::optional<int> {
    const auto value = member<std::int64_t>(object, key, bad);
    return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
  };
  const auto text = [&](const char* key) {
    return member<std::string>(object, key, bad).value_or("");
  };
  const auto rank = number("rank");
  if (!rank) return std::nullopt;
  RankRecord record{.rank = *rank,
                    .host = text("host"),
                    .slots = text("slots"),
                    .exit_code = number("exit_code"),
                    .signal = number("signal"),
                    .stopped = member<bool>(object, "stopped", bad).value_or(false),
                    .log_file = text("log_file"),
                    .oom = text("oom"),
                    .core = text("core"),
                    .cpu_ms = member<std::int64_t>(object, "cpu_ms", bad),
                    .memory = member<std::int64_t>(object, "memory", bad),
                    .memory_peak = member<std::int64_t>(object, "memory_peak", bad)};
  if (bad) return std::nullopt;
  return record;
}

// One line of JSON. Bytes that are no UTF-8 are replaced.
std::string ranks_to_json(const std::vector<RankRecord>& ranks) {
  json array = json::array();
  for (const RankRecord& rank : ranks) array.push_back(rank_to_json(rank));
  return array.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Nothing when the text is not what `ranks_to_json` writes.
std::optional<std::vector<RankRecord>> ranks_from_json(const std::string& text) {
  const json array = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!array.is_array()) return std::nullopt;
  std::vector<RankRecord> ranks;
  ranks.reserve(array.size());
  for (const json& object : array) {
    auto rank = rank_from_json(object);
    if (!rank) return std::nullopt;
    ranks.push_back(std::move(*rank));
  }
  return ranks;
}

std::string_view stored_state(const TaskRecord& task) {
  if (task.state == TaskState::timeout) return to_string(stored_for_timeout);
  return to_string(task.state == TaskState::waiting ? stored_for_waiting : task.state);
}

// By which the two that are stored alike are told apart.
std::string stored_error_class(const TaskRecord& task) {
  if (task.state == TaskState::waiting) return std::string(to_string(ErrorClass::busy));
  return task.error_class;
}

TaskState state_of(const std::string& id, const std::string& name) {
  const auto state = task_state_from_string(name);
  if (!state) throw_damaged(fmt::format("task {} has the unknown state '{}'", id, name));
  return *state;
}

std::vector<RankRecord> ranks_of(const std::string& id, const std::string& text) {
  auto ranks = ranks_from_json(text);
  if (!ranks) throw_damaged(fmt::format("the ranks of task {} cannot be read", id));
  return std::move(*ranks);
}

/// Reads `summary_columns`; `reader` is left at what follows them.
TaskRecord read_summary(Reader& reader) {
  TaskRecord task;
  task.id = reader.text();
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
  if (task.state == stored_for_timeout && task.error_class == to_string(ErrorClass::timeout))
    task.state = TaskState::timeout;
  if (task.state == stored_for_waiting && task.error_class == to_string(ErrorClass::busy)) {
    task.state = TaskState::waiting;
    task.error_class.clear();
  }
  task.cause = reader.text();
  task.working_directory = reader.text();
  task.log_directory = reader.text();
  task.launcher_pid = reader.number();
  task.stop_grace_ms = reader.number();
  return task;
}

/// Reads `brief_columns`; `reader` is left at what follows them.
TaskRecord read_brief(Reader& reader) {
  TaskRecord task = read_summary(reader);
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

}  // namespace

bool insert_task(SQLite::Database& database, const TaskRecord& task, UnixMillis now) {
  SQLite::Statement insert(
      database,
      fmt::format(
          "INSERT INTO task ({}, config_text, plan_json, updated) VALUES "
          "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING",
          brief_columns));
  Binder(insert) << task.id << task.name << stored_state(task) << task.slots << task.hosts
                 << task.world_size << task.user << task.created << task.started << task.ended
                 << task.restarts << task.exit_code << stored_error_class(task) << task.cause
                 << task.working_directory << task.log_directory << task.launcher_pid
                 << task.stop_grace_ms << task.context.directory << task.context.sha256
                 << task.context.files << task.context.bytes << task.outlives_ms << task.log_limit
                 << task.stop_notice_ms << task.git.commit << task.git.is_dirty
                 << ranks_to_json(task.ranks) << task.config_text << task.plan_json << now;
  return insert.exec() == 1;
}

namespace {

// Attempts that are over and recorded so do not change any more.
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

bool update_where(SQLite::Database& database, const TaskRecord& task, UnixMillis now,
                  std::string_view condition) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  SQLite::Statement update(
      database, fmt::format("UPDATE task SET state = ?, started = ?, ended = ?, restarts = ?, "
                            "exit_code = ?, error_class = ?, cause = ?, context_sha256 = ?, "
                            "context_files = ?, context_bytes = ?, ranks = ?, launcher_pid = ?, "
                            "updated = ? "
                            "WHERE id = ? AND {}",
                            condition));
  Binder(update) << stored_state(task) << task.started << task.ended << task.restarts
                 << task.exit_code << stored_error_class(task) << task.cause << task.context.sha256
                 << task.context.files << task.context.bytes << ranks_to_json(task.ranks)
                 << task.launcher_pid << now << task.id;
  if (update.exec() != 1) return false;
  write_attempts(database, task);
  transaction.commit();
  return true;
}

}  // namespace

bool update_task(SQLite::Database& database, const TaskRecord& task, UnixMillis now) {
  return update_where(database, task, now, "TRUE");
}

bool record_end(SQLite::Database& database, const TaskRecord& task, UnixMillis now) {
  return update_where(database, task, now, not_final);
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

std::vector<TaskRecord> read_tasks(SQLite::Database& database, bool all) {
  SQLite::Statement brief(database, fmt::format("SELECT {} FROM task WHERE id = ?", brief_columns));
  SQLite::Statement select(
      database, fmt::format("SELECT {} FROM task {} {} ORDER BY created DESC, id", summary_columns,
                            all ? "" : "WHERE", all ? "" : not_final));
  std::vector<TaskRecord> tasks;
  while (select.executeStep()) {
    Reader reader(select);
    TaskRecord& task = tasks.emplace_back(read_summary(reader));
    if (is_final(task.state)) continue;
    brief.reset();
    brief.bind(1, task.id);
    if (!brief.executeStep()) continue;  // it was removed meanwhile
    Reader whole(brief);
    task = read_brief(whole);
  }
  return tasks;
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
