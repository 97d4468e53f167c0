// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "backends/posix/proc.hpp"
#include "backends/store/task_lock.hpp"
#include "launcher/journal/journal_entry.hpp"
#include "tests/backends/store/store_fixture.hpp"
#include "tests/support/waiting.hpp"

using namespace train;

namespace {

/// A supervisor in a process of its own, with one running task.
Lingering supervisor_of(const std::string& root, const std::string& id) {
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
Lingering supervisor_of(const std::string& root, const std::string& id, std::int64_t outlives_ms,
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

/// What a supervisor that lived so long ago has left in its lock file, by the clock of this boot or
/// another, or as an earlier train has it (""). By the wall clock it was `wall`.
void set_last_life(const std::string& lock, const std::string& boot, std::chrono::milliseconds ago,
                   UnixMillis wall) {
  const auto at = this_moment().since_boot - ago;
  std::ofstream file(lock, std::ios::trunc);
  if (!boot.empty())
    file << "0123456789abcdef\n" << fmt::format("{:<36} {:>20}\n", boot, at.count());
  file.close();
  set_modified(lock, wall);
}

}  // namespace

TEST_CASE("a task whose launcher lives is running, whoever asks") {
  const TemporaryDirectory directory;
  Lingering supervisor = supervisor_of(directory.path(), "abcd2345");
  const auto store = open_store(directory.path());
  CHECK(store->find("abcd")->state == TaskState::running);
  CHECK(store->find("abcd")->launcher_pid == supervisor.pid());
  REQUIRE(store->list(false)->tasks.size() == 1);
  CHECK(store->list(false)->tasks.front().state == TaskState::running);
}

TEST_CASE("a task whose launcher was killed is lost, and recorded so") {
  const TemporaryDirectory directory;
  Lingering supervisor = supervisor_of(directory.path(), "abcd2345");
  const auto store = open_store(directory.path());
  const std::string pid = std::to_string(supervisor.pid());
  // A rank wrote last a day from now: that was the task's last sign of life.
  const UnixMillis tomorrow = (time(nullptr) + 86'400) * UnixMillis{1000};
  const std::string log = rank_log_file(store->log_directory("abcd2345"), 0);
  std::ofstream(log) << "step 1\n";
  set_modified(log, tomorrow);
  supervisor.kill();

  const auto by_list = GENERATE(true, false);
  const auto task =
      by_list ? store->list(true).value().tasks.front() : store->find("abcd2345").value();
  CHECK(task.state == TaskState::lost);
  CHECK(task.ended == tomorrow);
  CHECK(task.cause.find("process " + pid) != std::string::npos);
  CHECK(store->list(false)->tasks.empty());

  std::filesystem::remove_all(directory.path() + "/tasks");
  CHECK(open_store(directory.path())->find("abcd2345")->state == TaskState::lost);
  CHECK(open_store(directory.path())->find("abcd2345")->ended == tomorrow);
}

TEST_CASE(
    "a task whose ranks outlive its launcher is unattended, and nothing is recorded of that") {
  const TemporaryDirectory directory;
  Lingering supervisor = supervisor_of(directory.path(), "abcd2345", for_ever.count(), ranks_run);
  const auto store = open_store(directory.path());
  CHECK_FALSE(store->find("abcd")->is_unattended);
  supervisor.kill();
  for (const TaskRecord& task :
       {store->find("abcd").value(), store->list(false).value().tasks.front()}) {
    CHECK(task.is_unattended);
    CHECK(task.state == TaskState::running);
    CHECK(shown_state(task) == "unattended");
    CHECK_FALSE(task.ended);
  }
  CHECK(std::filesystem::exists(store->bundle_folder("abcd2345")));
  // Until another supervisor has it.
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
  Lingering supervisor = supervisor_of(directory.path(), "abcd2345", for_ever.count(), records);
  supervisor.kill();
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
  Lingering supervisor = supervisor_of(directory.path(), "abcd2345", row.outlives_ms, row.records);
  supervisor.kill();
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
  Lingering supervisor = supervisor_of(directory.path(), "abcd2345", row.outlives_ms, records);
  supervisor.kill();
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
  using std::chrono::milliseconds;
  const TemporaryDirectory directory;
  Lingering supervisor = supervisor_of(directory.path(), "abcd2345", 600'000, ranks_run);
  supervisor.kill();
  const auto store = open_store(directory.path());
  const std::string lock_file = store->lock_file("abcd2345");
  CHECK(store->find("abcd")->is_unattended);
  CHECK(last_noted(lock_file).boot_id == boot_id());
  // Whatever the wall clock was set to, before or since.
  constexpr UnixMillis day = 86'400'000;
  const UnixMillis now = time(nullptr) * UnixMillis{1000};
  const UnixMillis wall = GENERATE_COPY(now - 600'000, now - day, now + day);
  if (wall != now + day) run_sql(directory.path() + "/tasks.db", "UPDATE task SET updated = 0");
  set_last_life(lock_file, boot_id(), milliseconds(590'000), wall);
  CHECK(store->find("abcd")->is_unattended);
  set_last_life(lock_file, boot_id(), milliseconds(602'000), wall);
  // Not while somebody takes it over.
  auto lock = TaskLock::adopt(lock_file);
  REQUIRE(lock);
  CHECK(store->find("abcd")->state == TaskState::running);
  lock = TaskLock::adopt(lock_file);
  const auto task = store->find("abcd").value();
  CHECK(task.state == TaskState::lost);
  CHECK_FALSE(task.is_unattended);
  CHECK(task.ended == wall);
}

TEST_CASE("a task of another boot is lost when both clocks say that its ranks have ended") {
  using std::chrono::milliseconds;
  const TemporaryDirectory directory;
  const std::int64_t up = this_moment().since_boot.count();
  constexpr std::int64_t day = 86'400'000;
  struct Case {
    std::int64_t outlives_ms;
    std::int64_t wall_ago;
    bool is_lost;
  };
  const auto row = GENERATE_COPY(values<Case>({
      {up - 5'000, up + day, true},          // this boot has lasted as long
      {up + 600'000, up + day, false},       // it has not, and the wall clock may have been set
      {up - 5'000, up - 10'000, false},      // by the wall clock it cannot be
      {up - 5'000, -day, false},             // nor where that was set back
      {for_ever.count(), 500 * day, false},  // these are ended by nobody's clock
  }));
  Lingering supervisor = supervisor_of(directory.path(), "abcd2345", row.outlives_ms, ranks_run);
  supervisor.kill();
  const auto store = open_store(directory.path());
  run_sql(directory.path() + "/tasks.db", "UPDATE task SET updated = 0");
  const std::string boot = GENERATE("", "0e1d6a4c-8a6b-4c0f-9d0e-3f1f2b7a9c55");
  set_last_life(store->lock_file("abcd2345"), boot, milliseconds(0),
                time(nullptr) * UnixMillis{1000} - row.wall_ago);
  const auto task = store->find("abcd").value();
  CHECK(task.is_unattended == !row.is_lost);
  CHECK((task.state == TaskState::lost) == row.is_lost);
}

TEST_CASE("a launcher that could not note that it lived has lived as long as it wrote into logs") {
  const TemporaryDirectory directory;
  Lingering supervisor = supervisor_of(directory.path(), "abcd2345", 600'000, ranks_run);
  supervisor.kill();
  const auto store = open_store(directory.path());
  const std::string log = rank_log_file(store->log_directory("abcd2345"), 0);
  const UnixMillis wall = time(nullptr) * UnixMillis{1000} - 3'600'000;
  std::ofstream(log) << "step 1\n";
  set_modified(log, wall + 100'000);
  set_last_life(store->lock_file("abcd2345"), boot_id(), std::chrono::milliseconds(690'000), wall);
  CHECK(store->find("abcd")->is_unattended);
  set_modified(log, wall + 80'000);
  CHECK(store->find("abcd")->state == TaskState::lost);
}

TEST_CASE("a task whose journal is damaged may go on for as long as its ranks may") {
  const TemporaryDirectory directory;
  const auto outlives_ms = GENERATE(std::int64_t{600'000}, for_ever.count());
  Lingering supervisor = supervisor_of(directory.path(), "abcd2345", outlives_ms, ranks_run);
  supervisor.kill();
  const auto store = open_store(directory.path());
  run_sql(directory.path() + "/tasks.db", "UPDATE journal SET entry = 'x' WHERE number = 2");
  CHECK(store->find("abcd")->is_unattended);
  set_last_life(store->lock_file("abcd2345"), boot_id(), std::chrono::milliseconds(602'000), 1);
  CHECK(store->find("abcd")->is_unattended == (outlives_ms == for_ever.count()));
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
  CHECK(testing::eventually(is_sleep));
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

TEST_CASE("launchers and readers in many processes share one store", "[once]") {
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
      if (const auto seen = store.list(false); !seen || seen->tasks.empty()) _exit(4);
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
  CHECK(all->tasks.size() == processes * tasks_each);
  CHECK(std::all_of(all->tasks.begin(), all->tasks.end(),
                    [](const TaskRecord& task) { return task.state == TaskState::succeeded; }));
}
