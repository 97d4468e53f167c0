// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/backends/store/store_fixture.hpp"
#include "tests/contains.hpp"

using namespace train;
using train::testing::contains;

namespace {

namespace fs = std::filesystem;

constexpr std::size_t page_size = 4096;

std::vector<std::string> ids_of(const TaskList& list) {
  std::vector<std::string> ids;
  for (const TaskRecord& task : list.tasks) ids.push_back(task.id);
  return ids;
}

/// The file of a registry with tasks that have ended, enough of them for several pages of the table
/// and of each index.
std::string bytes_of_many_tasks(int tasks) {
  const TemporaryDirectory directory;
  const std::string file = directory.path() + "/tasks.db";
  {
    const auto store = open_store(directory.path());
    for (int i = 0; i < tasks; ++i) {
      TaskRecord task = some_task(*store, std::to_string(i) + std::string(24, 'a'), i);
      task.plan_json = std::string(i % 4 == 0 ? 6'000 : 300, 'p');
      task.cause = std::string(600, 'c');
      REQUIRE(store->create(task).has_value());
    }
  }
  run_sql(file, "UPDATE task SET state = 'failed', ended = created");
  run_sql(file, "PRAGMA wal_checkpoint(TRUNCATE)");
  std::ifstream whole(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(whole), {}};
}

/// Such a registry, and nothing else of its tasks.
class LargeRegistry {
 public:
  static constexpr int tasks = 240;

  std::string root() const { return directory_.path(); }
  std::string file() const { return root() + "/tasks.db"; }
  static std::size_t pages() { return bytes().size() / page_size; }

  /// Makes the file anew, with these bytes on some of its pages.
  void overwrite(std::size_t first_page, std::size_t count, char byte) const {
    for (const char* more : {"-wal", "-shm"}) fs::remove(file() + more);
    std::string damaged = bytes();
    std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(first_page * page_size),
                count * page_size, byte);
    std::ofstream(file(), std::ios::binary | std::ios::trunc) << damaged;
  }

 private:
  static const std::string& bytes() {
    static const std::string all = bytes_of_many_tasks(tasks);
    return all;
  }

  TemporaryDirectory directory_;
};

}  // namespace

TEST_CASE("a row that no train can have written is named, and the others are read") {
  struct Row {
    const char* sql;
    const char* words;
  };
  const auto row = GENERATE(values<Row>({
      {"SET state = 'dancing'", "task bbbbbbbb has the unknown state 'dancing'"},
      {"SET ranks = '[{\"rank\": 0'", "the ranks of task bbbbbbbb cannot be read"},
      {"SET ranks = '{}'", "the ranks of task bbbbbbbb cannot be read"},
      {"SET ranks = '[{\"rank\": \"0\"}]'", "the ranks of task bbbbbbbb cannot"},
      {"SET ranks = '[{\"rank\": 0, \"host\": 1}]'", "the ranks of task bbbbbbbb can"},
  }));
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path());
  for (const char* id : {"aaaaaaaa", "bbbbbbbb", "cccccccc"})
    REQUIRE(store->create(some_task(*store, id)).has_value());
  run_sql(directory.path() + "/tasks.db",
          (std::string("UPDATE task ") + row.sql + " WHERE id = 'bbbbbbbb'").c_str());
  for (const bool all : {false, true}) {
    const auto list = store->list(all).value();
    CHECK(ids_of(list) == std::vector<std::string>{"aaaaaaaa", "cccccccc"});
    REQUIRE(list.damaged.size() == 1);
    CHECK(list.damaged.front().id == "bbbbbbbb");
    CHECK(contains(list.damaged.front().why, row.words));
    CHECK(contains(list.damaged.front().next_step, "train task rm --force bbbbbbbb"));
  }
  CHECK(store->find("cccccccc").has_value());
  const auto task = store->find("bbbb");
  REQUIRE_FALSE(task.has_value());
  CHECK(task.error().error_class == ErrorClass::no_input);
  CHECK(contains(render(task.error()), row.words));
  CHECK(contains(render(task.error()), "train task rm --force bbbbbbbb"));
}

TEST_CASE("an id that could be a path is damage, wherever it leads") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path());
  REQUIRE(store->create(some_task(*store, "aaaaaaaa")).has_value());
  REQUIRE(store->create(some_task(*store, "bbbbbbbb")).has_value());
  run_sql(directory.path() + "/tasks.db", "UPDATE task SET id = '../bbbb' WHERE id = 'bbbbbbbb'");
  const auto list = store->list(true).value();
  CHECK(ids_of(list) == std::vector<std::string>{"aaaaaaaa"});
  REQUIRE(list.damaged.size() == 1);
  CHECK(contains(list.damaged.front().why, "a task has the id '../bbbb'"));
  CHECK(contains(list.damaged.front().next_step, "mkdir damaged"));
  CHECK_FALSE(store->remove_damaged("../bbbb").has_value());
}

TEST_CASE("whatever page of a registry is overwritten, every task is read or named") {
  const LargeRegistry registry;
  constexpr std::size_t all = LargeRegistry::tasks;
  const char byte = GENERATE('\0', '\x5a');
  std::size_t most_read = 0;
  std::size_t troubles = 0;
  for (std::size_t page = 1; page < LargeRegistry::pages(); ++page) {
    registry.overwrite(page, 1, byte);
    const auto list = open_store(registry.root())->list(true);
    REQUIRE(list.has_value());
    const auto ids = ids_of(*list);
    std::set<std::string> seen(ids.begin(), ids.end());
    for (const DamagedTask& task : list->damaged)
      if (!task.id.empty()) seen.insert(task.id);
    CHECK(seen.size() == all);
    CHECK(std::is_sorted(ids.begin(), ids.end(), [&](const auto& a, const auto& b) {
      return std::stoi(a) > std::stoi(b);
    }));
    if (list->damaged.empty()) {
      CHECK(ids.size() == all);
      continue;
    }
    ++troubles;
    most_read = std::max(most_read, ids.size());
  }
  CHECK(troubles > all / 8);  // pages of the table, and of an index
  CHECK(most_read == all);    // of an index alone
}

TEST_CASE("a registry of which nothing but its first page is left says so") {
  const LargeRegistry registry;
  registry.overwrite(1, LargeRegistry::pages() - 1, '\x5a');
  const auto list = open_store(registry.root())->list(GENERATE(true, false));
  REQUIRE(list.has_value());
  CHECK(list->tasks.empty());
  REQUIRE(list->damaged.size() == 1);
  CHECK(contains(list->damaged.front().why, "parts of its file cannot be read"));
  CHECK(contains(list->damaged.front().next_step, "mv " + registry.file() + "* damaged/"));
}

TEST_CASE("a task whose record is damaged is removed by who insists, and no other") {
  const TemporaryDirectory directory;
  const auto store = open_store(directory.path());
  for (const char* id : {"aaaaaaaa", "bbbbbbbb"}) {
    TaskRecord task = some_task(*store, id);
    REQUIRE(store->create(task).has_value());
    task.state = TaskState::succeeded;
    task.ended = 2;
    REQUIRE(store->update(task).has_value());
  }
  CHECK_FALSE(store->is_damaged("bbbb"));
  CHECK_FALSE(store->is_damaged("nonesuch"));
  run_sql(directory.path() + "/tasks.db", "UPDATE task SET state = '' WHERE id = 'bbbbbbbb'");
  CHECK(store->is_damaged("bbbb"));
  CHECK_FALSE(store->remove("bbbbbbbb").has_value());
  CHECK(fs::exists(store->log_directory("bbbbbbbb")));
  CHECK(store->remove_damaged("bbbb").value() == "bbbbbbbb");
  CHECK_FALSE(fs::exists(directory.path() + "/tasks/bbbbbbbb"));
  const auto list = store->list(true).value();
  CHECK(ids_of(list) == std::vector<std::string>{"aaaaaaaa"});
  CHECK(list.damaged.empty());
}

TEST_CASE("a task whose record is damaged is not removed while its launcher lives") {
  const TemporaryDirectory directory;
  const Lingering launcher([&] {
    static std::unique_ptr<SqliteTaskStore> own;  // must outlive this function in the child
    own = open_store(directory.path());
    return own->create(some_task(*own, "aaaaaaaa")).has_value();
  });
  const auto store = open_store(directory.path());
  run_sql(directory.path() + "/tasks.db", "UPDATE task SET ranks = 'x'");
  const auto removed = store->remove_damaged("aaaaaaaa");
  REQUIRE_FALSE(removed.has_value());
  CHECK(removed.error().error_class == ErrorClass::busy);
  CHECK(contains(render(removed.error()), "launcher.lock"));
  CHECK(fs::exists(store->lock_file("aaaaaaaa")));
}
