// SPDX-License-Identifier: Apache-2.0
#include "cli/show/task_table.hpp"

#include "tests/catch.hpp"
#include "tests/cli/some_task.hpp"

using namespace train;

TEST_CASE("a table folds hosts and counts the time since the task was made") {
  const std::string table = tasks_to_table({some_task()}, 13'300);
  CHECK(table.find("abcd2345  digits  running  4      node[01-02]  4      alice  -        12.3s") !=
        std::string::npos);
}

TEST_CASE("of a task of somebody else only what its hosts know is listed") {
  const HeldTask held{.id = "bbbbbbbb",
                      .name = "\x1btheirs",
                      .user = "bob",
                      .launcher = "process 7 on 'head'",
                      .held_ms = 12'300,
                      .is_running = true,
                      .slots = Quantity::of(3),
                      .hosts = {"node01", "node02"}};
  CHECK(tasks_to_csv({}, 100'000, {held}) ==
        "ID,NAME,STATE,SLOTS,HOSTS,RANKS,USER,STARTED,ELAPSED,RESTARTS\r\n"
        "bbbbbbbb,\\x1btheirs,running,3,\"node01,node02\",,bob,87700,12300,\r\n");
  const std::string table = tasks_to_table({some_task()}, 100'000, {held});
  CHECK(table.find("bbbbbbbb  \\x1btheirs  running  3      node[01-02]  -      bob    ") !=
        std::string::npos);
  CHECK(table.find("  12.3s    -\n") != std::string::npos);
}

TEST_CASE("a task that nobody attends is listed so") {
  TaskRecord task = some_task();
  task.is_unattended = true;
  CHECK(tasks_to_table({task}, 0).find("  unattended  ") != std::string::npos);
  task.lost_in_ms = 57'300;
  CHECK(tasks_to_table({task}, 0).find("  unattended (lost in 57.3s)  ") != std::string::npos);
  CHECK(tasks_to_csv({task}, 0).find(",unattended,") != std::string::npos);
}

TEST_CASE("a clock that was set back gives no negative time") {
  CHECK(tasks_to_table({some_task()}, 0).find("0.0s") != std::string::npos);
}

TEST_CASE("CSV quotes what needs it and keeps hosts and times as they are") {
  TaskRecord task = some_task();
  task.name = "a \"b\", c";
  task.started = 2'000;
  task.ended = 5'000;
  CHECK(tasks_to_csv({task}, 9'000) ==
        "ID,NAME,STATE,SLOTS,HOSTS,RANKS,USER,STARTED,ELAPSED,RESTARTS\r\n"
        "abcd2345,\"a \"\"b\"\", c\",running,4,\"node01,node02\",4,alice,2000,3000,0\r\n");
}

TEST_CASE("names cannot steer a terminal") {
  TaskRecord task = some_task();
  task.name = "\x1b[2J";
  CHECK(tasks_to_table({task}, 0).find('\x1b') == std::string::npos);
}

TEST_CASE("a lost task lasted as long as it is known to have lived, or longer") {
  TaskRecord task = some_task();
  task.state = TaskState::lost;
  task.ended = 13'300;
  CHECK(tasks_to_table({task}, 99'000).find("  -        >=12.3s  0") != std::string::npos);
}
