// SPDX-License-Identifier: Apache-2.0
#include <SQLiteCpp/SQLiteCpp.h>
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "backends/registry/registry.hpp"
#include "tests/backends/store/store_fixture.hpp"
#include "tests/contains.hpp"
#include "tests/skip.hpp"

using namespace train;
using train::testing::contains;

namespace {

namespace fs = std::filesystem;

constexpr uid_t nobody = 65534;

Diagnostic refusal(const std::string& root) {
  const auto store = SqliteTaskStore::open(root);
  REQUIRE_FALSE(store.has_value());
  CHECK(store.error().error_class == ErrorClass::no_input);
  CHECK_FALSE(store.error().diagnostics.at(0).hint.empty());
  return store.error().diagnostics.at(0);
}

bool says(const Error& error, ErrorClass error_class, const std::string& words) {
  const bool well = error.error_class == error_class && contains(render(error), words);
  if (!well) fprintf(stderr, "expected '%s' in: %s\n", words.c_str(), render(error).c_str());
  return well;
}

}  // namespace

TEST_CASE("a state directory that is a symbolic link is refused") {
  const TemporaryDirectory directory;
  fs::create_directory(directory.path() + "/real");
  fs::create_directory_symlink(directory.path() + "/real", directory.path() + "/train");
  const Diagnostic diagnostic = refusal(directory.path() + "/train");
  CHECK(contains(diagnostic.message, "it is a symbolic link"));
  CHECK(contains(diagnostic.hint, "XDG_STATE_HOME"));
  CHECK(fs::is_empty(directory.path() + "/real"));
}

TEST_CASE("a symbolic link above the state directory is the user's own business") {
  const TemporaryDirectory directory;
  fs::create_directory(directory.path() + "/real");
  fs::create_directory_symlink(directory.path() + "/real", directory.path() + "/state");
  open_store(directory.path() + "/state/train");
  CHECK(fs::exists(directory.path() + "/real/train/tasks.db"));
}

TEST_CASE("a state directory that is no directory, or no absolute path, is refused") {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() + "/train") << "a file";
  CHECK(contains(refusal(directory.path() + "/train").message, "it is not a directory"));
  CHECK(contains(refusal(directory.path() + "/train/below").message, "not a directory"));
  CHECK(contains(refusal("relative/train").message, "not an absolute path"));
  CHECK(contains(refusal("").message, "not an absolute path"));
}

TEST_CASE("a state directory that others could enter is closed to them") {
  const TemporaryDirectory directory;
  const std::string root = directory.path() + "/train";
  fs::create_directory(root);
  REQUIRE(chmod(root.c_str(), 0777) == 0);
  open_store(root);
  CHECK((fs::status(root).permissions() & fs::perms::mask) == fs::perms::owner_all);
}

TEST_CASE("a state directory of another user is refused") {
  if (geteuid() != 0) SKIP_CASE("only root can make a directory of another user");
  const TemporaryDirectory directory;
  REQUIRE(chown(directory.path().c_str(), nobody, nobody) == 0);
  CHECK(contains(refusal(directory.path()).message, "it belongs to user 65534, not to you"));
}

TEST_CASE("a state directory that cannot be written is refused with the system's reason") {
  const TemporaryDirectory directory;
  const std::string root = directory.path() + "/train";
  fs::create_directory(root);
  const bool is_root = geteuid() == 0;
  if (is_root) {
    REQUIRE(chmod(directory.path().c_str(), 0755) == 0);
    REQUIRE(chown(root.c_str(), nobody, nobody) == 0);
  }
  REQUIRE(chmod(root.c_str(), 0500) == 0);
  CHECK(in_child([&] {
    if (is_root && setuid(nobody) != 0) return false;
    const auto store = SqliteTaskStore::open(root);
    return !store && says(store.error(), ErrorClass::no_input, "permission denied");
  }));
}

TEST_CASE("a registry that cannot be written is an error when it is written") {
  const TemporaryDirectory directory;
  const std::string root = directory.path() + "/train";
  { open_store(root); }
  const bool is_root = geteuid() == 0;
  for (const auto& file : fs::directory_iterator(root)) {
    REQUIRE(chmod(file.path().c_str(), 0400) == 0);
    if (is_root) REQUIRE(chown(file.path().c_str(), nobody, nobody) == 0);
  }
  if (is_root) {
    REQUIRE(chmod(directory.path().c_str(), 0755) == 0);
    REQUIRE(chown(root.c_str(), nobody, nobody) == 0);
  }
  CHECK(in_child([&] {
    if (is_root && setuid(nobody) != 0) return false;
    const auto store = SqliteTaskStore::open(root);
    const auto error = store ? (*store)->create(some_task(**store, "abcd2345")) : Result<void>{};
    return says(store ? error.error() : store.error(), ErrorClass::no_input, "writable for you");
  }));
}

TEST_CASE("a registry that is no database is an error that says how to go on") {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() + "/tasks.db") << std::string(8192, 'x');
  const Diagnostic diagnostic = refusal(directory.path());
  CHECK(contains(diagnostic.message, "is damaged"));
  CHECK(contains(diagnostic.hint, "mv " + directory.path() + "/tasks.db*"));
}

TEST_CASE("a registry that other machines may use as well has no write-ahead log") {
  constexpr std::uint32_t nfs = 0x6969;
  constexpr std::uint32_t ext4 = 0xEF53;
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/tasks.db";
  const auto mode_on = [&](std::uint32_t file_system) {
    const auto database = open_registry(path, file_system);
    REQUIRE(database.has_value());
    const std::string mode = (*database)->execAndGet("PRAGMA journal_mode").getString();
    return mode + (*database)->execAndGet("PRAGMA synchronous").getString();
  };
  CHECK(mode_on(nfs) == "delete2");  // full
  CHECK(mode_on(ext4) == "wal1");    // normal
  {
    REQUIRE(open_store(directory.path())->create(some_task(*open_store(directory.path()), "abcd")));
  }
  // A home that was moved: what the log has is kept.
  CHECK(mode_on(nfs) == "delete2");
  CHECK_FALSE(fs::exists(path + "-wal"));
  CHECK(open_store(directory.path())->find("abcd").has_value());
}

TEST_CASE("a registry that is of no use to this train any more is refused and left as it is") {
  const TemporaryDirectory directory;
  { open_store(directory.path()); }
  run_sql(directory.path() + "/tasks.db",
          GENERATE("DROP TABLE compatibility; PRAGMA user_version = 2",
                   "UPDATE compatibility SET oldest = 2; PRAGMA user_version = 2"));
  const Diagnostic diagnostic = refusal(directory.path());
  CHECK(
      contains(diagnostic.message, "was written by a newer train (schema 2; this train knows 1)"));
}

// As when a newer train has listed the tasks, and the one that launched them goes on.
TEST_CASE("what a newer train has added to a registry stays as it is") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path());
  TaskRecord task = some_task(*store, "abcd2345");
  task.attempts.push_back({});
  REQUIRE(store->create(task).has_value());
  REQUIRE(store->update(task).has_value());
  run_sql(directory.path() + "/tasks.db",
          "CREATE TABLE more (task TEXT);"
          "ALTER TABLE task ADD COLUMN more INTEGER NOT NULL DEFAULT 0;"
          "ALTER TABLE attempts ADD COLUMN more INTEGER NOT NULL DEFAULT 0;"
          "UPDATE task SET more = 1;"
          "UPDATE attempts SET more = 1;"
          "PRAGMA user_version = 2");
  task.attempts.front().cause = "crashed";
  REQUIRE(store->update(task).has_value());
  const auto found = open_store(directory.path())->find(task.id);
  REQUIRE(found.has_value());
  CHECK(found->attempts.front().cause == "crashed");
  // A check that fails is an error of the statement.
  run_sql(directory.path() + "/tasks.db",
          "CREATE TABLE all_are (count INTEGER CHECK (count = 1));"
          "INSERT INTO all_are SELECT count(*) FROM task WHERE more = 1;"
          "INSERT INTO all_are SELECT count(*) FROM attempts WHERE more = 1;");
}

TEST_CASE("a registry that stays locked is busy, and an unknown failure is a bug") {
  const Error locked =
      registry_error("/s/tasks.db", SQLite::Exception("it is locked", SQLITE_BUSY));
  CHECK(says(locked, ErrorClass::busy,
             "the task registry '/s/tasks.db' has been locked by another process for 5 s"));
  const Error recovering =
      registry_error("/s/tasks.db", SQLite::Exception("it is locked", SQLITE_BUSY_RECOVERY));
  CHECK(recovering.error_class == ErrorClass::busy);
  const Error unknown = registry_error("/s/tasks.db", std::runtime_error("no such column"));
  CHECK(says(unknown, ErrorClass::bug, "no such column"));
}

TEST_CASE("a registry that is a symbolic link or a directory is refused") {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() + "/elsewhere") << "";
  fs::create_symlink(directory.path() + "/elsewhere", directory.path() + "/tasks.db");
  CHECK(contains(refusal(directory.path()).message, "is not a regular file"));
  fs::remove(directory.path() + "/tasks.db");
  fs::create_directory(directory.path() + "/tasks.db");
  CHECK(contains(refusal(directory.path()).message, "is not a regular file"));
}

TEST_CASE("a full disk is an error that says so, and leaves no half of a task") {
  const TemporaryDirectory directory;
  const std::string& root = directory.path();
  const bool may_mount = in_child([&] {
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, "") == 0 &&
           mount("tmpfs", root.c_str(), "tmpfs", 0, "size=256k,mode=0700") == 0;
  });
  if (!may_mount) SKIP_CASE("mount namespaces are not permitted here");
  CHECK(in_child([&] {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, "") != 0 ||
        mount("tmpfs", root.c_str(), "tmpfs", 0, "size=256k,mode=0700") != 0)
      return false;
    auto store = SqliteTaskStore::open(root);
    if (!store) return false;
    TaskRecord task = some_task(**store, "abcd2345");
    task.plan_json = std::string(1 << 20, 'p');
    const auto created = (*store)->create(task);
    return !created && says(created.error(), ErrorClass::no_input, "free some space") &&
           !fs::exists(root + "/tasks/abcd2345") && (*store)->list(true)->tasks.empty();
  }));
}
