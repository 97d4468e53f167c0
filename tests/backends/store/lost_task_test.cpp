// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "backends/store/launcher_lock.hpp"
#include "launcher/task/journal.hpp"
#include "tests/backends/store/store_fixture.hpp"

using namespace train;

namespace {

/// A launcher in a process of its own, with one running task.
Lingering launcher_of(const std::string& root, const std::string& id) {
  return Lingering([&] {
    static std::unique_ptr<SqliteTaskStore> store;  // must outlive this function in the child
    store = open_store(root);
    TaskRecord task = some_task(*store, id, 1'000);
    if (!store->create(task)) return false;
    task.state = TaskState::running;
    task.started = 2'000;
    return store->update(task).has_value();
  });
}

/// The same, whose ranks outlive it for so long, and with these records in its journal.
Lingering launcher_of(const std::string& root, const std::string& id, std::int64_t outlives_ms,
                      const std::vector<JournalRecord>& records) {
  return Lingering([&] {
    static std::unique_ptr<SqliteTaskStore> store;  // must outlive this function in the child
    store = open_store(root);
    TaskRecord task = some_task(*store, id, 1'000);
    task.outlives_ms = outlives_ms;
    if (!store->create(task)) return false;
    for (const JournalRecord& record : records)
      if (!store->append_journal(id, encode_entry({record, Instant(1), "boot"}), false))
        return false;
    task.state = TaskState::running;
    return store->keep_request(id, "secret") && store->update(task).has_value();
  });
}

using journal_record::AttemptBegun;
using journal_record::RanksStarted;
using journal_record::StopRequested;
using journal_record::Supervised;
using journal_record::TaskOver;
const std::vector<JournalRecord> ranks_run = {Supervised{1}, AttemptBegun{0}, RanksStarted{}};

/// `when` as the time of the last change of a file.
void set_modified(const std::string& path, UnixMillis when) {
  const timespec time{.tv_sec = when / 1000, .tv_nsec = when % 1000 * 1'000'000};
  const timespec times[2] = {time, time};
  REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

}  // namespace

TEST_CASE("a task whose launcher lives is running, whoever asks") {
  const TemporaryDirectory directory;
  Lingering launcher = launcher_of(directory.path(), "abcd2345");
  const auto store = open_store(directory.path());
  CHECK(store->find("abcd")->state == TaskState::running);
  CHECK(store->find("abcd")->launcher_pid == launcher.pid());
  REQUIRE(store->list(false)->size() == 1);
  CHECK(store->list(false)->front().state == TaskState::running);
}

TEST_CASE("a task whose launcher was killed is lost, and recorded so") {
  const TemporaryDirectory directory;
  Lingering launcher = launcher_of(directory.path(), "abcd2345");
  const auto store = open_store(directory.path());
  const std::string pid = std::to_string(launcher.pid());
  // A rank wrote last a day from now: that was the task's last sign of life.
  const UnixMillis tomorrow = (time(nullptr) + 86'400) * UnixMillis{1000};
  const std::string log = rank_log_file(store->log_directory("abcd2345"), 0);
  std::ofstream(log) << "step 1\n";
  set_modified(log, tomorrow);
  launcher.kill();

  const auto by_list = GENERATE(true, false);
  const auto task = by_list ? store->list(true).value().front() : store->find("abcd2345").value();
  CHECK(task.state == TaskState::lost);
  CHECK(task.ended == tomorrow);
  CHECK(task.cause.find("process " + pid) != std::string::npos);
  CHECK(store->list(false)->empty());

  std::filesystem::remove_all(directory.path() + "/tasks");
  CHECK(open_store(directory.path())->find("abcd2345")->state == TaskState::lost);
  CHECK(open_store(directory.path())->find("abcd2345")->ended == tomorrow);
}

TEST_CASE(
    "a task whose ranks outlive its launcher is unattended, and nothing is recorded of that") {
  const TemporaryDirectory directory;
  Lingering launcher = launcher_of(directory.path(), "abcd2345", for_ever.count(), ranks_run);
  const auto store = open_store(directory.path());
  CHECK_FALSE(store->find("abcd")->is_unattended);
  launcher.kill();
  for (const TaskRecord& task : {store->find("abcd").value(), store->list(false).value().front()}) {
    CHECK(task.is_unattended);
    CHECK(task.state == TaskState::running);
    CHECK(shown_state(task) == "unattended");
    CHECK_FALSE(task.ended);
  }
  CHECK(std::filesystem::exists(store->bundle_folder("abcd2345")));
  // Until another launcher has it.
  REQUIRE(store->adopt("abcd2345"));
  CHECK_FALSE(open_store(directory.path())->find("abcd")->is_unattended);
  TaskRecord task = store->find("abcd").value();
  CHECK_FALSE(task.is_unattended);
  task.state = TaskState::failed;
  REQUIRE(store->update(task));
  CHECK_FALSE(std::filesystem::exists(store->bundle_folder("abcd2345")));
}

TEST_CASE("an unattended task that was told to stop is said to be stopping") {
  const TemporaryDirectory directory;
  auto records = ranks_run;
  records.emplace_back(StopRequested{SIGTERM});
  Lingering launcher = launcher_of(directory.path(), "abcd2345", for_ever.count(), records);
  launcher.kill();
  const auto task = open_store(directory.path())->find("abcd2345");
  CHECK(task->is_unattended);
  CHECK(task->state == TaskState::stopping);
}

TEST_CASE("a task of which no rank can run any more is lost") {
  const TemporaryDirectory directory;
  struct Case {
    std::int64_t outlives_ms;
    std::vector<JournalRecord> records;
  };
  const auto row = GENERATE(values<Case>({
      {0, ranks_run},
      {for_ever.count(), {}},
      {for_ever.count(), {Supervised{1}, AttemptBegun{0}}},
  }));
  Lingering launcher = launcher_of(directory.path(), "abcd2345", row.outlives_ms, row.records);
  launcher.kill();
  const auto store = open_store(directory.path());
  CHECK(store->find("abcd")->state == TaskState::lost);
  CHECK_FALSE(std::filesystem::exists(store->bundle_folder("abcd2345")));
}

TEST_CASE("a task whose launcher died with its end in the journal alone has that end") {
  const TemporaryDirectory directory;
  struct Case {
    std::int64_t outlives_ms;
    std::vector<JournalRecord> records;
    TaskState state;
    std::optional<int> exit_code;
    std::string cause;
  };
  const Failure failure{
      {}, make_error(ErrorClass::worker, "rank 1 on 'b' exited with code 7"), 1, 1, 7};
  const Failure lost{{}, make_error(ErrorClass::host, "host 'b': gone"), std::nullopt, 1, 0};
  const AttemptEnd seven{.any_started = true, .exit_code = 7};
  const AttemptEnd bare{.any_started = true};
  using journal_record::AttemptFailing;
  using journal_record::StopRequested;
  const auto row = GENERATE_COPY(values<Case>({
      {for_ever.count(),
       {TaskOver{Sequel::succeeded, AttemptEnd{.succeeded = true}}},
       TaskState::succeeded,
       0,
       ""},
      {0,
       {TaskOver{Sequel::succeeded, AttemptEnd{.succeeded = true}}},
       TaskState::succeeded,
       0,
       ""},
      {for_ever.count(),
       {AttemptFailing{failure}, TaskOver{Sequel::no_restarts_left, seven}},
       TaskState::failed,
       7,
       "rank 1 on 'b' exited with code 7"},
      {0,
       {AttemptFailing{lost}, TaskOver{Sequel::no_restarts_left, bare}},
       TaskState::failed,
       std::nullopt,
       "host 'b': gone"},
      {for_ever.count(),
       {StopRequested{SIGTERM}, AttemptFailing{}, TaskOver{Sequel::stopped, bare}},
       TaskState::killed,
       143,
       "stopped by SIGTERM"},
      {for_ever.count(),
       {TaskOver{Sequel::stopped, {}, SIGINT}},
       TaskState::interrupted,
       130,
       "stopped by SIGINT"},
      {for_ever.count(),
       {StopRequested{runtime_over}, AttemptFailing{}, TaskOver{Sequel::stopped, bare}},
       TaskState::timeout,
       124,
       "max_runtime is over"},
      {0,
       {TaskOver{Sequel::stopped, {}, runtime_over}},
       TaskState::timeout,
       124,
       "max_runtime is over"},
  }));
  std::vector<JournalRecord> records = ranks_run;
  records.insert(records.end(), row.records.begin(), row.records.end());
  Lingering launcher = launcher_of(directory.path(), "abcd2345", row.outlives_ms, records);
  launcher.kill();
  for (int look = 0; look < 2; ++look) {
    const auto task = open_store(directory.path())->find("abcd").value();
    CHECK(task.state == row.state);
    CHECK(task.exit_code == row.exit_code);
    CHECK(task.cause == row.cause);
    CHECK(task.ended);
    CHECK_FALSE(task.is_unattended);
  }
  CHECK_FALSE(std::filesystem::exists(open_store(directory.path())->bundle_folder("abcd2345")));
}

TEST_CASE("a task is unattended for as long as its ranks may outlive its launcher, then lost") {
  const TemporaryDirectory directory;
  Lingering launcher = launcher_of(directory.path(), "abcd2345", 600'000, ranks_run);
  launcher.kill();
  const auto store = open_store(directory.path());
  CHECK(store->find("abcd")->is_unattended);
  run_sql(directory.path() + "/tasks.db", "UPDATE task SET updated = 0");
  const UnixMillis now = time(nullptr) * UnixMillis{1000};
  set_modified(store->lock_file("abcd2345"), now - 590'000);
  CHECK(store->find("abcd")->is_unattended);
  set_modified(store->lock_file("abcd2345"), now - 602'000);
  // Not while somebody takes it over.
  auto lock = LauncherLock::adopt(store->lock_file("abcd2345"));
  REQUIRE(lock);
  CHECK(store->find("abcd")->state == TaskState::running);
  lock = LauncherLock::adopt(store->lock_file("abcd2345"));
  const auto task = store->find("abcd").value();
  CHECK(task.state == TaskState::lost);
  CHECK_FALSE(task.is_unattended);
  CHECK(task.ended == now - 602'000);
}

TEST_CASE("programs that the launcher starts do not keep its tasks alive") {
  const TemporaryDirectory directory;
  auto store = open_store(directory.path());
  REQUIRE(store->create(some_task(*store, "abcd2345")).has_value());
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    execl("/bin/sleep", "sleep", "60", nullptr);
    _exit(127);
  }
  const auto is_sleep = [&] {
    std::string name;
    std::ifstream("/proc/" + std::to_string(child) + "/comm") >> name;
    return name == "sleep";
  };
  for (int i = 0; i < 5'000 && !is_sleep(); ++i) usleep(1'000);
  CHECK(is_sleep());
  store.reset();
  CHECK(open_store(directory.path())->find("abcd")->state == TaskState::lost);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_CASE("a launcher that was taken for dead has the last word") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path());
  TaskRecord task = some_task(*store, "abcd2345");
  REQUIRE(store->create(task).has_value());
  std::filesystem::remove(directory.path() + "/tasks/abcd2345/launcher.lock");
  CHECK(open_store(directory.path())->find("abcd")->state == TaskState::lost);
  task.state = TaskState::running;
  REQUIRE(store->update(task).has_value());
  CHECK(store->find("abcd")->state == TaskState::running);
}

TEST_CASE("launchers and readers in many processes share one store") {
  const TemporaryDirectory directory;
  const std::string root = directory.path() + "/fresh";  // all of them find no database at first
  constexpr int processes = 6;
  constexpr int tasks_each = 15;
  std::vector<pid_t> children;
  for (int process = 0; process < processes; ++process) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    auto opened = SqliteTaskStore::open(root);
    if (!opened) _exit(1);
    SqliteTaskStore& store = **opened;
    for (int i = 0; i < tasks_each; ++i) {
      TaskRecord task =
          some_task(store, "task" + std::to_string(process) + "x" + std::to_string(i));
      if (!store.create(task)) _exit(2);
      task.state = TaskState::running;
      if (!store.update(task)) _exit(3);
      if (const auto seen = store.list(false); !seen || seen->empty()) _exit(4);
      task.state = TaskState::succeeded;
      if (!store.update(task)) _exit(5);
    }
    _exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  const auto all = open_store(root)->list(true);
  REQUIRE(all.has_value());
  CHECK(all->size() == processes * tasks_each);
  CHECK(std::all_of(all->begin(), all->end(),
                    [](const TaskRecord& task) { return task.state == TaskState::succeeded; }));
}
