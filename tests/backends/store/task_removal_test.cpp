// SPDX-License-Identifier: Apache-2.0
#include "backends/store/task_removal.hpp"

#include <filesystem>
#include <fstream>

#include "tests/backends/store/store_fixture.hpp"

using namespace train;

namespace {

namespace fs = std::filesystem;

struct Scene {
  TemporaryDirectory directory;
  std::string root = directory.path() + "/state";
  std::unique_ptr<SqliteTaskStore> store = open_store(root);

  void make_ended(const std::string& id) {
    TaskRecord task = some_task(*store, id);
    REQUIRE(store->create(task));
    REQUIRE(store->append_journal(id, "an entry", false));
    std::ofstream(task.log_directory + "/rank-0.0.log") << "output";
    task.state = TaskState::succeeded;
    task.ended = 2;
    task.attempts.push_back({0, 1, 2, "gpu-a", "", {}, 0, 0, ""});
    REQUIRE(store->update(task));
  }
  std::size_t tasks() {
    const auto listed = store->list(true);
    REQUIRE(listed);
    return listed->tasks.size();
  }
  std::vector<std::string> folders() const {
    std::vector<std::string> names;
    for (const auto& each : fs::directory_iterator(root + "/tasks"))
      names.push_back(each.path().filename().string());
    return names;
  }
};

}  // namespace

TEST_CASE("a task is removed with its journal, its attempts and its folder, and no other is") {
  Scene scene;
  scene.make_ended("aaaaaaaa");
  scene.make_ended("bbbbbbbb");
  REQUIRE(scene.store->remove("aaaaaaaa"));
  CHECK_FALSE(scene.store->find("aaaaaaaa"));
  CHECK(scene.store->read_journal("aaaaaaaa")->empty());
  CHECK(scene.store->find("bbbbbbbb")->attempts.size() == 1);
  CHECK(scene.store->read_journal("bbbbbbbb")->size() == 1);
  CHECK(scene.folders() == std::vector<std::string>{"bbbbbbbb"});
  CHECK(scene.store->remove("aaaaaaaa").error().error_class == ErrorClass::no_input);
}

TEST_CASE("a task that has not ended is not removed") {
  Scene scene;
  const Lingering launcher([&] {
    auto own = SqliteTaskStore::open(scene.root);
    if (!own || !(*own)->create(some_task(**own, "aaaaaaaa"))) return false;
    own->release();  // as long as the process lives
    return true;
  });
  const auto removed = scene.store->remove("aaaaaaaa");
  REQUIRE_FALSE(removed);
  CHECK(removed.error().error_class == ErrorClass::busy);
  CHECK(scene.tasks() == 1);
  CHECK(fs::exists(scene.store->log_directory("aaaaaaaa")));
}

TEST_CASE("a task whose folder was set aside and whose record is there is removed as any") {
  Scene scene;
  scene.make_ended("aaaaaaaa");
  REQUIRE(set_aside(scene.root + "/tasks", "aaaaaaaa"));
  CHECK(scene.tasks() == 1);
  CHECK(scene.store->find("aaaaaaaa")->state == TaskState::succeeded);
  REQUIRE(scene.store->remove("aaaaaaaa"));
  CHECK(scene.tasks() == 0);
  CHECK(scene.folders().empty());
}

TEST_CASE("folders that were set aside and whose records are gone are removed by the next") {
  Scene scene;
  scene.make_ended("aaaaaaaa");
  fs::create_directories(scene.root + "/tasks/.removed-bbbbbbbb/logs");
  std::ofstream(scene.root + "/tasks/.removed-bbbbbbbb/logs/rank-0.0.log") << "output";
  REQUIRE(scene.store->finish_removals());
  CHECK(scene.folders() == std::vector<std::string>{"aaaaaaaa"});
  CHECK(scene.tasks() == 1);
}

TEST_CASE("a folder that was put back while another was set aside goes with it") {
  Scene scene;
  scene.make_ended("aaaaaaaa");
  fs::create_directories(scene.root + "/tasks/.removed-aaaaaaaa/logs");
  REQUIRE(scene.store->remove("aaaaaaaa"));
  CHECK(scene.folders().empty());
}
