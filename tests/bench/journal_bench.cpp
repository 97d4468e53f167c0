// SPDX-License-Identifier: Apache-2.0
// bench_journal FOLDER [ENTRIES]: how long a decision of a supervisor waits before it is acted on,
// from the entry of the journal until the loop hears that it was written, in a registry made in
// FOLDER: for entries that are to outlast the process, and for those that are to outlast the
// machine (the start of an attempt). Median, 99th percentile and most, in milliseconds. Nothing
// here passes or fails: times depend on the machine.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "backends/event_loop/loop.hpp"
#include "backends/store/task_journal.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;

namespace {

TaskRecord task_in(const SqliteTaskStore& store) {
  TaskRecord task;
  task.id = "bench222";
  task.name = task.slots = task.hosts = task.user = "bench";
  task.world_size = task.created = 1;
  task.config_text = task.plan_json = "{}\n";
  task.working_directory = "/";
  task.log_directory = store.log_directory(task.id);
  task.launcher_pid = ::getpid();
  return task;
}

// One after the other, as decisions come, on a loop of its own.
std::vector<double> times_of(const std::shared_ptr<SqliteTaskStore>& store, int entries,
                             bool durable) {
  using std::chrono::steady_clock;
  Loop loop;
  TaskJournal journal(loop, store, "bench222");
  std::vector<double> times;
  std::function<void()> next = [&] {
    const auto began = steady_clock::now();
    journal.append(std::string(400, 'x'), durable, [&, began](const Result<void>& written) {
      if (!written) {
        fmt::print(stderr, "{}\n", written.error().diagnostics.front().message);
        std::exit(1);
      }
      times.push_back(
          std::chrono::duration<double, std::milli>(steady_clock::now() - began).count());
      if (static_cast<int>(times.size()) == entries) return loop.stop();
      loop.post(next);
    });
  };
  loop.post(next);
  loop.run();
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int entries = argc > 2 ? std::max(100, std::atoi(argv[2])) : 2'000;
  ::setenv("TMPDIR", argv[1], 1);
  const TemporaryDirectory folder;
  auto opened = SqliteTaskStore::open(folder.path());
  if (!opened) return 1;
  const std::shared_ptr<SqliteTaskStore> store = std::move(*opened);
  if (!store->create(task_in(*store))) return 1;
  for (const bool durable : {false, true}) {
    const auto times = times_of(store, entries, durable);
    fmt::print(
        "{} entries that outlast the {}: median {:.2f} ms, 99 of 100 within {:.2f} ms, most "
        "{:.2f} ms\n",
        entries, durable ? "machine" : "process", times[times.size() / 2],
        times[times.size() * 99 / 100], times.back());
  }
}
