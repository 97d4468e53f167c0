// SPDX-License-Identifier: Apache-2.0
#include "backends/store/task_journal.hpp"

#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>

#include <SQLiteCpp/SQLiteCpp.h>

#include "tests/backends/store/store_fixture.hpp"
#include "tests/skip.hpp"
#include "tests/support/loop_until.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {
std::atomic<int> waits_for_disk = 0;
}  // namespace

// In place of the system's, for SQLite as well: every wait for the disk is counted.
extern "C" int fdatasync(int descriptor) {
  ++waits_for_disk;
  return static_cast<int>(syscall(SYS_fdatasync, descriptor));
}
extern "C" int fsync(int descriptor) {
  ++waits_for_disk;
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}

namespace {

using Entries = std::vector<std::string>;

Entries entries_of(SqliteTaskStore& store, const std::string& id) {
  auto entries = store.read_journal(id);
  REQUIRE(entries);
  return *entries;
}

/// A supervisor in a process of its own, with a task whose journal has two entries.
Lingering supervisor_of(const std::string& root, const std::string& id) {
  return Lingering([&] {
    static std::unique_ptr<SqliteTaskStore> store;  // must outlive this function in the child
    store = open_store(root);
    return store->create(some_task(*store, id)) && store->append_journal(id, "one", false) &&
           store->append_journal(id, "two", true);
  });
}

ErrorClass class_of(const Result<void>& result) {
  REQUIRE(!result);
  return result.error().error_class;
}

}  // namespace

TEST_CASE("the journal of a task is read back in order, by whoever asks") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path());
  REQUIRE(store->create(some_task(*store, "abcd2345")));
  REQUIRE(store->create(some_task(*store, "bbcd2345")));
  CHECK(entries_of(*store, "abcd2345").empty());
  for (const char* entry : {"one", "two \xc3\xa9 'x'", "three"})
    REQUIRE(store->append_journal("abcd2345", entry, false));
  REQUIRE(store->append_journal("bbcd2345", std::string(1u << 20, 'x'), false));
  const auto other = open_store(directory.path());
  CHECK(entries_of(*other, "abcd2345") == Entries{"one", "two \xc3\xa9 'x'", "three"});
  CHECK(entries_of(*other, "bbcd2345").front().size() == 1u << 20);
  CHECK(entries_of(*other, "cbcd2345").empty());
  CHECK(class_of(other->append_journal("abcd2345", "four", false)) == ErrorClass::bug);
}

TEST_CASE("a task that is placed elsewhere begins anew, and stays its launcher's") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path());
  TaskRecord task = some_task(*store, "abcd2345");
  REQUIRE(store->create(task));
  REQUIRE(store->note_git(task.id, {std::string(40, 'a'), true}));
  REQUIRE(store->append_journal(task.id, "one", false));
  std::ofstream(task.log_directory + "/rank-0.0.log") << "x";
  task.attempts.push_back({0, 5, {}, "old", "", {}});
  REQUIRE(store->update(task));

  task.attempts.clear();
  task.hosts = "gpu-z";
  task.plan_json = "{}";
  task.ranks.assign(200, {0, "gpu-z", "3", {}, {}, false, ""});
  REQUIRE(store->start_over(task));
  const auto other = open_store(directory.path());
  TaskRecord anew = task;
  anew.git = {std::string(40, 'a'), true};
  CHECK(other->find("abcd").value() == anew);
  CHECK(entries_of(*other, task.id).empty());
  CHECK(std::filesystem::is_empty(task.log_directory));
  CHECK(class_of(other->start_over(task)) == ErrorClass::bug);  // another process's

  REQUIRE(store->append_journal(task.id, "one again", true));
  CHECK(entries_of(*other, task.id) == Entries{"one again"});
  task.state = TaskState::failed;
  task.cause = std::string(1'000, 'x');
  REQUIRE(store->update(task));
  CHECK(other->find("abcd").value().state == TaskState::failed);
  CHECK(class_of(store->start_over(task)) == ErrorClass::bug);  // it has ended
}

TEST_CASE("a durable entry is on the disk when it is written, and others cost no wait") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path());
  REQUIRE(store->create(some_task(*store, "abcd2345")));
  REQUIRE(store->append_journal("abcd2345", "begin", false));
  for (int round = 0; round < 3; ++round) {
    int before = waits_for_disk;
    REQUIRE(store->append_journal("abcd2345", "entry", false));
    CHECK(waits_for_disk == before);
    REQUIRE(store->append_journal("abcd2345", "durable", true));
    CHECK(waits_for_disk > before);
    before = waits_for_disk;
    REQUIRE(store->update(some_task(*store, "abcd2345")));  // as it was before
    CHECK(waits_for_disk == before);
  }
}

TEST_CASE("a task whose launcher has died is adopted, with its journal") {
  const TemporaryDirectory directory;
  Lingering supervisor = supervisor_of(directory.path(), "abcd2345");
  const auto store = open_store(directory.path());
  CHECK(class_of(store->adopt("abcd2345")) == ErrorClass::busy);
  supervisor.kill();
  REQUIRE(store->adopt("abcd2345"));
  REQUIRE(store->adopt("abcd2345"));  // it is this process' already
  CHECK(entries_of(*store, "abcd2345") == Entries{"one", "two"});
  REQUIRE(store->append_journal("abcd2345", "three", true));
  CHECK(entries_of(*store, "abcd2345") == Entries{"one", "two", "three"});
  TaskRecord task = *store->find("abcd2345");
  CHECK(task.state == TaskState::starting);
  task.state = TaskState::running;
  CHECK(store->update(task));
  const auto other = open_store(directory.path());
  CHECK(other->find("abcd2345")->state == TaskState::running);
  task.state = TaskState::succeeded;
  CHECK(store->update(task));
  CHECK(class_of(other->adopt("abcd2345")) == ErrorClass::no_input);  // it has ended
}

TEST_CASE("what is no task, or has none to lock, is not adopted") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path());
  CHECK(class_of(store->adopt("abcd2345")) == ErrorClass::no_input);
  CHECK(class_of(store->adopt("../abcd")) == ErrorClass::no_input);
  CHECK(class_of(store->adopt("")) == ErrorClass::no_input);
}

TEST_CASE("of many that adopt a task at the same time one does", "[once]") {
  const TemporaryDirectory directory;
  for (int round = 0; round < 10; ++round) {
    const std::string id = "abcd234" + std::to_string(round % 8) + (round > 7 ? "x" : "");
    { const Lingering supervisor = supervisor_of(directory.path(), id); }
    int start[2];
    int won[2];
    REQUIRE(pipe(start) == 0);
    REQUIRE(pipe(won) == 0);
    std::vector<pid_t> children;
    for (int i = 0; i < 6; ++i) {
      const pid_t child = fork();
      REQUIRE(child >= 0);
      if (child > 0) {
        children.push_back(child);
        continue;
      }
      const auto store = SqliteTaskStore::open(directory.path());
      close(start[1]);
      char byte = 0;
      (void)!read(start[0], &byte, 1);  // until all may go
      const auto adopted = store ? (*store)->adopt(id) : Result<void>();
      const char said = adopted ? 'y' : adopted.error().error_class == ErrorClass::busy ? 'n' : '?';
      (void)!write(won[1], &said, 1);
      for (;;) pause();  // it holds what it has
    }
    close(start[0]);
    close(start[1]);
    std::string answers;
    for (char byte = 0; answers.size() < 6 && read(won[0], &byte, 1) == 1;) answers += byte;
    for (const pid_t child : children) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
    close(won[0]);
    close(won[1]);
    std::sort(answers.begin(), answers.end());
    CHECK(answers == "nnnnny");
  }
}

// Where locks lie, as on some network file systems, there may be two.
TEST_CASE("a launcher that another one has taken over from writes nothing more") {
  const TemporaryDirectory directory;
  const auto frozen = open_store(directory.path());
  REQUIRE(frozen->create(some_task(*frozen, "abcd2345")));
  REQUIRE(frozen->append_journal("abcd2345", "one", false));
  const std::string lock = frozen->lock_file("abcd2345");
  REQUIRE(rename(lock.c_str(), (lock + ".lied").c_str()) == 0);
  std::ofstream{lock} << "";
  const auto store = open_store(directory.path());
  REQUIRE(store->adopt("abcd2345"));
  REQUIRE(store->append_journal("abcd2345", "two", true));
  CHECK(class_of(frozen->append_journal("abcd2345", "mine", true)) == ErrorClass::busy);
  CHECK(class_of(frozen->append_journal("abcd2345", "mine", false)) == ErrorClass::busy);
  TaskRecord task = some_task(*frozen, "abcd2345");
  task.state = TaskState::failed;
  CHECK(class_of(frozen->update(task)) == ErrorClass::busy);
  CHECK(entries_of(*store, "abcd2345") == Entries{"one", "two"});
  CHECK(store->find("abcd2345")->state == TaskState::starting);
  task.state = TaskState::succeeded;
  CHECK(store->update(task));
}

TEST_CASE("a journal that a full disk does not take says so, and goes on when there is room") {
  const TemporaryDirectory directory;
  const std::string& root = directory.path();
  const auto make_disk = [&] {
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, "") == 0 &&
           mount("tmpfs", root.c_str(), "tmpfs", 0, "size=2m,mode=0700") == 0;
  };
  if (!in_child(make_disk)) SKIP_CASE("mount namespaces are not permitted here");
  CHECK(in_child([&] {
    if (!make_disk()) return false;
    const auto store = SqliteTaskStore::open(root);
    if (!store || !(*store)->create(some_task(**store, "abcd2345"))) return false;
    if (!(*store)->append_journal("abcd2345", "one", true)) return false;
    const auto refused = (*store)->append_journal("abcd2345", std::string(3u << 20, 'x'), true);
    return !refused && refused.error().error_class == ErrorClass::no_input &&
           refused.error().diagnostics.front().message.find("cannot be written") !=
               std::string::npos &&
           (*store)->append_journal("abcd2345", "two", true) &&
           *(*store)->read_journal("abcd2345") == Entries{"one", "two"};
  }));
}

namespace {

// Runs the loop until so many entries were told of; what each was told.
std::vector<Result<void>> appended(TaskJournal& journal, Loop& loop, const Entries& entries) {
  std::vector<Result<void>> told;
  bool is_inside = true;
  for (const std::string& entry : entries)
    journal.append(entry, entry.size() % 2 == 0, [&](const Result<void>& result) {
      CHECK_FALSE(is_inside);
      told.push_back(result);
    });
  is_inside = false;
  (void)testing::loop_until(loop, [&] { return told.size() >= entries.size(); });
  REQUIRE(told.size() == entries.size());
  return told;
}

}  // namespace

TEST_CASE("the port looks whose the journal is") {
  const TemporaryDirectory directory;
  const std::shared_ptr<SqliteTaskStore> store = open_store(directory.path());
  REQUIRE(store->create(some_task(*store, "abcd2345")));
  Loop loop;
  TaskJournal journal(loop, store, "abcd2345");
  const auto looks = [&] {
    bool is_told = false;
    journal.look([&] { is_told = true; });
    CHECK_FALSE(is_told);
    REQUIRE(testing::loop_until(loop, [&] { return is_told; }));
    return journal.is_displaced();
  };
  CHECK_FALSE(looks());
  for (const auto& result : appended(journal, loop, {"a"})) CHECK(result);
  CHECK_FALSE(looks());
  SECTION("by what another one has written, where its lock lied") {
    SQLite::Database database(directory.path() + "/tasks.db", SQLite::OPEN_READWRITE);
    database.exec("INSERT INTO journal SELECT task, number + 1, entry FROM journal");
    CHECK(looks());
  }
  SECTION("by the mark of another one in its lock") {
    std::ofstream{store->lock_file("abcd2345")} << "0123456789abcdef\n";
    CHECK(looks());
  }
  SECTION("one that cannot be read may be another's") {
    SQLite::Database database(directory.path() + "/tasks.db", SQLite::OPEN_READWRITE);
    database.exec("DROP TABLE journal");
    CHECK(looks());
  }
}

TEST_CASE("the port tells of each entry, in order, and of none after one that failed") {
  const TemporaryDirectory directory;
  const std::shared_ptr<SqliteTaskStore> store = open_store(directory.path());
  REQUIRE(store->create(some_task(*store, "abcd2345")));
  Loop loop;
  TaskJournal journal(loop, store, "abcd2345");
  for (const auto& result : appended(journal, loop, {"a", "bb", "ccc"})) CHECK(result);
  const auto other = open_store(directory.path());
  CHECK(entries_of(*other, "abcd2345") == Entries{"a", "bb", "ccc"});

  const std::string lock = store->lock_file("abcd2345");
  REQUIRE(rename(lock.c_str(), (lock + ".lied").c_str()) == 0);
  std::ofstream{lock} << "";
  const auto mark = store->own_mark("abcd2345");
  CHECK(journal.is_displaced() == false);
  REQUIRE(other->adopt("abcd2345"));
  CHECK_FALSE(mark());
  REQUIRE(other->append_journal("abcd2345", "theirs", false));
  for (const auto& result : appended(journal, loop, {"d", "ee"}))
    CHECK(class_of(result) == ErrorClass::busy);
  CHECK(entries_of(*other, "abcd2345") == Entries{"a", "bb", "ccc", "theirs"});
  CHECK(journal.is_displaced());
}

TEST_CASE("whose a task is tells its lock file, also where its lock lies") {
  const TemporaryDirectory directory;
  const std::shared_ptr<SqliteTaskStore> first = open_store(directory.path());
  const TaskRecord task = some_task(*first, "abcd2345");
  REQUIRE(first->create(task));
  const auto mark = first->own_mark("abcd2345");
  CHECK(mark());
  const std::string lock = first->lock_file("abcd2345");
  SECTION("which nobody has adopted") {
    std::filesystem::remove(lock);
    CHECK(mark());  // that is no other supervisor
    CHECK(first->update(task));
    return;
  }
  SECTION("the same one") {
    // What another machine does whose kernel knows nothing of this lock.
    std::ofstream{lock} << "0123456789abcdef\n";
  }
  SECTION("another one in its place") {
    std::ofstream{lock + ".other"} << "";
    std::filesystem::rename(lock + ".other", lock);
  }
  CHECK_FALSE(mark());
  CHECK_FALSE(first->was_displaced("abcd2345"));
  first->note_alive("abcd2345");
  CHECK(first->was_displaced("abcd2345"));
  CHECK(class_of(first->update(task)) == ErrorClass::busy);
  CHECK(class_of(first->append_journal("abcd2345", "ours", false)) == ErrorClass::busy);
  CHECK(entries_of(*first, "abcd2345").empty());
}

TEST_CASE("of launchers that follow each other each has its own mark") {
  const TemporaryDirectory directory;
  std::optional<std::shared_ptr<SqliteTaskStore>> first(open_store(directory.path()));
  const TaskRecord task = some_task(**first, "abcd2345");
  REQUIRE((*first)->create(task));
  first.reset();
  for (int supervisor = 0; supervisor < 2; ++supervisor) {
    const auto next = open_store(directory.path());
    REQUIRE(next->adopt("abcd2345"));
    CHECK(next->own_mark("abcd2345")());
    CHECK(next->update(task));
  }
}

TEST_CASE("a registry that another process has locked for a while is waited for beside the loop") {
  const TemporaryDirectory directory;
  const std::shared_ptr<SqliteTaskStore> store = open_store(directory.path());
  REQUIRE(store->create(some_task(*store, "abcd2345")));
  Loop loop;
  TaskJournal journal(loop, store, "abcd2345");
  sqlite3* holder = nullptr;
  REQUIRE(sqlite3_open((directory.path() + "/tasks.db").c_str(), &holder) == SQLITE_OK);
  REQUIRE(sqlite3_exec(holder, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK);
  int ticks = 0;
  std::unique_ptr<Subscription> tick;
  const std::function<void()> count = [&] {
    if (++ticks == 20) sqlite3_exec(holder, "COMMIT", nullptr, nullptr, nullptr);
    tick = loop.after(5ms, count);
  };
  tick = loop.after(5ms, count);
  CHECK(appended(journal, loop, {"a"}).front());
  CHECK(ticks >= 20);
  sqlite3_close(holder);
}
