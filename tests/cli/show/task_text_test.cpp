// SPDX-License-Identifier: Apache-2.0
#include "cli/show/task_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "cli/show/task_picture.hpp"
#include "tests/catch.hpp"
#include "tests/cli/some_task.hpp"
#include "tests/contains.hpp"

using namespace train;
using train::testing::contains;
using What = RecordedEvent::What;

namespace {

// Times are those of UTC here.
[[maybe_unused]] const bool is_utc = [] {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  return true;
}();

// Eight on each host, one to a slot.
std::vector<RankRecord> many_ranks(int count) {
  std::vector<RankRecord> ranks;
  for (int rank = 0; rank < count; ++rank)
    ranks.push_back(rank_of(rank, fmt::format("node{:04}", rank / 8), std::to_string(rank % 8)));
  return ranks;
}

std::string text_of(const TaskRecord& task, const std::vector<RecordedEvent>& events = {}) {
  return task_to_text(task, events, 99'000);
}

auto lines_in(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

}  // namespace

TEST_CASE("a failed task says first how it is, why, and what to do, then when what happened") {
  TaskRecord task = some_task();
  task.state = TaskState::failed;
  task.started = 3'000;
  task.ended = 86'402'000;
  task.restarts = 1;
  task.exit_code = 6;
  task.error_class = "worker";
  task.cause = "rank 1 on 'node02' exited with code 6";
  task.working_directory = "/home/alice";
  task.log_directory = "/logs";
  task.attempts = {{0, 1'500, 60'000, "node01,node02", "host 'node01' is lost", {"a"}},
                   {1, 61'000, 86'402'000, "node01,node02", task.cause, {}}};
  task.ranks = {rank_of(0, "node01", "1,3"), rank_of(1, "node02", "0")};
  task.ranks[0].signal = 15;
  task.ranks[0].stopped = true;
  task.ranks[1].exit_code = 6;
  const std::vector<RecordedEvent> events = {
      {.what = What::created, .at = 1'000, .words = "launched"},
      {.what = What::supervised, .at = 1'100, .words = "its launcher begins"},
      {.what = What::attempt_begun, .attempt = 0, .words = "attempt 0"},
      {.what = What::supervised, .at = 62'000, .words = "another launcher"},
      {.what = What::task_over, .at = 86'402'000, .words = "failed\x1b"}};
  CHECK(text_of(task, events) ==
        "task       abcd2345\n"
        "name       digits\n"
        "state      failed\n"
        "exit code  6\n"
        "cause      worker: rank 1 on 'node02' exited with code 6\n"
        "next       train task logs abcd2345 --rank 1 --tail 50; train task rerun abcd2345\n"
        "slots      4\n"
        "hosts      node[01-02]\n"
        "ranks      4\n"
        "user       alice\n"
        "created    1970-01-01 00:00:01\n"
        "started    1970-01-01 00:00:03\n"
        "elapsed    23h59m\n"
        "directory  /home/alice\n"
        "logs       /logs\n"
        "\n"
        "ATTEMPT  BEGAN                ENDED                LASTED  HOSTS\n"
        "0        1970-01-01 00:00:01  1970-01-01 00:01:00  58.5s   node[01-02]\n"
        "         host 'node01' is lost\n"
        "         log policy: a\n"
        "1        1970-01-01 00:01:01  1970-01-02 00:00:02  23h59m  node[01-02]\n"
        "\n"
        "DATE        TIME      EVENT\n"
        "1970-01-01  00:00:01  launched\n"
        "            -         attempt 0\n"
        "            00:01:02  another launcher\n"
        "1970-01-02  00:00:02  failed\\x1b\n"
        "\n"
        "HOST    RANKS  SLOTS\n"
        "node01  0      |-|0|-|0|\n"
        "node02  1      |1|\n"
        "- not of this task\n"
        "\n"
        "RANK  HOST    SLOTS  CPU  MEMORY  PEAK  ENDED\n"
        "   0  node01  1,3      -       -     -  SIGTERM (stopped by train)\n"
        "   1  node02  0        -       -     -  exit 6\n");
}

TEST_CASE("a task that runs, or went well, needs nothing next") {
  TaskRecord task = some_task();
  CHECK(!contains(text_of(task), "next "));
  task.state = TaskState::succeeded;
  CHECK(!contains(text_of(task), "next "));
  task.state = TaskState::killed;
  CHECK(contains(text_of(task), "\nnext       train task rerun abcd2345\n"));
}

TEST_CASE("the logs to look at next are those of the rank that has failed first") {
  TaskRecord task = some_task();
  task.state = TaskState::failed;
  task.attempts = {{0, 1'500, 60'000, "node01,node02", "rank 1 failed", {}}};
  task.ranks = {rank_of(0, "node01", "0"), rank_of(1, "node02", "0")};
  for (RankRecord& rank : task.ranks) rank.exit_code = 1;
  CHECK(contains(text_of(task), "--rank 0 --tail"));
  RecordedEvent failing{.what = RecordedEvent::What::attempt_failing, .attempt = 0, .rank = 1};
  CHECK(contains(text_of(task, {failing}), "--rank 1 --tail"));
  task.ranks[1].stopped = true;  // it has failed in an earlier attempt only
  CHECK(contains(text_of(task, {failing}), "--rank 0 --tail"));
}

TEST_CASE("a task that nobody attends is shown so, with what to do about it") {
  TaskRecord task = some_task();
  task.is_unattended = true;
  task.launcher_pid = 4711;
  CHECK(contains(text_of(task),
                 "its launcher (process 4711) has died, and its ranks may go on: train task attach "
                 "abcd2345\n"));
  task.state = TaskState::stopping;
  CHECK(contains(text_of(task),
                 "its launcher (process 4711) has died while it stopped it, and its ranks may go "
                 "on: train task kill abcd2345\n"));
  task.lost_in_ms = 57'300;
  CHECK(contains(text_of(task), "its ranks may go on for 57.3s at most: train task kill"));
}

TEST_CASE("a lost task lasted as long as it is known to have lived, or longer, and why is said") {
  TaskRecord task = some_task();
  task.state = TaskState::lost;
  task.ended = 13'300;
  task.cause = "the launcher ended without a word";
  CHECK(contains(text_of(task), "elapsed    >=12.3s\n"));
  CHECK(contains(text_of(task), "cause      the launcher ended"));
  task.error_class = "interrupted";
  CHECK(contains(text_of(task), "cause      interrupted: the launcher"));
}

TEST_CASE("what is said of a task cannot steer a terminal") {
  TaskRecord task = some_task();
  task.name = task.cause = task.working_directory = "\x1b[2J";
  task.attempts = {{0, 1, 2, "\x1b", "\x1b", {"\x1b"}}};
  task.ranks = {rank_of(0, "\x1b", "0")};
  CHECK(!contains(text_of(task, {{.words = "\x1b"}}), "\x1b"));
}

TEST_CASE("each rank is shown with what it uses, as far as that is known") {
  TaskRecord task = some_task();
  task.ranks = {rank_of(0, "node01", "0"), rank_of(1, "node01", "1"), rank_of(2, "node02", "")};
  task.ranks[1].signal = 9;
  task.ranks[0].cpu_ms = 7'380'000;
  task.ranks[0].memory = 1'610'612'736;
  task.ranks[0].memory_peak = 2'147'483'648;
  task.ranks[1].cpu_ms = 300;
  task.ranks[1].memory_peak = 1'572'864;
  CHECK(
      text_of(task).ends_with("HOST    RANKS  SLOTS\n"
                              "node01  0-1    |0|1|\n"
                              "node02  2      no slots\n"
                              "\n"
                              "RANK  HOST    SLOTS    CPU   MEMORY     PEAK  ENDED\n"
                              "   0  node01  0      2h03m  1.5 GiB  2.0 GiB  -\n"
                              "   1  node01  1       0.3s        -  1.5 MiB  SIGKILL\n"
                              "   2  node02  -          -        -        -  -\n"));
}

TEST_CASE("ranks that the last attempt lacks have no host, and are not drawn") {
  TaskRecord task = some_task();
  task.world_size = 1;
  task.ranks = {rank_of(0, "node01", "0"), rank_of(1, "", "")};
  const std::string text = text_of(task);
  CHECK(contains(text, "ranks      1 of 2\n"));
  CHECK(contains(text, "\n   1  -       -        -       -     -  not part of the last attempt\n"));
  CHECK(draw_task(task.ranks, 10).rows.size() == 1);
}

TEST_CASE("where ranks are bound to CPUs, these are shown") {
  TaskRecord task = some_task();
  task.ranks = {rank_of(0, "node01", "0"), rank_of(1, "node01", "1"), rank_of(2, "node02", "")};
  task.ranks[0].cpus = "0-31,64-95";
  task.ranks[1].cpus = "0,2,4,6,8,10,12,14,16,18,20,22,24,26";
  CHECK(text_of(task).ends_with(
      "RANK  HOST    SLOTS  CPUS                             CPU  MEMORY  PEAK  ENDED\n"
      "   0  node01  0      0-31,64-95                         -       -     -  -\n"
      "   1  node01  1      0,2,4,6,8,10,12,14,16,18,20,...    -       -     -  -\n"
      "   2  node02  -      -                                  -       -     -  -\n"));
}

TEST_CASE("thousands of ranks, attempts and events take a screen or so, failures first") {
  TaskRecord task = some_task();
  task.state = TaskState::failed;
  task.ranks = many_ranks(4'096);
  for (RankRecord& rank : task.ranks) {
    rank.signal = 15;
    rank.stopped = true;
    rank.cpu_ms = 1'000 * (1 + rank.rank % 8);
  }
  task.ranks[3'000].stopped = false;
  task.ranks[3'000].signal = 9;
  std::vector<RecordedEvent> events;
  for (int i = 0; i < 1'000; ++i) {
    task.attempts.push_back({i, 1'000 * i, 1'000 * i + 900, "node01", "", {}});
    events.push_back({.what = What::attempt_begun, .at = 1'000 * i, .words = std::to_string(i)});
  }
  const std::string text = text_of(task, events);
  CHECK(lines_in(text) <= 60);
  CHECK(contains(text, "\n... 995 attempts are not shown here; --json has all\n"));
  CHECK(contains(text, "\n996 "));
  CHECK(contains(text, "\n... 988 events are not shown here; --json has all\n"));
  CHECK(contains(text, "  999\n"));
  CHECK(contains(text, " --rank 3000 "));
  CAPTURE(text);
  CHECK(contains(
      text,
      "ENDED\n"
      "     3000  node0375         0        1.0s       -     -  SIGKILL\n"
      "   0-2999  node[0000-0374]  ...    <=8.0s       -     -  SIGTERM (stopped by train)\n"
      "3001-4095  node[0375-0511]  ...    <=8.0s       -     -  SIGTERM (stopped by "
      "train)\n"));
}

TEST_CASE("ranks that ended in too many ways to be shown are counted") {
  TaskRecord task = some_task();
  task.ranks = many_ranks(4'096);
  for (RankRecord& rank : task.ranks) rank.exit_code = rank.rank % 2;
  const std::string text = text_of(task);
  CHECK(lines_in(text) <= 60);
  CHECK(contains(text, "... and "));
  CHECK(contains(text, " more ranks: --json has all\n"));
}
