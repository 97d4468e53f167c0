// SPDX-License-Identifier: Apache-2.0
#include "backends/store/task_end_file.hpp"

#include <fcntl.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>

#include "tests/backends/store/store_fixture.hpp"

using namespace train;

namespace {

namespace fs = std::filesystem;

TaskRecord begun_task(const SqliteTaskStore& store, const std::string& id) {
  TaskRecord task = some_task(store, id);
  task.ranks.resize(2);
  task.ranks[0] = {0, "gpu-a", "0", {}, {}, false, rank_log_file(task.log_directory, 0)};
  task.ranks[1] = {1, "gpu-b", "1", {}, {}, false, rank_log_file(task.log_directory, 1)};
  return task;
}

TaskRecord ended(TaskRecord task) {
  task.state = TaskState::failed;
  task.started = 2'000;
  task.ended = 3'000;
  task.exit_code = 3;
  task.error_class = "worker";
  task.cause = "rank 1 on 'gpu-b' exited with code 3";
  task.ranks[0].signal = 15;
  task.ranks[0].stopped = true;
  task.ranks[1].exit_code = 3;
  task.ranks[1].oom = "its cgroup's limit of 2 GiB: process 12 (python3)";
  task.ranks[1].core = "'/cores/core.12' on 'gpu-b'";
  task.ranks[1].cpu_ms = 90'061'001;
  task.ranks[1].memory_peak = std::int64_t{3} << 40;
  return task;
}

/// Holds the registry's write lock, as a program that was stopped in the middle does.
class LockedRegistry {
 public:
  explicit LockedRegistry(const std::string& path) {
    REQUIRE(sqlite3_open(path.c_str(), &handle_) == SQLITE_OK);
    REQUIRE(sqlite3_exec(handle_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK);
  }
  ~LockedRegistry() { sqlite3_close(handle_); }
  LockedRegistry(const LockedRegistry&) = delete;
  LockedRegistry& operator=(const LockedRegistry&) = delete;

 private:
  sqlite3* handle_ = nullptr;
};

}  // namespace

TEST_CASE("an end is read as it was written") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path() + "/state");
  const std::string path = directory.path() + "/end.json";
  const TaskRecord begun = begun_task(*store, "abcd2345");
  TaskRecord task = begun;
  CHECK_FALSE(read_task_end(path, task));
  REQUIRE(reserve_task_end(path, 2));
  CHECK_FALSE(read_task_end(path, task));
  CHECK(task == begun);
  REQUIRE(write_task_end(path, ended(begun)));
  REQUIRE(read_task_end(path, task));
  CHECK(task == ended(begun));
}

TEST_CASE("an end that was written in part, or of another task, is none") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path() + "/state");
  const std::string path = directory.path() + "/end.json";
  TaskRecord task = begun_task(*store, "abcd2345");
  REQUIRE(reserve_task_end(path, 2));
  REQUIRE(write_task_end(path, ended(task)));
  TaskRecord other = task;
  other.ranks.resize(1);
  CHECK_FALSE(read_task_end(path, other));
  const std::string damage = GENERATE(std::string(1, '\0'), std::string("x"), std::string("\n"));
  const auto at = GENERATE(0, 1, 40, 90);
  std::fstream(path, std::ios::in | std::ios::out).seekp(at) << damage;
  const TaskRecord before = task;
  if (!read_task_end(path, task)) CHECK(task == before);
  if (damage != "x") CHECK_FALSE(read_task_end(path, task));
}

TEST_CASE("the longest end has room in what was reserved") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path() + "/state");
  const std::string path = directory.path() + "/end.json";
  TaskRecord task = begun_task(*store, "abcd2345");
  task.ranks.resize(3'000, {0, "host", "0", {}, {}, false, "/logs/rank"});
  for (RankRecord& rank : task.ranks) {
    rank.exit_code = -2147483647;
    rank.signal = 64;
    rank.stopped = rank.rank == 0;
    rank.oom = std::string(300, '\x02');
    rank.core = std::string(300, '\x03');
    rank.cpu_ms = rank.memory = rank.memory_peak = std::int64_t{1} << 60;
  }
  task.ranks.back().stopped = false;
  task.state = TaskState::interrupted;
  task.cause = std::string(100'000, '\x01');
  REQUIRE(reserve_task_end(path, task.ranks.size()));
  const auto room = fs::file_size(path);
  REQUIRE(write_task_end(path, task));
  CHECK(fs::file_size(path) == room);
  TaskRecord read = task;
  for (RankRecord& rank : read.ranks) rank.oom = rank.core = {};
  CHECK(read_task_end(path, read));
  CHECK(read.ranks.back() == task.ranks.back());  // the cause
  CHECK(read.ranks.front() == task.ranks.front());
  CHECK_FALSE(read.ranks[2'000] == task.ranks[2'000]);
}

TEST_CASE("a task that ended while the registry was locked is not lost") {
  const TemporaryDirectory directory;
  const std::string registry = directory.path() + "/tasks.db";
  auto store = open_store(directory.path());
  const TaskRecord task = begun_task(*store, "abcd2345");
  REQUIRE(store->create(task));
  {
    const LockedRegistry locked(registry);
    const auto updated = store->update(ended(task));
    REQUIRE_FALSE(updated);
    CHECK(render(updated.error()).find("end.json") != std::string::npos);
    store.reset();  // the launcher goes
    CHECK(open_store(directory.path())->find("abcd")->state == TaskState::failed);
  }
  const auto reader = open_store(directory.path());
  CHECK(reader->find("abcd").value() == ended(task));
  fs::remove(directory.path() + "/tasks/abcd2345/end.json");
  CHECK(open_store(directory.path())->find("abcd").value() == ended(task));
}

TEST_CASE(
    "an end may be recorded whatever was not recorded before it, and once more after a fault") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path());
  TaskRecord task = begun_task(*store, "abcd2345");
  REQUIRE(store->create(task));
  task.state = TaskState::succeeded;
  {
    const LockedRegistry locked(directory.path() + "/tasks.db");
    REQUIRE_FALSE(store->update(task));
  }
  REQUIRE(store->update(task));
  CHECK(store->find("abcd")->state == TaskState::succeeded);
  CHECK_FALSE(fs::exists(directory.path() + "/tasks/abcd2345/end.json"));
}

TEST_CASE("damage to the write-ahead log after its end does not lose a task") {
  const TemporaryDirectory directory;
  auto store = open_store(directory.path());
  const TaskRecord task = begun_task(*store, "abcd2345");
  REQUIRE(store->create(task));
  REQUIRE(store->update(ended(task)));
  CHECK_FALSE(fs::exists(directory.path() + "/tasks/abcd2345/end.json"));
  store.reset();
  const std::string log = directory.path() + "/tasks.db-wal";
  const auto size = fs::file_size(log);
  CHECK(size == 0);
  for (std::uintmax_t at = 0; at < size; at += 512)
    std::fstream(log, std::ios::in | std::ios::out | std::ios::binary)
            .seekp(static_cast<std::streamoff>(at))
        << "damage";
  CHECK(open_store(directory.path())->find("abcd2345").value() == ended(task));
}

TEST_CASE("an end that a reader keeps from being settled stays beside the logs until it is") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path());
  const TaskRecord task = begun_task(*store, "abcd2345");
  REQUIRE(store->create(task));
  sqlite3* reader = nullptr;
  REQUIRE(sqlite3_open((directory.path() + "/tasks.db").c_str(), &reader) == SQLITE_OK);
  REQUIRE(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM task", nullptr, nullptr, nullptr) ==
          SQLITE_OK);
  REQUIRE(store->update(ended(task)));
  sqlite3_close(reader);
  CHECK(fs::exists(directory.path() + "/tasks/abcd2345/end.json"));
  CHECK(store->find("abcd").value() == ended(task));
}
