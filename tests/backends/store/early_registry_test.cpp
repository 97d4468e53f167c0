// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/backends/store/store_fixture.hpp"

using namespace train;

namespace {

/// The registry that the first train has left, in a state directory of its own.
class EarlyState {
 public:
  EarlyState() {
    std::ifstream file(TRAIN_EARLY_REGISTRY);
    const std::string sql{std::istreambuf_iterator<char>(file), {}};
    REQUIRE_FALSE(sql.empty());
    run_sql(root() + "/tasks.db", sql.c_str());
  }
  const std::string& root() const { return directory_.path(); }

 private:
  TemporaryDirectory directory_;
};

std::vector<std::string> ids_of(const TaskList& list) {
  std::vector<std::string> ids;
  for (const TaskRecord& task : list.tasks) ids.push_back(task.id);
  return ids;
}

}  // namespace

TEST_CASE("the tasks of the first train are listed, newest first") {
  const EarlyState state;
  const auto list = open_store(state.root())->list(true);
  REQUIRE(list.has_value());
  CHECK(list->damaged.empty());
  CHECK(ids_of(*list) == std::vector<std::string>{"mgp3ls7u", "c2ybv6re", "hn4wz5ta", "q7ms2xkd"});
  CHECK(open_store(state.root())->list(false)->tasks.empty());
}

TEST_CASE("a task of the first train is read as that has written it") {
  const EarlyState state;
  const auto found = open_store(state.root())->find("hn4w");
  REQUIRE(found.has_value());
  const std::string logs = "/home/ada/.local/state/train/tasks/hn4wz5ta/logs";
  TaskRecord task;
  task.id = "hn4wz5ta";
  task.name = "an 'odd' name, \xc3\xa9";
  task.state = TaskState::failed;
  task.slots = "0.5";
  task.hosts = "gpu-b";
  task.world_size = 2;
  task.user = "ada";
  task.created = 1'763'715'600'000;
  task.started = 1'763'715'600'900;
  task.ended = 1'763'715'607'000;
  task.exit_code = 137;
  task.error_class = "worker";
  task.cause = "rank 1 on 'gpu-b' was killed by SIGKILL";
  task.working_directory = "/home/ada";
  task.log_directory = logs;
  task.launcher_pid = 4822;
  task.stop_grace_ms = 2'500;
  task.ranks = {{0, "gpu-b", "0", {}, 15, true, logs + "/rank-0.log"},
                {1, "gpu-b", "", {}, 9, false, logs + "/rank-1.log"}};
  // What later trains have added has the value of a task without it.
  CHECK(*found == task);
  CHECK(open_store(state.root())->find("q7ms")->config_text.find("python3 train.py") !=
        std::string::npos);
}

TEST_CASE("a task of the first train whose launcher has died is lost, and stays so") {
  const EarlyState state;
  for (int look = 0; look < 2; ++look) {
    const auto task = open_store(state.root())->find("mgp3");
    REQUIRE(task.has_value());
    CHECK(task->state == TaskState::lost);
    CHECK(task->ended == 1'763'722'801'005);
    CHECK(task->attempts.empty());
  }
}

TEST_CASE("a registry of the first train takes tasks of this one, and gives up its own") {
  const EarlyState state;
  const auto store = open_store(state.root());
  TaskRecord task = some_task(*store, "abcd2345", 1'800'000'000'000);
  task.context.directory = "/home/ada/code";
  task.outlives_ms = 5;
  REQUIRE(store->create(task).has_value());
  task.state = TaskState::running;
  task.attempts.push_back({});
  REQUIRE(store->update(task).has_value());
  REQUIRE(store->append_journal(task.id, "an entry", true).has_value());
  CHECK(store->find("abcd").value() == task);
  CHECK(store->list(false)->tasks.size() == 1);
  REQUIRE(store->remove("q7ms2xkd").has_value());
  CHECK(store->list(true)->tasks.size() == 4);
}
