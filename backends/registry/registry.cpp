// SPDX-License-Identifier: Apache-2.0
#include "backends/registry/registry.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>

#include "backends/posix/descriptor.hpp"
#include "backends/posix/file_system.hpp"
#include "backends/registry/private_directory.hpp"

namespace train {
namespace {

using std::chrono::steady_clock;

/// Step i brings a registry of schema i to schema i + 1; steps are only ever added. A task is
/// resumed by the train that launched it, which may be older than the one that updated the
/// registry. A step that adds tables, or columns with defaults, leaves the older one able to use
/// the registry. Any other step must set `compatibility.oldest` to its own schema.
constexpr std::array schema_steps = {
    // Ranks are JSON: they are read and written as a whole. The partial indexes keep the list of
    // running tasks, and the search for damaged rows, fast, however many tasks have been recorded.
    // Entries of the journal can be long (the addresses of all ranks), so that table is not WITHOUT
    // ROWID: the index stays small.
    R"sql(
      CREATE TABLE task (
        id TEXT PRIMARY KEY NOT NULL,
        name TEXT NOT NULL,
        state TEXT NOT NULL,
        slots TEXT NOT NULL,
        hosts TEXT NOT NULL,
        world_size INTEGER NOT NULL,
        user TEXT NOT NULL,
        created INTEGER NOT NULL,
        started INTEGER,
        ended INTEGER,
        restarts INTEGER NOT NULL,
        exit_code INTEGER,
        error_class TEXT NOT NULL,
        cause TEXT NOT NULL,
        working_directory TEXT NOT NULL,
        log_directory TEXT NOT NULL,
        launcher_pid INTEGER NOT NULL,
        stop_grace_ms INTEGER NOT NULL,
        stop_notice_ms INTEGER NOT NULL,
        outlives_ms INTEGER NOT NULL,
        log_limit INTEGER,
        context_directory TEXT NOT NULL,
        context_sha256 TEXT NOT NULL,
        context_files INTEGER NOT NULL,
        context_bytes INTEGER NOT NULL,
        git_commit TEXT NOT NULL,
        git_dirty INTEGER,
        updated INTEGER NOT NULL,
        ranks TEXT NOT NULL,
        config_text TEXT NOT NULL,
        plan_json TEXT NOT NULL
      );
      CREATE INDEX task_by_age ON task (created);
      CREATE INDEX task_not_final ON task (created)
        WHERE state IN ('starting', 'waiting', 'running', 'stopping');
      CREATE INDEX task_of_no_state ON task (created)
        WHERE state NOT IN ('starting', 'waiting', 'running', 'stopping', 'succeeded', 'failed',
          'killed', 'interrupted', 'timeout', 'lost');
      CREATE TABLE attempts (
        task TEXT NOT NULL,
        number INTEGER NOT NULL,
        started INTEGER NOT NULL,
        ended INTEGER,
        hosts TEXT NOT NULL,
        cause TEXT NOT NULL,
        log_policies TEXT NOT NULL,
        reports INTEGER NOT NULL,
        ignored_lines INTEGER NOT NULL,
        last_report TEXT NOT NULL,
        PRIMARY KEY (task, number)
      ) WITHOUT ROWID;
      CREATE TABLE journal (
        task TEXT NOT NULL,
        number INTEGER NOT NULL,
        entry TEXT NOT NULL,
        PRIMARY KEY (task, number)
      );
      CREATE TABLE compatibility (oldest INTEGER NOT NULL);
      INSERT INTO compatibility VALUES (1);
    )sql",
};
constexpr int schema_version = schema_steps.size();

/// SQLite need not lock the connection: each user of a registry uses it from one thread at a time.
constexpr int one_at_a_time = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;

int schema_of(SQLite::Database& database) {
  return database.execAndGet("PRAGMA user_version").getInt();
}

/// Creates the file before SQLite does: its mode then does not depend on the umask, and the
/// system's reason is known when it cannot be created. An existing file is not opened, since
/// closing any descriptor of it would drop all locks that SQLite has on it in this process.
Result<void> create_file(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) == 0) {
    if (S_ISREG(status.st_mode)) return {};
    return fail(ErrorClass::no_input,
                fmt::format("the task registry '{}' is not a regular file", path),
                "move it out of the way");
  }
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file || errno == EEXIST) return {};
  return fail(ErrorClass::no_input,
              fmt::format("cannot create the task registry '{}': {}", path, system_reason(errno)),
              elsewhere_hint());
}

/// A write-ahead log needs memory that all users of the database share, so all of them must be on
/// one machine. On file systems that machines share, the database has a rollback journal with full
/// synchronisation (SQLite's defaults), even if it was created with a write-ahead log and then
/// moved there.
void configure(SQLite::Database& database, std::uint32_t file_system) {
  const bool is_logged = database.execAndGet("PRAGMA journal_mode").getString() == "wal";
  if (is_shared_by_machines(file_system)) {
    if (is_logged) database.exec("PRAGMA journal_mode = DELETE");
    return;
  }
  database.exec("PRAGMA synchronous = NORMAL");
  if (!is_logged) database.exec("PRAGMA journal_mode = WAL");
  // Without this setting, the last process to close the database would write the log back and wait
  // for the disk, at every command. The log is written back when a task has ended, or when it has
  // grown to 1,000 pages.
  sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

void migrate(SQLite::Database& database) {
  if (schema_of(database) >= schema_version) return;
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  // Another process may have migrated it while this one waited for the lock.
  for (int step = schema_of(database); step < schema_version; ++step)
    database.exec(schema_steps.at(static_cast<std::size_t>(step)));
  database.exec(
      fmt::format("PRAGMA user_version = {}", std::max(schema_version, schema_of(database))));
  transaction.commit();
}

/// Whether this train can use the registry: its schema is known, or a newer one that names this
/// schema as compatible.
bool is_of_use(SQLite::Database& database) {
  return schema_of(database) <= schema_version ||
         (database.tableExists("compatibility") &&
          database.execAndGet("SELECT max(oldest) FROM compatibility").getInt() <= schema_version);
}

/// The code without its extended part, which makes no difference here.
int primary_code(const SQLite::Exception& exception) { return exception.getErrorCode() & 0xff; }

bool is_locked(const SQLite::Exception& exception) {
  return primary_code(exception) == SQLITE_BUSY || primary_code(exception) == SQLITE_LOCKED;
}

/// Several processes may find an empty file at once. SQLite does not wait for the lock when it
/// switches a file to a write-ahead log, so this function does.
void set_up(SQLite::Database& database, std::uint32_t file_system) {
  const auto deadline = steady_clock::now() + std::chrono::milliseconds(registry_wait_ms);
  for (;;) {
    try {
      configure(database, file_system);
      migrate(database);
      return;
    } catch (const SQLite::Exception& exception) {
      if (!is_locked(exception) || steady_clock::now() >= deadline) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

Result<std::unique_ptr<SQLite::Database>> open_registry(const std::string& path,
                                                        std::optional<std::uint32_t> file_system) {
  if (auto created = create_file(path); !created)
    return tl::make_unexpected(std::move(created.error()));
  try {
    auto database = std::make_unique<SQLite::Database>(path, one_at_a_time, registry_wait_ms);
    sqlite3_extended_result_codes(database->getHandle(), 1);
    set_up(*database, file_system.value_or(file_system_kind(path)));
    if (!is_of_use(*database))
      return fail(
          ErrorClass::no_input,
          fmt::format("the task registry '{}' was written by a newer train (schema {}; this "
                      "train knows {})",
                      path, schema_of(*database), schema_version),
          "use the newer train, or set XDG_STATE_HOME to another directory for this one");
    return database;
  } catch (const std::exception& exception) {
    return tl::make_unexpected(registry_error(path, exception));
  }
}

std::string registry_library() { return std::string("SQLite ") + sqlite3_libversion(); }

bool settle_registry(SQLite::Database& database) {
  return database.execAndGet("PRAGMA wal_checkpoint(TRUNCATE)").getInt() == 0;
}

bool is_damage(const SQLite::Exception& exception) {
  return primary_code(exception) == SQLITE_CORRUPT;
}

std::string damaged_hint(const std::string& path) {
  return fmt::format(
      "move it away ('mkdir damaged && mv {}* damaged/'): a new one is made, "
      "and the logs of tasks stay where they are",
      path);
}

Error registry_error(const std::string& path, const std::exception& exception) {
  const auto* sqlite = dynamic_cast<const SQLite::Exception*>(&exception);
  const int code = sqlite != nullptr ? primary_code(*sqlite) : SQLITE_ERROR;
  const auto say = [&](ErrorClass error_class, std::string_view what, std::string hint) {
    return make_error(error_class,
                      fmt::format("the task registry '{}' {}: {}", path, what, exception.what()),
                      std::move(hint));
  };
  switch (code) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return say(ErrorClass::no_input, "is damaged", damaged_hint(path));
    case SQLITE_FULL:
      return say(ErrorClass::no_input, "cannot be written",
                 "free some space on its file system, or " + elsewhere_hint());
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return say(ErrorClass::no_input, "cannot be opened or written",
                 "make it and its directory writable for you, or " + elsewhere_hint());
    case SQLITE_IOERR:
      return say(ErrorClass::no_input, "cannot be read or written",
                 "check its file system, or " + elsewhere_hint());
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return say(
          ErrorClass::busy,
          fmt::format("has been locked by another process for {} s", registry_wait_ms / 1000),
          fmt::format("'fuser {}' shows who has it open; try again", path));
    default:
      return say(ErrorClass::bug, "failed", "");
  }
}

}  // namespace train
