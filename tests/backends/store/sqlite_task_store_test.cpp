// SPDX-License-Identifier: Apache-2.0
#include "backends/store/sqlite_task_store.hpp"

#include <sys/stat.h>

#include "tests/backends/store/store_fixture.hpp"

using namespace train;

namespace {

std::vector<std::string> ids_of(const Result<TaskList>& list) {
  REQUIRE(list.has_value());
  CHECK(list->damaged.empty());
  std::vector<std::string> ids;
  for (const TaskRecord& task : list->tasks) ids.push_back(task.id);
  return ids;
}

unsigned mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(lstat(path.c_str(), &status) == 0);
  return status.st_mode & 07777U;
}

std::string message_of(const Result<TaskRecord>& result) {
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().error_class == ErrorClass::no_input);
  return result.error().diagnostics.at(0).message;
}
std::string hint_of(const Result<TaskRecord>& result) {
  return result ? "none" : result.error().diagnostics.front().hint;
}

}  // namespace

TEST_CASE("a task is read as it was written, through its whole life") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path() + "/state/train");
  TaskRecord task = some_task(*store, "abcd2345", 1'700'000'000'123);
  task.name = "an 'odd' name\nof \xc3\xa9 two lines";
  task.context.directory = "/home/ada/code";
  REQUIRE(store->create(task).has_value());
  CHECK(store->find("abcd2345").value() == task);

  task.state = TaskState::running;
  task.started = 1'700'000'000'500;
  task.ranks.resize(3);
  task.ranks[0] = {0, "gpu-a", "0,1", {}, {}, false, "/logs/rank-0.log"};
  task.ranks[1] = {1, "gpu-b", "", 3, {}, false, "/logs/rank-1.log"};
  task.ranks[2] = {2, "gpu-b", "2", {}, 9, true, "", "the host's memory", "'/core'"};
  task.ranks[1].cpus = "0-3,8";
  task.ranks[1].cpu_ms = 1'234;
  task.ranks[1].memory_peak = std::int64_t{3} << 40;
  task.ranks[2].memory = 0;
  task.context.sha256 = std::string(64, 'a');
  task.context.files = 12;
  task.context.bytes = 3'456;
  REQUIRE(store->update(task).has_value());
  CHECK(open_store(directory.path() + "/state/train")->find("abcd").value() == task);
  task.git = {std::string(40, 'a'), true};
  REQUIRE(store->note_git(task.id, task.git).has_value());
  CHECK(store->find("abcd").value() == task);
  CHECK_FALSE(store->note_git("bbbbbbbb", task.git).has_value());

  task.state = TaskState::stopping;
  REQUIRE(store->update(task).has_value());
  task.state = TaskState::failed;
  task.ended = 1'700'000'009'000;
  task.restarts = 1;
  task.exit_code = 3;
  task.error_class = "worker";
  task.cause = "rank 1 on 'gpu-b' exited with code 3";
  REQUIRE(store->update(task).has_value());
  CHECK(store->find("abcd2345").value() == task);
}

TEST_CASE("the attempts of a task are recorded one after the other") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path());
  TaskRecord task = some_task(*store, "abcd2345");
  REQUIRE(store->create(task).has_value());
  CHECK(store->find("abcd2345")->attempts.empty());
  for (int number = 0; number < 3; ++number) {
    task.attempts.push_back({number, 10 * number, {}, "gpu-a,gpu-b", {}, {}});
    task.restarts = number;
    REQUIRE(store->update(task).has_value());
    CHECK(store->find("abcd2345")->attempts == task.attempts);
    task.attempts.back().ended = 10 * number + 5;
    task.attempts.back().cause = "rank 1 failed";
    if (number == 1) task.attempts.back().log_policies = {"one", "and another"};
    REQUIRE(store->update(task).has_value());
    CHECK(store->find("abcd2345")->attempts == task.attempts);
  }
  TaskRecord other = some_task(*store, "bcde2345");
  REQUIRE(store->create(other).has_value());
  CHECK(store->find("bcde2345")->attempts.empty());
  CHECK(store->list(true)->tasks.back().attempts.empty());
}

TEST_CASE("an attempt does not outlive its task") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path());
  TaskRecord task = some_task(*store, "abcd2345");
  REQUIRE(store->create(task).has_value());
  task.attempts = {{0, 10, {}, "gpu-a", {}, {}}};
  task.state = TaskState::failed;
  task.ended = 20;
  task.cause = "host 'gpu-a' is lost";
  REQUIRE(store->update(task).has_value());
  CHECK(store->find("abcd2345")->attempts ==
        std::vector<AttemptRecord>{{0, 10, 20, "gpu-a", "host 'gpu-a' is lost", {}}});
}

TEST_CASE("a task that waits is read as one, and starts when it is recorded anew") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path());
  TaskRecord task = some_task(*store, "abcd2345");
  REQUIRE(store->create(task).has_value());
  task.state = TaskState::waiting;
  REQUIRE(store->start_over(task).has_value());
  const auto waiting = open_store(directory.path())->find("abcd");
  REQUIRE(waiting);
  CHECK(waiting->state == TaskState::waiting);
  CHECK(waiting->error_class.empty());
  CHECK(open_store(directory.path())->list(false)->tasks.front().state == TaskState::waiting);
  task.state = TaskState::starting;
  REQUIRE(store->start_over(task).has_value());
  CHECK(open_store(directory.path())->find("abcd")->state == TaskState::starting);
}

TEST_CASE("a task that had had its time is read as one") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path());
  TaskRecord task = some_task(*store, "abcd2345");
  REQUIRE(store->create(task).has_value());
  task.state = TaskState::timeout;
  task.error_class = "timeout";
  task.ended = 7'000;
  REQUIRE(store->update(task).has_value());
  CHECK(open_store(directory.path())->find("abcd")->state == TaskState::timeout);
}

TEST_CASE("state is private to its user") {
  const TemporaryDirectory directory;
  const std::string root = directory.path() + "/a/b/train";
  const auto store = open_store(root);
  REQUIRE(store->create(some_task(*store, "abcd2345")).has_value());
  CHECK(mode_of(root) == 0700);
  CHECK(mode_of(root + "/tasks.db") == 0600);
  CHECK(mode_of(root + "/tasks.db-wal") == 0600);
  CHECK(mode_of(root + "/tasks/abcd2345") == 0700);
  CHECK(mode_of(root + "/tasks/abcd2345/launcher.lock") == 0600);
  CHECK(mode_of(store->log_directory("abcd2345")) == 0700);
}

TEST_CASE("logs are in the directory of their task, one per rank") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path() + "/train/");
  const std::string logs = store->log_directory("abcd2345");
  CHECK(logs == directory.path() + "/train/tasks/abcd2345/logs");
  CHECK(rank_log_file(logs, 12) == logs + "/rank-12.0.log");
}

TEST_CASE("lists are newest first, without the final unless all are asked for") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path());
  CHECK(ids_of(store->list(true)).empty());
  REQUIRE(store->create(some_task(*store, "middle22", 20)).has_value());
  REQUIRE(store->create(some_task(*store, "newest22", 30)).has_value());
  TaskRecord oldest = some_task(*store, "oldest22", 10);
  REQUIRE(store->create(oldest).has_value());
  oldest.state = TaskState::killed;
  REQUIRE(store->update(oldest).has_value());
  CHECK(ids_of(store->list(false)) == std::vector<std::string>{"newest22", "middle22"});
  CHECK(ids_of(store->list(true)) == std::vector<std::string>{"newest22", "middle22", "oldest22"});
  CHECK(store->list(true)->tasks.back().config_text.empty());
}

TEST_CASE("a task is found by any unique prefix of its id") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path());
  for (const char* id : {"aaaa2222", "aabb2222", "abcc2222", "zzzz2222"})
    REQUIRE(store->create(some_task(*store, id)).has_value());
  CHECK(store->find("ab")->id == "abcc2222");
  CHECK(store->find("z")->id == "zzzz2222");
  CHECK(store->find("aaaa2222")->id == "aaaa2222");
  CHECK(message_of(store->find("aa")) == "'aa' is the start of several tasks: aaaa2222, aabb2222");
  CHECK(message_of(store->find("aaaa22222")) == "there is no task 'aaaa22222'");
  CHECK(message_of(store->find("%")) == "there is no task '%'");
  CHECK(hint_of(store->find("%")) == "'train task list --all' shows all tasks");
  CHECK(hint_of(store->find("abcd2222")) == "did you mean 'abcc2222'?");
  TaskRecord named = some_task(*store, "mmmm2222", 2);
  named.name = "mnist";
  REQUIRE(store->create(named).has_value());
  CHECK(hint_of(store->find("mnist")) == "the last task of that name is mmmm2222");
  CHECK(message_of(store->find("A' OR 1=1 --")).starts_with("there is no task"));
  CHECK(message_of(store->find("")) == "an empty word names no task");
}

TEST_CASE("an id that is the start of another is found by itself") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path());
  REQUIRE(store->create(some_task(*store, "abcd2345")).has_value());
  REQUIRE(store->create(some_task(*store, "abcd2345x")).has_value());
  CHECK(store->find("abcd2345")->id == "abcd2345");
}

TEST_CASE("at most five candidates are named") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path());
  for (char last = 'a'; last <= 'h'; ++last)
    REQUIRE(store->create(some_task(*store, std::string("task222") + last)).has_value());
  CHECK(message_of(store->find("task")) ==
        "'task' is the start of several tasks: task222a, task222b, task222c, task222d, task222e, "
        "...");
}

TEST_CASE("an id is used once") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path());
  REQUIRE(store->create(some_task(*store, "abcd2345", 1)).has_value());
  const auto again = store->create(some_task(*store, "abcd2345", 2));
  REQUIRE_FALSE(again.has_value());
  CHECK(again.error().error_class == ErrorClass::bug);
  CHECK(store->find("abcd2345")->created == 1);
}

TEST_CASE("an id that could leave its directory is refused") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path());
  const auto id = GENERATE("", ".", "..", "../x", "a/b", "UPPER222", "with space");
  CAPTURE(id);
  CHECK_FALSE(store->create(some_task(*store, id)).has_value());
  CHECK(ids_of(store->list(true)).empty());
}

TEST_CASE("a state that cannot follow is refused, and so is any after the end") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path());
  TaskRecord task = some_task(*store, "abcd2345");
  REQUIRE(store->create(task).has_value());
  task.state = TaskState::stopping;
  REQUIRE(store->update(task).has_value());
  task.state = TaskState::running;
  CHECK_FALSE(store->update(task).has_value());
  CHECK(store->find("abcd2345")->state == TaskState::stopping);
  task.state = TaskState::failed;
  REQUIRE(store->update(task).has_value());
  CHECK_FALSE(store->update(task).has_value());
}

TEST_CASE("a task of another launcher cannot be updated") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path());
  TaskRecord task = some_task(*store, "abcd2345");
  REQUIRE(store->create(task).has_value());
  CHECK_FALSE(open_store(directory.path())->update(task).has_value());
}
